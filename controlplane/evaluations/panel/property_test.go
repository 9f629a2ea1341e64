package panel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// scales that panels are tried with.
func scales() []Scale {
	return []Scale{
		{Type: Binary},
		{Type: Ordinal, Min: 1, Max: 5, PassAt: at(3)},
		{Type: Ordinal, Labels: []string{"bad", "fair", "good"}},
		{Type: Categorical, Labels: []string{"x", "y", "z"}},
		{Type: Categorical, Labels: []string{"x", "y", "z"}, PassLabels: []int{1}},
		{Type: Numeric, Min: -1, Max: 3, PassAt: at(1)},
		{Type: Numeric, Max: 1},
	}
}

// spoiled is a panel with failed votes, labels of two persons and an earlier panel.
func spoiled(seed uint64, scale Scale, aggregate Aggregate) Input {
	random := rand.New(rand.NewPCG(seed, 1))
	in := made(random, 40, 4, 2, scale)
	in.Aggregate = aggregate
	for i := range in.Votes {
		in.Votes[i].Cached = random.IntN(5) == 0
		if random.IntN(6) == 0 {
			in.Votes[i].Status = Status(random.IntN(8))
		}
		if random.IntN(20) == 0 {
			in.Votes[i].Cost, in.Votes[i].Duration, in.Votes[i].Value = math.NaN(), math.Inf(1), math.Inf(-1)
		}
	}
	in.Judges[3].Escalation = random.IntN(2) == 0
	for o := range in.Outputs {
		if random.IntN(4) == 0 {
			in.Outputs[o].Length = math.NaN()
		}
		for person := range 2 {
			if random.IntN(5) > 0 {
				in.Labels = append(in.Labels, Label{o, person, in.nearest(random.Float64())})
			}
		}
		in.Before = append(in.Before, Earlier{o, in.nearest(random.Float64())})
	}
	return in
}

func aggregates(scale Scale) []Aggregate {
	if scale.Type == Categorical {
		return []Aggregate{Majority}
	}
	return []Aggregate{Majority, Mean, Minimum}
}

// each runs a test for all scales and aggregates.
func each(t *testing.T, test func(t *testing.T, in Input)) {
	t.Helper()
	for i, scale := range scales() {
		for _, aggregate := range aggregates(scale) {
			t.Run(fmt.Sprintf("%d/%s/%s", i, scale.Type, aggregate), func(t *testing.T) {
				t.Parallel()
				test(t, spoiled(uint64(i), scale, aggregate))
			})
		}
	}
}

// near requires the same but for rounding.
func near(t *testing.T, a, b *float64, what string) {
	t.Helper()
	if a == nil || b == nil {
		require.True(t, a == nil && b == nil, what)
		return
	}
	require.InDelta(t, *a, *b, 1e-6, what)
}

func TestOrderOfVotesIsNoMatter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, in Input) {
		t.Helper()
		s, outputs := measure(t, in)
		again, repeated := measure(t, in)
		require.Equal(t, s, again, "the same seed gives the same answer")
		require.Equal(t, outputs, repeated)
		in.Votes = slices.Clone(in.Votes)
		rand.New(rand.NewPCG(9, 9)).Shuffle(len(in.Votes), func(i, j int) { in.Votes[i], in.Votes[j] = in.Votes[j], in.Votes[i] })
		shuffled, others := measure(t, in)
		require.Equal(t, outputs, others)
		require.Equal(t, s.Votes, shuffled.Votes)
		require.Equal(t, s.Reliability, shuffled.Reliability)
		require.Equal(t, s.Labels, shuffled.Labels)
	})
}

func TestOrderOfJudgesIsNoMatter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, in Input) {
		t.Helper()
		s, outputs := measure(t, in)
		to := []int32{2, 0, 3, 1}
		turned := in
		turned.Judges, turned.Votes = slices.Clone(in.Judges), slices.Clone(in.Votes)
		for from, place := range to {
			turned.Judges[place] = in.Judges[from]
		}
		for i := range turned.Votes {
			turned.Votes[i].Judge = to[in.Votes[i].Judge]
		}
		r, others := measure(t, turned)
		for o := range outputs {
			near(t, outputs[o].Score, others[o].Score, "score")
			require.Equal(t, outputs[o].Label, others[o].Label)
			require.Equal(t, outputs[o].Split, others[o].Split)
		}
		near(t, s.Reliability.KrippendorffAlpha.Value, r.Reliability.KrippendorffAlpha.Value, "alpha")
		near(t, s.Reliability.GwetAC.Value, r.Reliability.GwetAC.Value, "AC")
		near(t, s.Labels.Kappa.Value, r.Labels.Kappa.Value, "kappa")
		near(t, s.Labels.Corrected.Value, r.Labels.Corrected.Value, "corrected")
		for from, place := range to {
			a, b := s.Judges[from], r.Judges[place]
			require.Equal(t, a.Name, b.Name)
			require.Equal(t, a.Votes, b.Votes)
			near(t, a.Score.Mean, b.Score.Mean, "mean")
			near(t, a.PanelAgreement.Value, b.PanelAgreement.Value, "agreement")
			near(t, a.FlipRate.Value, b.FlipRate.Value, "flips")
			if a.Without != nil {
				require.Equal(t, a.Without.Changed, b.Without.Changed)
			}
		}
	})
}

