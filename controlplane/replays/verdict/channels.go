package verdict

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// power is that of detectable effects, and of replays that are asked for.
const power = .8

// resamples of an interval of distances.
const resamples = 1000

// trials are the runs of one edit; one of them if it is about one run. Attempts are relabeled within a run only.
type trials []*trial

// settings are those of the first run: all have the same.
func (ts trials) alpha() float64 { return ts[0].Alpha }

func (ts trials) delta() float64 { return ts[0].Delta }

// seed differs for each use.
func (ts trials) seed(use uint64) uint64 { return ts[0].Seed + use*0x9e3779b97f4a7c15 }

// channels computes all but what depends on all channels together.
func (ts trials) channels() Channels {
	cost := func(r *Run) (float64, bool) { return amount(r.CostUSD) }
	latency := func(r *Run) (float64, bool) { return amount(r.DurationMS) }
	tokens := func(r *Run) (float64, bool) { return amount(r.Tokens) }
	return Channels{
		Outcome:   ts.outcome(),
		Structure: ts.distance(func(t *trial) [][]float64 { return t.Structure }, 1),
		Answer:    ts.distance(func(t *trial) [][]float64 { return t.Answer }, 2),
		Cost:      ts.ratio(cost, 3, true),
		Latency:   ts.ratio(latency, 4, true),
		Tokens:    ts.ratio(tokens, 5, false),
	}
}

// groups are the known values of each run that has them of both roles, or of each batch of a run, where they depend on the time. It fills in
// how many there are.
func (ts trials) groups(c *Channel, of func(r *Run) (float64, bool), timed bool) (strata []stats.Groups) {
	total, apart := 0, 0
	for _, t := range ts {
		parts := []part{{t.controls, t.treatments}}
		if timed {
			parts = t.batches()
		}
		total += len(t.controls) + len(t.treatments)
		for _, p := range parts {
			g := stats.Groups{A: t.known(p.controls, of), B: t.known(p.treatments, of)}
			both := len(g.A) > 0 && len(g.B) > 0
			if both {
				strata = append(strata, g)
			}
			if both || len(ts) == 1 && len(parts) == 1 {
				c.Controls.N += len(g.A)
				c.Treatments.N += len(g.B)
			} else if len(parts) > 1 {
				apart += len(g.A) + len(g.B)
			}
		}
	}
	if apart > 0 {
		c.flag(MadeApart)
	}
	if !c.empty() || apart == 0 {
		c.missing(total - apart)
	}
	return strata
}

// empty reports whether there is nothing to compare.
func (c *Channel) empty() bool { return c.Controls.N == 0 || c.Treatments.N == 0 }

// missing flags values that are not known.
func (c *Channel) missing(total int) {
	switch {
	case c.empty():
		c.flag(Unknown)
	case c.Controls.N+c.Treatments.N < total:
		c.flag(PartlyUnknown)
	}
}

func (c *Channel) flag(flags ...stats.Flag) {
	for _, f := range flags {
		if f != "" && !slices.Contains(c.Flags, f) {
			c.Flags = append(c.Flags, f)
		}
	}
}

func (c *Channel) has(f stats.Flag) bool { return slices.Contains(c.Flags, f) }

func (c *Channel) permuted(p stats.Permutation) {
	c.P, c.least = p.P.Value, p.Least
	c.flag(p.P.Flag)
}

// sides sets the means, each run counting the same.
func (c *Channel) sides(strata []stats.Groups) {
	var a, b []float64
	for _, g := range strata {
		a, b = append(a, stat.Mean(g.A, nil)), append(b, stat.Mean(g.B, nil))
	}
	c.Controls.Mean, c.Treatments.Mean = finite(stat.Mean(a, nil)), finite(stat.Mean(b, nil))
}

// estimated sets the effect with its interval, and returns the interval at twice the level.
func (c *Channel) estimated(estimate func(alpha float64) stats.Estimate, alpha float64) (wide *stats.Interval) {
	e := estimate(alpha)
	c.Effect, c.CI = e.Value.Value, e.CI
	c.flag(e.Flag)
	return estimate(2 * alpha).CI
}

