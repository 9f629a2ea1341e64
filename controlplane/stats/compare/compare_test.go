package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// pairs are items with one repeat.
func pairs(a, b []float64) []Paired {
	items := make([]Paired, len(a))
	for i := range a {
		items[i] = Paired{A: a[i : i+1], B: b[i : i+1]}
	}
	return items
}

// binaryPairs has items that both passed, only B, only A, and none.
func binaryPairs(both, onlyB, onlyA, none int) []Paired {
	var a, b []float64
	for _, kind := range []struct {
		n    int
		a, b float64
	}{{both, 1, 1}, {onlyB, 0, 1}, {onlyA, 1, 0}, {none, 0, 0}} {
		for range kind.n {
			a, b = append(a, kind.a), append(b, kind.b)
		}
	}
	return pairs(a, b)
}

func one(m Metric) Comparison {
	if m.Better == "" {
		m.Better = HigherBetter
	}
	return Compare([]Metric{m}, Options{})[0]
}

func TestCompareBinary(t *testing.T) {
	t.Parallel()
	c := one(Metric{Name: "correct", Items: binaryPairs(60, 20, 5, 15)})
	require.Equal(t, McNemarExact, c.Difference.Test)
	require.InDelta(t, .65, *c.A.Mean, 1e-12)
	require.InDelta(t, .80, *c.B.Mean, 1e-12)
	require.InDelta(t, .15, *c.Difference.Estimate, 1e-12)
	require.InDelta(t, *stats.McNemarTest(20, 5).Value, *c.Difference.P, 0)
	require.Equal(t, *stats.Wilson(65, 100, .05), *c.A.CI)
	require.Equal(t, *stats.PairedProportions(20, 5, 100, .05), *c.Difference.CI)
	require.Equal(t, BBetter, c.Verdict)
	require.Equal(t, Accounting{Paired: 100}, c.Items)
	require.Empty(t, c.Flags)
	require.Nil(t, c.Variance.Item, "one repeat cannot be split")
	require.Equal(t, 100, c.A.N)

	lower := one(Metric{Better: LowerBetter, Items: binaryPairs(60, 20, 5, 15)})
	require.Equal(t, ABetter, lower.Verdict)
	require.Equal(t, ABetter, one(Metric{Items: binaryPairs(60, 5, 20, 15)}).Verdict)
	open := one(Metric{Items: binaryPairs(60, 10, 5, 25)})
	require.Equal(t, Inconclusive, open.Verdict)
}

func TestCompareScores(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	items := make([]Paired, 400)
	for i := range items {
		item := 2 * random.NormFloat64()
		effect := random.NormFloat64() // differs by item
		for range 4 {
			items[i].A = append(items[i].A, item+.5*random.NormFloat64())
		}
		for range 2 {
			items[i].B = append(items[i].B, item+.3+effect+1.5*random.NormFloat64())
		}
	}
	c := one(Metric{Items: items})
	require.Equal(t, SignFlipTest, c.Difference.Test)
	require.True(t, c.Difference.CI.Contains(.3))
	require.Equal(t, BBetter, c.Verdict)
	require.InDelta(t, 1, *c.Variance.Item, .3)
	require.InDelta(t, .25, *c.Variance.RepeatA, .03)
	require.InDelta(t, 2.25, *c.Variance.RepeatB, .3)
	// (z.025+z.2) √((1 + .25/4 + 2.25/2) / 400)
	require.InDelta(t, 2.8*math.Sqrt(2.1875/400), *c.Difference.MinimumDetectable, .02)
	// Turned around, everything is.
	for i := range items {
		items[i].A, items[i].B = items[i].B, items[i].A
	}
	back := one(Metric{Items: items})
	require.InDelta(t, -*c.Difference.Estimate, *back.Difference.Estimate, 1e-12)
	require.InDelta(t, -c.Difference.CI[0], back.Difference.CI[1], 1e-12)
	require.InDelta(t, *c.Difference.P, *back.Difference.P, 0)
	require.Equal(t, ABetter, back.Verdict)
}

