package panel

import (
	"math"

	"github.com/looptrace/looptrace/internal/stats"
)

// Reason is why an output has no score.
type Reason string

// Reasons.
const (
	// NotJudged: no judge was asked, since there is no output.
	NotJudged Reason = "not_judged"
	// TooFewVotes: less than half of the judges gave a valid vote.
	TooFewVotes Reason = "too_few_votes"
	// Tie: two values have equally many votes.
	Tie Reason = "tie"
	// NoWeight: the judges that voted have no weight.
	NoWeight Reason = "no_weight"
)

// OutputScore is what the panel says of an output.
type OutputScore struct {
	// Score is from 0 to 1; nil for none, for which Reason says why, and for categories that do not pass or fail.
	Score *float64 `json:"score"`
	// Value is the number on the scale, or the place of the category, as in [Vote]; nil for none.
	Value *float64 `json:"value"`
	// Label is the name of the category, empty for none and for numbers.
	Label  string `json:"label"`
	Pass   *bool  `json:"pass"`
	Reason Reason `json:"reason"`
	// Split reports whether the judges split, Escalated whether the escalation decided.
	Split     bool `json:"split"`
	Escalated bool `json:"escalated"`
	// Judges counts those that make the score, Valid those of them with a valid vote.
	Judges int `json:"judges"`
	Valid  int `json:"valid"`
	// People is what people say of the output, from 0 to 1; nil without labels.
	People *float64 `json:"-"`
}

// verdict is an [OutputScore] with NaN for none.
type verdict struct {
	score, value     float64
	reason           Reason
	split, escalated bool
	valid            int
}

func noVerdict(reason Reason) verdict {
	return verdict{score: math.NaN(), value: math.NaN(), reason: reason}
}

// ofValue is the verdict of a value.
func (in *Input) ofValue(value float64) verdict {
	return verdict{score: in.normalize(value), value: value}
}

// ofScore is the verdict of a score, on a scale with an order. Half a pass is neither of both.
func (in *Input) ofScore(score float64) verdict {
	v := verdict{score: max(0, min(1, score)), value: in.Scale.Number(score)}
	if in.Scale.Type == Binary {
		switch {
		case math.Abs(score-.5) < rounding:
			v.value = math.NaN()
		case score > .5:
			v.value = 1
		default:
			v.value = 0
		}
	}
	return v
}

// Splits reports whether judges with these values split, so that an escalation is asked: on a nominal or binary scale, or for a
// preference, if two values differ; else if they are apart by half of the scale or more, or if one passes and one fails. NaN is a
// missing value.
func (in *Input) Splits(values []float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low >= high { // or none
		return false
	}
	if in.nominal() {
		return true
	}
	first, last := in.normalize(low), in.normalize(high)
	if last-first >= .5-rounding {
		return true
	}
	a, b := in.pass(first), in.pass(last)
	return a != nil && b != nil && *a != *b
}

// decide is the verdict of the values of judges, NaN for none, with a weight each. posterior is that of Dawid and Skene, else nil.
func (in *Input) decide(values, weights, posterior []float64) verdict {
	valid := 0
	for _, v := range values {
		if !math.IsNaN(v) {
			valid++
		}
	}
	v := noVerdict(TooFewVotes)
	if valid > 0 && 2*valid >= len(values) {
		v = in.aggregate(values, weights, posterior)
	}
	v.valid, v.split = valid, in.Splits(values)
	return v
}

func (in *Input) aggregate(values, weights, posterior []float64) verdict {
	switch in.Aggregate {
	case Majority:
		if value := in.majority(values); !math.IsNaN(value) {
			return in.ofValue(value)
		}
		return noVerdict(Tie)
	case DawidSkene:
		return in.ofPosterior(posterior)
	}
	scores := make([]float64, len(values))
	for i, v := range values {
		scores[i] = in.normalize(v)
	}
	var score stats.Value
	switch in.Aggregate {
	case Median:
		score = stats.Median(scores)
	case TrimmedMean:
		score = stats.TrimmedMean(scores, .2)
	case Weighted:
		score = stats.WeightedMean(scores, weights)
	case Minimum:
		score = stats.Minimum(scores)
	default:
		score = stats.Mean(scores)
	}
	if x, ok := score.Get(); ok {
		return in.ofScore(x)
	}
	return noVerdict(NoWeight)
}

// ofPosterior is the verdict of the probabilities of categories.
func (in *Input) ofPosterior(posterior []float64) verdict {
	if posterior == nil {
		return noVerdict(TooFewVotes)
	}
	categories := in.categories()
	mean, best, tied := 0., 0, false
	for k, p := range posterior {
		if score := in.normalize(categories[k]); !math.IsNaN(score) {
			mean += p * score
		}
		switch {
		case k == 0:
		case math.Abs(p-posterior[best]) < rounding:
			tied = true
		case p > posterior[best]:
			best, tied = k, false
		}
	}
	if in.Scale.Type != Categorical {
		return in.ofScore(mean)
	}
	if tied {
		return noVerdict(Tie)
	}
	v := in.ofValue(categories[best])
	if in.scored() {
		v.score = max(0, min(1, mean))
	}
	return v
}