// outcome compares success or scores.
func (ts trials) outcome() (c Channel) {
	c.Measure, c.Test = Difference, Means
	strata := ts.groups(&c, func(r *Run) (float64, bool) { return number(r.Outcome) }, false)
	if len(strata) == 0 {
		return c
	}
	all := func(is func(float64) bool) bool {
		return !slices.ContainsFunc(strata, func(g stats.Groups) bool {
			return slices.ContainsFunc(slices.Concat(g.A, g.B), func(x float64) bool { return !is(x) })
		})
	}
	binary := all(func(x float64) bool { return x == 0 || x == 1 })
	c.sides(strata)
	var wide *stats.Interval
	switch g := strata[0]; {
	case len(strata) > 1:
		c.permuted(stats.GroupMeans(strata, ts.seed(0)))
		of := stats.MeanInterval
		if all(func(x float64) bool { return x >= 0 && x <= 1 }) {
			of = stats.MeanDifference
		}
		var differences []float64
		differences, wide = c.overRuns(strata, ts.alpha(), of)
		c.detect = func(level float64) *float64 {
			return stats.MinimumDetectable(stat.StdDev(differences, nil), len(differences), level, power).Value
		}
	case binary:
		c.Test = Fisher
		k, m, x, y := len(g.A), len(g.B), successes(g.A), successes(g.B)
		p := stats.FisherExact(x, k-x, y, m-y)
		c.permuted(stats.Permutation{P: p.TwoSided, Least: p.Least.Value})
		c.Effect, c.CI = finite(float64(y)/float64(m)-float64(x)/float64(k)), stats.NewcombeDifference(x, k, y, m, ts.alpha())
		wide = stats.NewcombeDifference(x, k, y, m, 2*ts.alpha())
		c.detect = func(level float64) *float64 {
			return stats.MinimumDetectableFisher(float64(x)/float64(k), k, m, level, power).Value
		}
	default:
		c.permuted(stats.GroupMeans(strata, ts.seed(0)))
		wide = c.estimated(func(alpha float64) stats.Estimate { return stats.WelchDifference(g, alpha) }, ts.alpha())
		c.detect = func(level float64) *float64 { return detectableMeans(g, level).Value }
	}
	c.inside = wide != nil && -ts.delta() < wide[0] && wide[1] < ts.delta()
	return c
}

func successes(values []float64) (n int) {
	for _, x := range values {
		n += int(x)
	}
	return n
}

func detectableMeans(g stats.Groups, level float64) stats.Value {
	deviation := stats.PooledDeviation(g)
	if deviation.Value == nil {
		return deviation
	}
	return stats.MinimumDetectableMeans(*deviation.Value, len(g.A), len(g.B), level, power)
}

// overRuns sets the mean over runs of the difference within each, and returns the differences.
func (c *Channel) overRuns(strata []stats.Groups, alpha float64, of func([]float64, float64) stats.Estimate) (differences []float64, wide *stats.Interval) {
	differences = make([]float64, len(strata))
	for i, g := range strata {
		differences[i] = stat.Mean(g.B, nil) - stat.Mean(g.A, nil)
	}
	return differences, c.estimated(func(alpha float64) stats.Estimate { return of(differences, alpha) }, alpha)
}

// ratio compares amounts by their logarithms.
func (ts trials) ratio(of func(r *Run) (float64, bool), use uint64, timed bool) (c Channel) {
	c.Measure, c.Test = Ratio, Logs
	strata := ts.groups(&c, of, timed)
	if len(strata) == 0 {
		return c
	}
	zero := true
	for _, g := range strata {
		zero = zero && !slices.ContainsFunc(slices.Concat(g.A, g.B), func(x float64) bool { return x != 0 })
	}
	if zero {
		nothing := 0.
		c.Controls.Mean, c.Treatments.Mean = &nothing, &nothing
		c.flag(stats.NoVariation)
		return c
	}
	logs := make([]stats.Groups, len(strata))
	for i, g := range strata {
		var flag stats.Flag
		if logs[i], flag = stats.Logarithms(g); flag != "" {
			c.flag(flag)
			return c
		}
	}
	c.permuted(stats.GroupMeans(logs, ts.seed(use)))
	c.sides(logs)
	c.Controls.Mean, c.Treatments.Mean = finite(math.Exp(*c.Controls.Mean)), finite(math.Exp(*c.Treatments.Mean))
	if len(ts) > 1 {
		c.overRuns(logs, ts.alpha(), stats.MeanInterval)
	} else {
		all := together(logs)
		c.estimated(func(alpha float64) stats.Estimate { return stats.WelchDifference(all, alpha) }, ts.alpha())
	}
	ratio := stats.RatioOf(stats.Estimate{Value: stats.Value{Value: c.Effect}, CI: c.CI})
	c.Effect, c.CI = ratio.Value.Value, ratio.CI
	return c
}