// TestCompareHolm: a difference that is found alone is not among ten others.
func TestCompareHolm(t *testing.T) {
	t.Parallel()
	metrics := []Metric{{Name: "one", Better: HigherBetter, Items: binaryPairs(70, 15, 4, 11)}}
	require.Equal(t, BBetter, Compare(metrics, Options{})[0].Verdict)
	for range 9 {
		metrics = append(metrics, Metric{Better: HigherBetter, Items: binaryPairs(60, 10, 10, 20)})
	}
	metrics = append(metrics, Metric{Better: HigherBetter, Items: nil})
	all := Compare(metrics, Options{})
	require.Equal(t, Inconclusive, all[0].Verdict)
	require.InDelta(t, 10**all[0].Difference.P, *all[0].Difference.PAdjusted, 1e-12, "a metric without items does not count")
	require.Nil(t, all[10].Difference.PAdjusted)
	require.Equal(t, []stats.Flag{stats.TooFew}, all[10].Flags)
}

func TestCompareEquivalence(t *testing.T) {
	t.Parallel()
	bound := .05
	same := Metric{Better: HigherBetter, Items: binaryPairs(800, 20, 22, 158)}
	require.Equal(t, Inconclusive, one(same).Verdict, "no claim without a bound")
	same.Equivalence = &bound
	require.Equal(t, Equivalent, one(same).Verdict)
	same.Items = binaryPairs(80, 5, 5, 10)
	require.Equal(t, Inconclusive, one(same).Verdict, "too few items for the claim")
	large := Metric{Better: HigherBetter, Items: binaryPairs(500, 150, 30, 320), Equivalence: &bound}
	require.Equal(t, BBetter, one(large).Verdict)
	// Significant and within the bound.
	small := Metric{Better: HigherBetter, Items: binaryPairs(9000, 300, 150, 550), Equivalence: &bound}
	require.Less(t, *one(small).Difference.P, .01)
	require.Equal(t, Equivalent, one(small).Verdict)
}

func TestCompareAccounting(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	c := one(Metric{Items: []Paired{
		{A: []float64{1, none}, B: []float64{0}}, {A: []float64{1}, B: nil}, {A: []float64{none}, B: []float64{1, 1}}, {}, {A: []float64{.5}, B: []float64{.25}},
	}})
	require.Equal(t, Accounting{Paired: 2, OnlyA: 1, OnlyB: 1, Neither: 1}, c.Items)
	require.InDelta(t, .75, *c.A.Mean, 1e-12)
	require.InDelta(t, -.625, *c.Difference.Estimate, 1e-12)
	require.Equal(t, []stats.Flag{stats.FewItems, stats.FewDiffering}, c.Flags)
}

// TestCompareDegenerate: what cannot be known is nil, with a flag.
func TestCompareDegenerate(t *testing.T) {
	t.Parallel()
	repeat := func(n int, item Paired) []Paired {
		items := make([]Paired, n)
		for i := range items {
			items[i] = item
		}
		return items
	}
	for name, m := range map[string]struct {
		items   []Paired
		flags   []stats.Flag
		hasCI   bool
		hasP    bool
		verdict Verdict
	}{
		"nothing":          {nil, []stats.Flag{stats.TooFew}, false, false, Inconclusive},
		"one item":         {pairs([]float64{.2}, []float64{.9}), []stats.Flag{stats.TooFew, stats.NoVariation}, false, true, Inconclusive},
		"infinite":         {pairs([]float64{1, 2}, []float64{math.Inf(1), 2}), []stats.Flag{stats.OutOfDomain}, false, false, Inconclusive},
		"overflow":         {pairs([]float64{1e300, -1e300}, []float64{-1e300, 2}), []stats.Flag{stats.OutOfDomain}, false, false, Inconclusive},
		"all pass":         {repeat(100, Paired{A: []float64{1}, B: []float64{1}}), []stats.Flag{stats.NoVariation}, true, false, Inconclusive},
		"all pass always":  {repeat(100, Paired{A: []float64{1, 1}, B: []float64{1, 1}}), []stats.Flag{stats.NoVariation}, true, false, Inconclusive},
		"equal shares":     {repeat(100, Paired{A: []float64{.3}, B: []float64{.3}}), []stats.Flag{stats.NoVariation}, true, false, Inconclusive},
		"equal costs":      {repeat(100, Paired{A: []float64{30}, B: []float64{30}}), []stats.Flag{stats.NoVariation}, false, false, Inconclusive},
		"always 10 better": {repeat(100, Paired{A: []float64{20}, B: []float64{30}}), []stats.Flag{stats.NoVariation}, false, true, BBetter},
		"few":              {repeat(4, Paired{A: []float64{20}, B: []float64{30}}), []stats.Flag{stats.FewItems, stats.NoVariation}, false, true, Inconclusive},
	} {
		c := one(Metric{Items: m.items})
		require.Equal(t, m.flags, c.Flags, name)
		require.Equal(t, m.hasCI, c.Difference.CI != nil, name)
		require.Equal(t, m.hasP, c.Difference.P != nil, name)
		require.Equal(t, m.verdict, c.Verdict, name)
		_, err := json.Marshal(c)
		require.NoError(t, err, name)
	}
	c := one(Metric{Items: repeat(100, Paired{A: []float64{1, 1}, B: []float64{1, 1}})})
	require.InDelta(t, 1, *c.A.Mean, 0)
	require.InDelta(t, .963, c.A.CI[0], .001, "repeats that are all equal count as one")
	require.Nil(t, c.Difference.MinimumDetectable)
}

func TestCompareJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(one(Metric{Name: "correct", Items: binaryPairs(60, 20, 5, 15)}))
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(data, &object))
	require.Equal(t, "correct", object["name"])
	require.Equal(t, "b_better", object["verdict"])
	require.Len(t, object["a"].(map[string]any)["ci"], 2)
	for _, name := range []string{"estimate", "ci", "p", "p_adjusted", "test", "n", "minimum_detectable"} {
		require.Contains(t, object["difference"], name)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	gate := func(better Direction, items []Paired, margin float64) Gate {
		return NonInferiority(Metric{Better: better, Items: items}, GateOptions{Margin: margin})
	}
	require.Equal(t, Pass, gate(HigherBetter, binaryPairs(800, 30, 30, 140), .03).Decision)
	require.Equal(t, Regression, gate(HigherBetter, binaryPairs(700, 20, 140, 140), .03).Decision)
	require.Equal(t, Pass, gate(LowerBetter, binaryPairs(700, 20, 140, 140), .03).Decision, "fewer is better")
	require.Equal(t, Regression, gate(LowerBetter, binaryPairs(700, 140, 20, 140), .03).Decision)
	open := gate(HigherBetter, binaryPairs(80, 3, 3, 14), .03)
	require.Equal(t, Undecided, open.Decision)
	require.NotNil(t, open.ItemsNeeded)
	require.Nil(t, open.RepeatsNeeded, "unknown from one repeat")
	n := *open.ItemsNeeded
	require.InDelta(t, 576, n, 0, "a tenth more than 7.849ψ/margin², for the interval is Tango's")
	require.Less(t, open.ItemsRange.Low, n)
	require.Greater(t, *open.ItemsRange.High, n)
	require.False(t, open.SplitKnown)
	require.Nil(t, gate(HigherBetter, binaryPairs(80, 2, 5, 14), .0).ItemsNeeded, "no number shows that nothing is lost")
	worse := gate(HigherBetter, binaryPairs(88, 1, 4, 7), .03).ItemsNeeded
	require.InDelta(t, 490, *worse, 10, "of a candidate without a difference, not of the one that was found")

	// An unchanged candidate passes if there are items enough for the margin.
	same := gate(HigherBetter, binaryPairs(100, 0, 0, 0), .05)
	require.Equal(t, Pass, same.Decision)
	few := gate(HigherBetter, binaryPairs(20, 0, 0, 0), .05)
	require.Equal(t, Undecided, few.Decision)
	enough := *few.ItemsNeeded
	require.Equal(t, Pass, gate(HigherBetter, binaryPairs(enough, 0, 0, 0), .05).Decision)
	require.Equal(t, Undecided, gate(HigherBetter, binaryPairs(enough-2, 0, 0, 0), .05).Decision)

	require.Equal(t, []stats.Flag{stats.OutOfDomain}, gate(HigherBetter, binaryPairs(80, 3, 3, 14), math.NaN()).Flags)
	require.Equal(t, []stats.Flag{stats.OutOfDomain}, gate(HigherBetter, binaryPairs(80, 3, 3, 14), -.1).Flags)
	require.Equal(t, Undecided, gate(HigherBetter, nil, .1).Decision)
}