func TestOrderOfOutputsIsNoMatter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, in Input) {
		t.Helper()
		s, outputs := measure(t, in)
		to := rand.New(rand.NewPCG(5, 5)).Perm(len(in.Outputs))
		turned := in
		turned.Outputs, turned.Votes = slices.Clone(in.Outputs), slices.Clone(in.Votes)
		turned.Labels, turned.Before = slices.Clone(in.Labels), slices.Clone(in.Before)
		for from, place := range to {
			turned.Outputs[place] = in.Outputs[from]
			turned.Outputs[place].Item += 1000 // the numbers of items are names
		}
		for i := range turned.Votes {
			turned.Votes[i].Output = int32(to[in.Votes[i].Output])
		}
		for i := range turned.Labels {
			turned.Labels[i].Output = to[in.Labels[i].Output]
		}
		for i := range turned.Before {
			turned.Before[i].Output = to[in.Before[i].Output]
		}
		r, others := measure(t, turned)
		for from, place := range to {
			near(t, outputs[from].Score, others[place].Score, "score")
			require.Equal(t, outputs[from].Label, others[place].Label)
		}
		near(t, s.Score.Mean, r.Score.Mean, "mean")
		near(t, s.Reliability.KrippendorffAlpha.Value, r.Reliability.KrippendorffAlpha.Value, "alpha")
		near(t, s.Labels.Agreement.Value, r.Labels.Agreement.Value, "agreement")
		near(t, s.Labels.Before.Difference.Estimate, r.Labels.Before.Difference.Estimate, "before")
		for j := range s.Judges {
			near(t, s.Judges[j].LengthCorrelation.Value, r.Judges[j].LengthCorrelation.Value, "length")
			near(t, s.Judges[j].FlipRate.Value, r.Judges[j].FlipRate.Value, "flips")
		}
	})
}

// TestRelabeling: other names of categories give the same agreement, and a scale that is moved and stretched the same scores.
func TestRelabeling(t *testing.T) {
	t.Parallel()
	in := spoiled(3, Scale{Type: Categorical, Labels: []string{"x", "y", "z"}}, Majority)
	s, outputs := measure(t, in)
	turned := in
	turned.Scale.Labels = []string{"y", "z", "x"}
	turned.Votes, turned.Labels, turned.Before = slices.Clone(in.Votes), slices.Clone(in.Labels), slices.Clone(in.Before)
	move := func(value float64) float64 {
		if math.IsInf(value, 0) {
			return value
		}
		return math.Mod(value+2, 3)
	}
	for i := range turned.Votes {
		turned.Votes[i].Value = move(in.Votes[i].Value)
	}
	for i := range turned.Labels {
		turned.Labels[i].Value = move(in.Labels[i].Value)
	}
	for i := range turned.Before {
		turned.Before[i].Value = move(in.Before[i].Value)
	}
	r, others := measure(t, turned)
	for o := range outputs {
		require.Equal(t, outputs[o].Label, others[o].Label)
	}
	near(t, s.Reliability.GwetAC.Value, r.Reliability.GwetAC.Value, "gwet")
	near(t, s.Reliability.KrippendorffAlpha.Value, r.Reliability.KrippendorffAlpha.Value, "alpha")
	near(t, s.Labels.Kappa.Value, r.Labels.Kappa.Value, "kappa")

	grades := spoiled(4, fiveGrades, Mean)
	a, scores := measure(t, grades)
	moved := grades
	moved.Scale = Scale{Type: Ordinal, Min: -20, Max: -16}
	moved.Votes, moved.Labels, moved.Before = slices.Clone(grades.Votes), slices.Clone(grades.Labels), slices.Clone(grades.Before)
	for i := range moved.Votes {
		moved.Votes[i].Value -= 21
	}
	for i := range moved.Labels {
		moved.Labels[i].Value -= 21
	}
	for i := range moved.Before {
		moved.Before[i].Value -= 21
	}
	b, same := measure(t, moved)
	for o := range scores {
		near(t, scores[o].Score, same[o].Score, "score")
	}
	near(t, a.Reliability.GwetAC.Value, b.Reliability.GwetAC.Value, "AC2")
	near(t, a.Judges[0].PanelAgreement.Value, b.Judges[0].PanelAgreement.Value, "kappa")
	near(t, a.Labels.Corrected.Value, b.Labels.Corrected.Value, "corrected")
	require.Equal(t, a.Labels.Agreement.Value, b.Labels.Agreement.Value)
}

// TestCopies: repeats of an item that are copies make no interval narrower.
func TestCopies(t *testing.T) {
	t.Parallel()
	in := made(rand.New(rand.NewPCG(2, 2)), 80, 3, 1, fiveGrades)
	for o := range in.Outputs {
		in.Outputs[o].Item = o
	}
	one, _ := measure(t, in)
	four := in
	four.Outputs, four.Votes = nil, nil
	for i := range 4 {
		four.Outputs = append(four.Outputs, in.Outputs...)
		for _, v := range in.Votes {
			v.Output += int32(i * len(in.Outputs))
			four.Votes = append(four.Votes, v)
		}
	}
	all, _ := measure(t, four)
	width := func(ci *[2]float64) float64 { return ci[1] - ci[0] }
	for name, f := range map[string]func(*Summary) *[2]float64{
		"alpha":     func(s *Summary) *[2]float64 { return (*[2]float64)(s.Reliability.KrippendorffAlpha.CI) },
		"AC":        func(s *Summary) *[2]float64 { return (*[2]float64)(s.Reliability.GwetAC.CI) },
		"agreement": func(s *Summary) *[2]float64 { return (*[2]float64)(s.Judges[0].PanelAgreement.CI) },
		"mean":      func(s *Summary) *[2]float64 { return (*[2]float64)(s.Score.CI) },
		"length":    func(s *Summary) *[2]float64 { return (*[2]float64)(s.Judges[0].LengthCorrelation.CI) },
	} {
		require.InDelta(t, 1, width(f(all))/width(f(one)), .1, name)
	}
	require.Equal(t, 80, all.Score.N)
	require.Equal(t, 320, all.Outputs)
}
