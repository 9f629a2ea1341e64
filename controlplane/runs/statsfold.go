package runs

import (
	"time"
)

// statsFold adds up the sums of all runs, of each group and of the other runs.
type statsFold struct {
	all, other *seriesFold
	groups     map[string]*seriesFold
}

func newStatsFold(start, end time.Time, bucket time.Duration, names []string) *statsFold {
	series := func() *seriesFold {
		return &seriesFold{first: bucketOf(start, bucket), bucket: bucket, buckets: make([]bucketFold, bucketsBetween(start, end, bucket))}
	}
	fold := &statsFold{all: series(), other: series(), groups: map[string]*seriesFold{}}
	for _, name := range names {
		fold.groups[name] = series()
	}
	return fold
}

func (f *statsFold) add(sum *statsSum) {
	f.all.add(sum)
	for _, name := range sum.Groups {
		f.groups[name].add(sum)
	}
	if sum.Other {
		f.other.add(sum)
	}
}

// seriesFold adds up sums over the window and in each of its buckets.
type seriesFold struct {
	first   time.Time
	bucket  time.Duration
	sum     StatsRow
	buckets []bucketFold
}

type bucketFold struct {
	sum       StatsRow
	durations digest
}

func (f *seriesFold) add(sum *statsSum) {
	f.sum.add(&sum.StatsRow)
	in := &f.buckets[int(time.Unix(sum.Slot, 0).Sub(f.first)/f.bucket)]
	in.sum.add(&sum.StatsRow)
	in.durations = append(in.durations, sum.durations...)
}

// rows returns the totals of the window and a point for every bucket, including empty ones.
func (f *seriesFold) rows() (total StatsRow, series []StatsRow) {
	total, series = f.sum, make([]StatsRow, len(f.buckets))
	var all digest
	for i := range f.buckets {
		in := &f.buckets[i]
		series[i] = in.sum
		series[i].Bucket = f.first.Add(time.Duration(i) * f.bucket)
		in.durations = in.durations.compress()
		series[i].DurationsMs = in.durations.percentiles()
		all = append(all, in.durations...)
	}
	total.DurationsMs = all.compress().percentiles()
	return total, series
}

func (r *StatsRow) add(other *StatsRow) {
	r.Count += other.Count
	r.ErrorCount += other.ErrorCount
	r.EndedCount += other.EndedCount
	r.NoUsage += other.NoUsage
	r.NoCost += other.NoCost
	addKnown(&r.Input, other.Input)
	addKnown(&r.Output, other.Output)
	addKnown(&r.CacheRead, other.CacheRead)
	addKnown(&r.CacheWrite, other.CacheWrite)
	addKnown(&r.Reasoning, other.Reasoning)
	addKnown(&r.OtherTokens, other.OtherTokens)
	addKnown(&r.CostUSD, other.CostUSD)
	r.Sampled += other.Sampled
	if other.SampleShare != nil && (r.SampleShare == nil || *other.SampleShare < *r.SampleShare) {
		r.SampleShare = other.SampleShare
	}
}

// addKnown adds a value to a sum. The sum stays nil while all values are nil.
func addKnown[T int64 | float64](sum **T, value *T) {
	switch {
	case value == nil:
	case *sum == nil:
		known := *value // a copy, because the sum changes
		*sum = &known
	default:
		**sum += *value
	}
}