// together are the values of the batches of a run, each less the middle of its batch: what differs between batches is no effect.
func together(batches []stats.Groups) (all stats.Groups) {
	if len(batches) == 1 {
		return batches[0]
	}
	for _, g := range batches {
		middle := (stat.Mean(g.A, nil) + stat.Mean(g.B, nil)) / 2 //nolint:mnd // of two
		for _, x := range g.A {
			all.A = append(all.A, x-middle)
		}
		for _, x := range g.B {
			all.B = append(all.B, x-middle)
		}
	}
	return all
}

// distance compares by distances between attempts.
func (ts trials) distance(of func(t *trial) [][]float64, use uint64) (c Channel) {
	c.Measure, c.Test = Distance, Energy
	var strata []stats.DistanceGroups
	total, farther := 0, 0
	for _, t := range ts {
		g := t.distances(of(t), t.controls, t.treatments)
		total += len(t.controls) + len(t.treatments)
		both := g.First > 0 && g.First < len(g.Distances)
		if both {
			strata = append(strata, g)
		}
		if both || len(ts) == 1 {
			c.Controls.N += g.First
			c.Treatments.N += len(g.Distances) - g.First
		}
		if both && outside(g) {
			farther++
		}
	}
	c.missing(total)
	if len(strata) == 0 {
		return c
	}
	c.farther = 2*farther > len(strata)
	test := stats.StratifiedEnergy(strata, ts.seed(use))
	c.permuted(test.Permutation)
	var first, second, across, energies []float64
	for _, g := range strata {
		means := g.Means()
		for _, part := range []struct {
			into *[]float64
			of   stats.Value
		}{{&first, means.First}, {&second, means.Second}, {&across, means.Across}, {&energies, means.Energy()}} {
			if x, ok := part.of.Get(); ok {
				*part.into = append(*part.into, x)
			} else {
				c.flag(part.of.Flag)
			}
		}
	}
	c.Controls.Mean, c.Treatments.Mean, c.across = meanOf(first), meanOf(second), meanOf(across)
	identical := c.has(stats.NoVariation)
	if len(energies) == 0 {
		return c
	}
	identity := stats.PairedProportions(0, 0, len(energies), 2*ts.alpha()) // if all are identical
	if g := strata[0]; len(strata) == 1 {
		options := stats.BootstrapOptions{Alpha: ts.alpha(), Resamples: resamples, Seed: ts.seed(use + 8)}
		c.Effect, c.CI = &energies[0], stats.EnergyInterval(g, options)
		if c.CI == nil && !identical {
			c.flag(stats.TooFew)
		}
		k, m := g.First, len(g.Distances)-g.First
		identity = stats.NewcombeDifference(0, k, 0, m, 2*ts.alpha())
	} else {
		c.estimated(func(alpha float64) stats.Estimate { return stats.MeanInterval(energies, alpha) }, ts.alpha())
	}
	// The interval at alpha, because a bootstrap of so few covers less than it should.
	if identical {
		c.inside = identity != nil && identity[1] < ts.delta()
	} else {
		c.inside = c.CI != nil && c.Controls.Mean != nil && c.CI[1] < ts.delta()**c.Controls.Mean
	}
	return c
}

// outside reports whether treatments are on average farther from controls than the farthest control is from the others.
func outside(g stats.DistanceGroups) bool {
	if g.First < 2 {
		return false
	}
	farthest := 0.
	for i := range g.First {
		sum := 0.
		for j := range g.First {
			sum += g.Distances[i][j]
		}
		farthest = max(farthest, sum/float64(g.First-1))
	}
	across := g.Means().Across.Value
	return across != nil && *across > farthest*(1+1e-12)
}

func meanOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return finite(stat.Mean(values, nil))
}

// finite is x, or nil if it is not a number.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
