package panel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// labelledPanel is a binary panel of judges that are right with a probability, and labels of the first outputs.
func labelledPanel(outputs, labels int, right ...float64) Input {
	random := rand.New(rand.NewPCG(21, 21))
	in := Input{Name: "correct", Kind: Score, Scale: Scale{Type: Binary}, Aggregate: Majority}
	for j := range right {
		in.Judges = append(in.Judges, Judge{Name: string(rune('a' + j))})
	}
	for o := range outputs {
		truth := indicator(random.Float64() < .6)
		in.Outputs = append(in.Outputs, Output{Item: o, Length: math.NaN()})
		in.Drawn = append(in.Drawn, o)
		if o < labels {
			in.Labels = append(in.Labels, Label{Output: o, Value: truth})
		}
		for j, p := range right {
			value := truth
			if random.Float64() > p {
				value = 1 - truth
			}
			in.Votes = append(in.Votes, Vote{Output: int32(o), Judge: int32(j), Value: value})
		}
	}
	return in
}

func TestLabels(t *testing.T) {
	t.Parallel()
	in := labelledPanel(1000, 200, .85, .7, .85)
	s, outputs := measure(t, in)
	r := s.Labels
	require.Equal(t, 1, r.People)
	require.Equal(t, 200, r.Outputs)
	hits, passes, hitsOfA, positives, truePositives := 0, 0, 0, 0, 0
	for o, l := range in.Labels {
		hits += int(indicator(*outputs[o].Value == l.Value))
		passes += int(*outputs[o].Value)
		hitsOfA += int(indicator(in.Votes[3*o].Value == l.Value))
		positives += int(l.Value)
		truePositives += int(l.Value * in.Votes[3*o].Value)
	}
	require.InDelta(t, float64(hits)/200, *r.Agreement.Value, 1e-12)
	require.Equal(t, *stats.Wilson(float64(hits), 200, .05), *r.Agreement.CI)
	a := r.Judges[0]
	require.InDelta(t, float64(hitsOfA)/200, *a.Agreement.Value, 1e-12)
	require.InDelta(t, float64(truePositives)/float64(positives), *a.Sensitivity.Value, 1e-12)
	require.Equal(t, positives, a.Sensitivity.N)
	require.Equal(t, 200-positives, a.Specificity.N)
	require.Less(t, *r.Judges[1].Kappa.Value, *a.Kappa.Value)
	require.Equal(t, []int{200, 1000}, []int{r.Drawn, r.DrawnOf})
	require.True(t, r.Corrected.CI.Contains(.6))
	require.Nil(t, r.LabelsNeeded, "not even labels of all outputs would do it")
	require.Contains(t, r.Sentence, "of 200 labelled outputs [")
	require.Contains(t, r.Sentence, "Corrected by labels of 200 items, drawn at random, the mean score is 0.")

	many := labelledPanel(5000, 200, .85, .7, .85)
	m, _ := measure(t, many)
	needed := *m.Labels.LabelsNeeded
	require.Contains(t, m.Labels.Sentence, "more labels would make its interval half as wide.")
	require.True(t, needed > 600 && needed < 1000, "half as wide needs four times as many, and some for the rest: %d", needed)
	wide := m.Labels.Corrected.CI
	again := labelledPanel(5000, 200+needed, .85, .7, .85)
	a5, _ := measure(t, again)
	require.InDelta(t, .5, (a5.Labels.Corrected.CI[1]-a5.Labels.Corrected.CI[0])/(wide[1]-wide[0]), .05)

	few, _ := measure(t, labelledPanel(100, 12, .9, .9, .9))
	require.Equal(t, 8, *few.Labels.LabelsNeeded)
	require.Contains(t, few.Labels.Sentence, "too few labels to trust that. Label 8 more items in random order to correct the mean score.")

	// Labels of items that somebody chose correct nothing, but those that come first in the random order do.
	chosen := labelledPanel(100, 50, .9, .9, .9)
	slices.Reverse(chosen.Drawn)
	wrong, _ := measure(t, chosen)
	require.True(t, wrong.Labels.Corrected.has(NotDrawn))
	require.Equal(t, 20, *wrong.Labels.LabelsNeeded)
	require.Contains(t, wrong.Labels.Sentence, "These outputs were not drawn at random, so that they correct no mean score. Label 20 more items in random order")

	every, _ := measure(t, labelledPanel(100, 100, .9, .9, .9))
	require.Nil(t, every.Labels.LabelsNeeded)
	require.True(t, every.Labels.Corrected.has(AllLabelled))

	coin, _ := measure(t, labelledPanel(300, 100, .3))
	require.NotNil(t, coin.Labels.Corrected.Value, "labels alone say it")
	require.Regexp(t, `it passes \d+ of the \d+ outputs that people fail, and it fails \d+ of the \d+ outputs that people pass; read the outputs`, coin.Labels.Sentence)
}