// TestGateOfEqualDifferences: each item has the same difference, so that there is no variance. What all items say is not undecided, and
// what few items say is not decided.
func TestGateOfEqualDifferences(t *testing.T) {
	t.Parallel()
	gate := func(n int, a, b []float64, margin float64) Gate {
		items := make([]Paired, n)
		for i := range items {
			items[i] = Paired{A: a, B: b}
		}
		return NonInferiority(Metric{Better: HigherBetter, Items: items}, GateOptions{Margin: margin})
	}
	always, never := []float64{1, 1}, []float64{0, 0}
	lost := gate(100, always, never, .05)
	require.Equal(t, Regression, lost.Decision, "all repeats of all items fail")
	single := gate(100, always[:1], never[:1], .05).Comparison.Difference.CI
	require.InDelta(t, single[0], lost.Comparison.Difference.CI[0], 1e-6, "as with one repeat")
	require.InDelta(t, single[1], lost.Comparison.Difference.CI[1], 1e-6)
	require.Equal(t, Pass, gate(100, never, always, .05).Decision)
	require.Equal(t, Undecided, gate(3, always, never, .1).Decision)

	require.Equal(t, Regression, gate(200, []float64{.5}, []float64{.4}, .05).Decision)
	require.Equal(t, Pass, gate(200, []float64{.5}, []float64{.4}, .2).Decision)
	for _, margin := range []float64{.05, .2} {
		open := gate(20, []float64{.5}, []float64{.4}, margin)
		require.Equal(t, Undecided, open.Decision)
		require.NotEqual(t, Undecided, gate(*open.ItemsNeeded+1, []float64{.5}, []float64{.4}, margin).Decision)
		require.Equal(t, Undecided, gate(*open.ItemsNeeded-2, []float64{.5}, []float64{.4}, margin).Decision)
	}
	require.Nil(t, gate(20, []float64{.5, .5}, []float64{.5, .5}, .0001).RepeatsNeeded, "repeats that are all equal say nothing more")
}

// TestRoundingDecidesNothing: the differences of these items are equal but for the rounding of numbers.
func TestRoundingDecidesNothing(t *testing.T) {
	t.Parallel()
	items := []Paired{{A: []float64{.9}, B: []float64{.8}}, {A: []float64{.8}, B: []float64{.7}}, {A: []float64{.7}, B: []float64{.6}}}
	for _, margin := range []float64{.05, .2} {
		require.Equal(t, Undecided, NonInferiority(Metric{Better: HigherBetter, Items: items}, GateOptions{Margin: margin}).Decision)
	}
	// The same repeats in another order have another sum.
	equal := make([]Paired, 20)
	for i := range equal {
		equal[i] = Paired{A: []float64{.1, .2, .6}, B: []float64{.6, .2, .1}}
	}
	c := one(Metric{Items: equal})
	require.Equal(t, Inconclusive, c.Verdict)
	require.InDelta(t, 0, *c.Difference.Estimate, 0)
	require.Equal(t, []stats.Flag{stats.FewItems, stats.NoVariation}, c.Flags)
}

// TestGateRepeats: the stated number of repeats decides about as often as the stated number of items.
func TestGateRepeats(t *testing.T) {
	t.Parallel()
	draw := func(random *rand.Rand, n, repeats int) []Paired {
		items := make([]Paired, n)
		for i := range items {
			item := random.NormFloat64()
			for range repeats {
				items[i].A, items[i].B = append(items[i].A, item+random.NormFloat64()), append(items[i].B, item+random.NormFloat64())
			}
		}
		return items
	}
	// No item differs in truth, so that repeats help as much as items.
	random := rand.New(rand.NewPCG(3, 1))
	var g Gate
	for g.ItemsNeeded == nil || g.RepeatsNeeded == nil {
		g = NonInferiority(Metric{Better: HigherBetter, Items: draw(random, 60, 2)}, GateOptions{Margin: .3})
	}
	require.Equal(t, Undecided, g.Decision)
	require.InDelta(t, float64(*g.ItemsNeeded)/60, float64(*g.RepeatsNeeded)/2, float64(*g.RepeatsNeeded)/3)
}