// decideAll are the verdicts of some judges on all outputs, without what an escalation decides. skene is their estimate, nil for none.
func (t *table) decideAll(judges []int, skene *stats.DawidSkene) []verdict {
	verdicts := make([]verdict, len(t.Outputs))
	values, weights := make([]float64, len(judges)), make([]float64, len(judges))
	for i, j := range judges {
		weights[i] = t.Judges[j].Weight
	}
	posterior := t.posterior(judges, skene)
	for o := range t.Outputs {
		if !t.judged[o] {
			verdicts[o] = noVerdict(NotJudged)
			continue
		}
		for i, j := range judges {
			values[i] = t.values[j][o]
		}
		verdicts[o] = t.decide(values, weights, posterior(o))
	}
	return verdicts
}

// skenePrior is the pseudo-count of each judge and true category, spread over the categories that it gives: few votes make no rate 0 or 1.
const skenePrior = 1

// skeneJudges is the fewest judges of whom votes alone tell how reliable each is.
const skeneJudges = 3

// skene is the estimate of Dawid and Skene from all repeats of judges; nil for fewer than three, and for other aggregates.
func (t *table) skene(judges []int) *stats.DawidSkene {
	if t.Aggregate != DawidSkene || len(judges) < skeneJudges {
		return nil
	}
	estimate := stats.EstimateDawidSkene(t.categoryVotes(judges), len(t.Outputs), len(judges), len(t.categories()), skenePrior)
	return &estimate
}

// categoryVotes are all repeats of judges, by their places in the list.
func (t *table) categoryVotes(judges []int) []stats.Vote {
	first := t.categories()[0]
	var votes []stats.Vote
	for o := range t.Outputs {
		for i, j := range judges {
			for _, value := range t.repeats(o, j) {
				votes = append(votes, stats.Vote{Item: o, Judge: i, Category: int(value - first)})
			}
		}
	}
	return votes
}

// posterior has the probabilities of categories by output; nil where there are none. Without an estimate they are the shares of votes, since
// those of two judges say nothing about each other.
func (t *table) posterior(judges []int, skene *stats.DawidSkene) func(output int) []float64 {
	switch {
	case t.Aggregate != DawidSkene || skene != nil && skene.Flag != "":
		return func(int) []float64 { return nil }
	case skene != nil:
		return func(output int) []float64 { return skene.Posterior[output] }
	}
	shares := make([][]float64, len(t.Outputs))
	totals := make([]float64, len(t.Outputs))
	for _, v := range t.categoryVotes(judges) {
		if shares[v.Item] == nil {
			shares[v.Item] = make([]float64, len(t.categories()))
		}
		shares[v.Item][v.Category]++
		totals[v.Item]++
	}
	for o := range shares {
		for k := range shares[o] {
			shares[o][k] /= totals[o]
		}
	}
	return func(output int) []float64 { return shares[output] }
}

// widen makes the intervals of the mean score and of the shares of categories contain that the reliability of judges is estimated: each
// is no narrower than without that.
func (t *table) widen(skene *stats.DawidSkene, s *Summary) {
	if skene == nil || skene.Flag != "" {
		return
	}
	widths := len(s.Categories) + 1
	intervals := skene.Intervals(func(items []int, posterior func(int) []float64) []float64 {
		sums, counts := make([]float64, widths), make([]float64, widths)
		for _, o := range items {
			v := t.final[o]
			if v.reason != "" {
				continue
			}
			if !v.escalated {
				again := t.ofPosterior(posterior(o))
				v.score, v.value = again.score, again.value
			}
			if !math.IsNaN(v.score) {
				sums[0] += v.score
				counts[0]++
			}
			if math.IsNaN(v.value) {
				continue
			}
			for k := 1; k < widths; k++ {
				sums[k] += indicator(int(v.value) == k-1)
				counts[k]++
			}
		}
		for k := range sums {
			sums[k] /= counts[k] // NaN for none
		}
		return sums
	}, t.options)
	s.Score.CI = hull(s.Score.CI, intervals[0])
	for k := range s.Categories {
		s.Categories[k].CI = hull(s.Categories[k].CI, intervals[k+1])
	}
}

// hull contains both intervals; nil without the first.
func hull(a, b *stats.Interval) *stats.Interval {
	if a == nil || b == nil {
		return a
	}
	return &stats.Interval{min(a[0], b[0]), max(a[1], b[1])}
}

// escalated are verdicts with those that the escalation decides where the judges split and it gave a valid vote.
func (t *table) escalated(verdicts []verdict) []verdict {
	if t.escalation < 0 {
		return verdicts
	}
	final := make([]verdict, len(verdicts))
	for o, v := range verdicts {
		final[o] = v
		if value := t.values[t.escalation][o]; v.split && !math.IsNaN(value) {
			final[o] = t.ofValue(value)
			final[o].valid, final[o].split, final[o].escalated = v.valid, true, true
		}
	}
	return final
}

// outputScore is a verdict for others.
func (t *table) outputScore(v verdict) OutputScore {
	return OutputScore{
		Score: pointer(v.score), Value: pointer(v.value), Label: t.label(v.value), Pass: t.pass(v.score), Reason: v.reason,
		Split: v.split, Escalated: v.escalated, Judges: len(t.members), Valid: v.valid,
	}
}