// TestPPI: a panel that is too mild is corrected, and the interval is no wider than that of labels alone.
func TestPPI(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 22))
	in := grown(600, 2, func(*rand.Rand, int, *Output, int) float64 { return .2 })
	for o := range in.Outputs {
		in.Outputs[o].Item = o
		in.Drawn = append(in.Drawn, o)
	}
	var people []float64
	for o := range 300 {
		label := in.Votes[2*o].Value - .2 + .01*random.NormFloat64()
		people = append(people, label)
		in.Labels = append(in.Labels, Label{o, 0, label})
	}
	s, _ := measure(t, in)
	r := s.Labels
	require.InDelta(t, *s.Score.Mean-.2, *r.Corrected.Value, .01)
	alone := stats.BoundedMeanInterval(people, 0, 1, .05)
	require.Less(t, r.Corrected.CI[1]-r.Corrected.CI[0], .9*(alone.CI[1]-alone.CI[0]))
	require.True(t, r.Judges[0].Sensitivity.has(stats.NotApplicable), "nothing passes")
	require.InDelta(t, 0, *r.Agreement.Value, .05, "more than a tenth of the scale apart")

	// Two copies of each output of an item are worth one.
	for o := range in.Outputs {
		in.Outputs[o].Item = o
	}
	double := in
	double.Outputs = append(append([]Output{}, in.Outputs...), in.Outputs...)
	for _, v := range in.Votes {
		v.Output += 600
		double.Votes = append(double.Votes, v)
	}
	for _, l := range in.Labels {
		l.Output += 600
		double.Labels = append(double.Labels, l)
	}
	d, _ := measure(t, double)
	width := func(i *stats.Interval) float64 { return i[1] - i[0] }
	require.InDelta(t, 1, width(d.Labels.Corrected.CI)/width(r.Corrected.CI), .05)
}

func TestPeople(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(23, 23))
	in := labelledPanel(200, 0, .95, .95, .95)
	for o := range 60 {
		truth := in.Votes[3*o].Value
		for person := range 3 {
			value := truth
			if random.Float64() < .2 {
				value = 1 - truth
			}
			in.Labels = append(in.Labels, Label{o, 100 * person, value})
		}
	}
	s, _ := measure(t, in)
	require.Equal(t, 3, s.Labels.People)
	require.Equal(t, 60, s.Labels.Outputs)

	in.Labels = []Label{{0, 1, 1}, {0, 2, 0}, {1, 1, 1}, {1, 1, 0}}
	s, _ = measure(t, in)
	require.Equal(t, 1, s.Labels.Outputs, "people who differ say nothing together; the last label of a person counts")
}

// TestBefore: a paired difference of being right, by McNemar's test.
func TestBefore(t *testing.T) {
	t.Parallel()
	in := labelledPanel(100, 100, 1)
	for o := range 90 { // the earlier panel was wrong on every third
		value := in.Votes[o].Value
		if o%3 == 0 {
			value = 1 - value
		}
		in.Before = append(in.Before, Earlier{o, value})
	}
	in.Before[1].Value = math.NaN()
	s, _ := measure(t, in)
	b := s.Labels.Before
	require.InDelta(t, 59./89, *b.Agreement.Value, 1e-12)
	require.InDelta(t, 30./89, *b.Difference.Estimate, 1e-12)
	require.Equal(t, compare.McNemarExact, b.Difference.Test)
	require.InDelta(t, *stats.McNemarTest(30, 0).Value, *b.Difference.P, 1e-15)
	require.Equal(t, 89, b.Difference.N)
	require.Contains(t, s.Labels.Sentence, "It is right more often than the panel before, by 34 points [25, 44].")
	in.Before = []Earlier{}
	s, _ = measure(t, in)
	require.Nil(t, s.Labels.Before.Difference.Estimate)
}

// TestLabelsInGroups has items that belong together in tens: all of a group are alike.
func TestLabelsInGroups(t *testing.T) {
	t.Parallel()
	in := labelledPanel(200, 40, 1)
	for o := range in.Outputs {
		first := o - o%10
		in.Votes[o].Value = in.Votes[first].Value
		if o < len(in.Labels) {
			in.Labels[o].Value = in.Votes[first].Value
		}
	}
	alone, _ := measure(t, in)
	require.NotNil(t, alone.Labels.Corrected.CI)
	for o := range in.Outputs {
		in.Outputs[o].Group = 1 + o/10
	}
	grouped, _ := measure(t, in)
	require.Equal(t, without(Grouped, 0), grouped.Labels.Corrected)
	require.Nil(t, grouped.Labels.LabelsNeeded)
	require.Contains(t, grouped.Labels.Sentence, "Labels correct no mean score where items belong together.")
	require.InDelta(t, *alone.Score.Mean, *grouped.Score.Mean, 1e-12)
	require.Equal(t, alone.Score.N, grouped.Score.N)
	require.Greater(t, grouped.Score.CI[1]-grouped.Score.CI[0], 2*(alone.Score.CI[1]-alone.Score.CI[0]))

	for o := range in.Outputs { // groups of one item are none
		in.Outputs[o].Group = 1 + o
	}
	single, _ := measure(t, in)
	require.Equal(t, alone, single)
}