// TestWeightedComparison: the primary metric has most of alpha, and a look at it is tested at the look's level.
func TestWeightedComparison(t *testing.T) {
	t.Parallel()
	metrics := []Metric{
		{Name: "primary", Better: HigherBetter, Items: binaryPairs(60, 18, 5, 17), Weight: .8},
		{Name: "other", Better: HigherBetter, Items: binaryPairs(60, 18, 5, 17), Weight: .2},
		{Name: "untested", Better: LowerBetter, Items: binaryPairs(60, 18, 5, 17), Amount: true, Weight: .2, Untested: "different_times"},
	}
	all := Compare(metrics, Options{})
	p := *all[0].Difference.P
	require.InDelta(t, p/.8, *all[0].Difference.PAdjusted, 1e-12)
	require.InDelta(t, p/.8, *all[1].Difference.PAdjusted, 1e-12, "once the primary is shown, the other has all of alpha")
	require.Equal(t, BBetter, all[0].Verdict)
	require.Nil(t, all[2].Difference.P)
	require.Nil(t, all[2].Difference.CI)
	require.Equal(t, Inconclusive, all[2].Verdict)
	require.Equal(t, []stats.Flag{"different_times"}, all[2].Flags)

	for _, look := range []float64{2 * p, p / 2} { // the look's level decides, whatever the family
		metrics[0].Look = look
		found := Compare(metrics, Options{})[0]
		require.Equal(t, look > p, found.Verdict == BBetter, "%g", look)
		require.Equal(t, *stats.PairedProportions(18, 5, 100, look), *found.Difference.CI)
	}
}

// TestRepeatedGate: its interval is wider than that of one look, and a little more so the more repeats tell.
func TestRepeatedGate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 1))
	items := make([]Paired, 400)
	wider := func() float64 {
		for i := range items {
			items[i].A, items[i].B = append(items[i].A, float64(random.IntN(2))), append(items[i].B, float64(random.IntN(2)))
		}
		m := Metric{Better: HigherBetter, Items: items}
		repeated := NonInferiority(m, GateOptions{Margin: .01, Repeated: true}).Comparison.Difference.CI
		once := NonInferiority(m, GateOptions{Margin: .01}).Comparison.Difference.CI
		return (repeated[1] - repeated[0]) / (once[1] - once[0])
	}
	require.InDelta(t, math.Sqrt(1.125*math.Log(9/.0025))/1.96, wider(), .02)
	for range 3 {
		wider()
	}
	require.InDelta(t, math.Sqrt((1+1./40)*math.Log(41/.0025))/1.96, wider(), .03)
}

// TestGroups: items that belong together count as one unit.
func TestGroups(t *testing.T) {
	t.Parallel()
	items := binaryPairs(60, 20, 5, 15)
	alone := one(Metric{Items: items})
	require.Nil(t, alone.Groups)
	for i := range items {
		items[i].Group = i + 1
	}
	require.Equal(t, alone, one(Metric{Items: items}), "groups of one item are none")
	for i := range items {
		items[i].Group = i/10 + 1
	}
	grouped := one(Metric{Items: items})
	require.Equal(t, 10, *grouped.Groups)
	require.Equal(t, ClusteredTest, grouped.Difference.Test)
	require.Equal(t, alone.Difference.Estimate, grouped.Difference.Estimate)
	require.Less(t, *alone.Difference.P, .01)
	require.Greater(t, *grouped.Difference.P, .05, "all that differ are of three groups")
	require.Greater(t, grouped.Difference.CI[1]-grouped.Difference.CI[0], 1.5*(alone.Difference.CI[1]-alone.Difference.CI[0]))

	labels := make([]float64, 100)
	correction := stats.PPI(labels, labels, -1, 1)
	require.NotNil(t, one(Metric{Items: binaryPairs(60, 20, 5, 15), Corrected: &correction}).Judged)
	require.Nil(t, one(Metric{Items: items, Corrected: &correction}).Judged, "labels take items as independent")

	for i := range items {
		items[i].Group = 1
	}
	single := one(Metric{Items: items})
	require.Nil(t, single.Difference.CI)
	require.Nil(t, single.Difference.P)
	require.NotNil(t, single.A.Mean)
	require.Equal(t, Undecided, NonInferiority(Metric{Better: HigherBetter, Items: items}, GateOptions{Margin: .5}).Decision)
}

// TestAmountsAreNoPasses compares costs and tokens that are all 0 or 1: they do not get the intervals of shares.
func TestAmountsAreNoPasses(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{1, 0.00002} {
		items := make([]Paired, 60)
		for i := range items {
			items[i] = Paired{A: []float64{value}, B: []float64{value}}
		}
		found := Compare([]Metric{{Name: "cost", Better: LowerBetter, Items: items, Amount: true}}, Options{})[0]
		require.InDelta(t, value, *found.A.Mean, 1e-12)
		for _, ci := range []*stats.Interval{found.A.CI, found.Difference.CI} {
			if ci != nil {
				require.InDelta(t, 0, ci[1]-ci[0], 1e-9)
			}
		}
		require.Contains(t, found.Flags, stats.NoVariation)
	}
}
