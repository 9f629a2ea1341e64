package panel

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

var fiveGrades = Scale{Type: Ordinal, Min: 1, Max: 5}

func at(x float64) *float64 { return &x }

func measure(t *testing.T, in Input) (*Summary, []OutputScore) {
	t.Helper()
	s, outputs, err := Measure(in)
	require.NoError(t, err)
	require.Len(t, outputs, len(in.Outputs))
	check(t, in, s, outputs)
	return s, outputs
}

// check is what is true of every panel: it can be written as JSON, so that it has no NaN, and every account adds up.
func check(t *testing.T, in Input, s *Summary, outputs []OutputScore) {
	t.Helper()
	_, err := json.Marshal(s)
	require.NoError(t, err)
	_, err = json.Marshal(outputs)
	require.NoError(t, err)
	adds := func(c VoteCounts) {
		require.Equal(t, c.Total, c.OK+c.ParseError+c.Refused+c.OffScale+c.Timeout+c.ProviderError+c.Skipped+c.Pending)
		require.LessOrEqual(t, c.Cached, c.OK)
	}
	adds(s.Votes)
	require.Equal(t, len(in.Votes), s.Votes.Total)
	total, unscored, split, escalated, judged := 0, 0, 0, 0, 0
	require.Len(t, s.Judges, len(in.Judges))
	for _, j := range s.Judges {
		adds(j.Votes)
		total += j.Votes.Total
		for name, f := range map[string]Figure{
			"agreement": j.PanelAgreement, "flips": j.FlipRate, "position": j.PositionConsistency, "length": j.LengthCorrelation,
		} {
			require.True(t, f.Value != nil || f.Flag != nil, "%s of %s has neither a value nor a reason", name, j.Name)
		}
	}
	require.Equal(t, s.Votes.Total, total)
	for _, o := range outputs {
		require.Equal(t, o.Reason == "", o.Score != nil || o.Value != nil, "%+v", o)
		require.LessOrEqual(t, o.Valid, o.Judges)
		if o.Reason == NotJudged {
			continue
		}
		judged++
		unscored += int(indicator(o.Reason != ""))
		split += int(indicator(o.Split))
		escalated += int(indicator(o.Escalated))
		if o.Score != nil {
			require.True(t, *o.Score >= 0 && *o.Score <= 1)
		}
	}
	require.Equal(t, []int{judged, unscored, split, escalated}, []int{s.Outputs, s.Unscored, s.Split, s.Escalated})
	shares := 0.
	for _, c := range s.Categories {
		shares += c.Share
	}
	require.True(t, shares == 0 || math.Abs(shares-1) < 1e-9)
	require.NotEmpty(t, s.Sentence)
	require.NotNil(t, s.Warnings)
}

// row is a panel with one output and a valid vote of each judge, NaN for none.
func row(scale Scale, aggregate Aggregate, values ...float64) Input {
	in := Input{Name: "one", Kind: Score, Scale: scale, Aggregate: aggregate, Outputs: []Output{{}}}
	for j, value := range values {
		in.Judges = append(in.Judges, Judge{Name: string(rune('a' + j))})
		v := Vote{Judge: int32(j), Value: value}
		if math.IsNaN(value) {
			v.Status, v.Value = Timeout, 0
		}
		in.Votes = append(in.Votes, v)
	}
	return in
}

func TestAggregates(t *testing.T) {
	t.Parallel()
	none, half := math.NaN(), 3.
	grades := Scale{Type: Ordinal, Min: 1, Max: 5, PassAt: &half}
	colours := Scale{Type: Categorical, Labels: []string{"red", "green", "blue"}}
	kinds := Scale{Type: Categorical, Labels: []string{"bad", "fine", "good"}, PassLabels: []int{1, 2}}
	for name, c := range map[string]struct {
		in    Input
		score *float64
		label string
		pass  any
		why   Reason
		split bool
	}{
		"majority":                 {row(Scale{Type: Binary}, Majority, 1, 1, 0), at(1), "pass", true, "", true},
		"majority, tie":            {row(Scale{Type: Binary}, Majority, 1, 0), nil, "", nil, Tie, true},
		"majority of one of three": {row(Scale{Type: Binary}, Majority, 1, none, none), nil, "", nil, TooFewVotes, false},
		"majority of two of four":  {row(Scale{Type: Binary}, Majority, 0, none, none, 0), at(0), "fail", false, "", false},
		"mean of passes":           {row(Scale{Type: Binary}, Mean, 1, 1, 0), at(2. / 3), "pass", true, "", true},
		"mean, half a pass":        {row(Scale{Type: Binary}, Mean, 1, 0), at(.5), "", nil, "", true},
		"minimum of passes":        {row(Scale{Type: Binary}, Minimum, 1, 1, 0), at(0), "fail", false, "", true},
		"mean of grades":           {row(grades, Mean, 1, 2, 4), at(1. / 3), "", false, "", true},
		"apart, and both pass":     {row(grades, Mean, 3, 5), at(.75), "", true, "", true},
		"near, but one fails":      {row(grades, Mean, 2, 3), at(.375), "", false, "", true},
		"near, and both pass":      {row(grades, Mean, 4, 5), at(.875), "", true, "", false},
		"just passes":              {row(grades, Mean, 2, 4), at(.5), "", true, "", true},
		"categories":               {row(colours, Majority, 2, 2, 0), nil, "blue", nil, "", true},
		"categories that pass":     {row(kinds, Majority, 2, 2, 0), at(1), "good", true, "", true},
		"labels by place":          {row(Scale{Type: Ordinal, Labels: []string{"low", "mid", "high"}}, Minimum, 1, 1, 2), at(.5), "mid", nil, "", true},
		"numbers":                  {row(Scale{Type: Numeric, Min: -10, Max: 10}, Mean, -10, 5), at(.375), "", nil, "", true},
		"off the scale":            {row(Scale{Type: Numeric, Max: 1}, Mean, 2, .5, .4), at(.45), "", nil, "", false},
		"no grade between":         {row(fiveGrades, Mean, 2.5, 4), at(.75), "", nil, "", false},
		"nobody":                   {row(fiveGrades, Mean), nil, "", nil, NotJudged, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, outputs := measure(t, c.in)
			o := outputs[0]
			require.Equal(t, c.why, o.Reason)
			require.Equal(t, c.label, o.Label)
			require.Equal(t, c.split, o.Split)
			if c.score == nil {
				require.Nil(t, o.Score)
			} else {
				require.InDelta(t, *c.score, *o.Score, 1e-9)
			}
			if c.pass == nil {
				require.Nil(t, o.Pass)
			} else {
				require.Equal(t, c.pass, *o.Pass)
			}
		})
	}
}

func TestRepeatsBecomeOneValue(t *testing.T) {
	t.Parallel()
	in := row(fiveGrades, Mean, 2)
	in.Votes = append(in.Votes, Vote{Repeat: 1, Value: 5}, Vote{Repeat: 2, Status: Refused})
	_, outputs := measure(t, in)
	require.InDelta(t, 3.5, *outputs[0].Value, 1e-12, "the mean of what is valid")
	in = row(Scale{Type: Binary}, Majority, 1)
	in.Votes = append(in.Votes, Vote{Repeat: 1, Value: 0})
	_, outputs = measure(t, in)
	require.Equal(t, TooFewVotes, outputs[0].Reason, "tied repeats have no value")
	in.Votes = append(in.Votes, Vote{Repeat: 2, Value: 0})
	s, outputs := measure(t, in)
	require.Equal(t, "fail", outputs[0].Label)
	require.InDelta(t, 2./3, *s.Judges[0].FlipRate.Value, 1e-12)
}

func TestEscalation(t *testing.T) {
	t.Parallel()
	in := row(fiveGrades, Mean, 1, 5, 3)
	in.Judges[2].Escalation = true
	in.Outputs = append(in.Outputs, Output{Item: 1}, Output{Item: 2})
	for j, value := range []float64{4, 4, 1} {
		in.Votes = append(in.Votes, Vote{Output: 1, Judge: int32(j), Value: value})
	}
	in.Votes = append(in.Votes, Vote{Output: 2, Value: 1}, Vote{Output: 2, Judge: 1, Value: 5}, Vote{Output: 2, Judge: 2, Status: Timeout})
	s, outputs := measure(t, in)
	require.True(t, outputs[0].Escalated)
	require.InDelta(t, 3, *outputs[0].Value, 0)
	require.Equal(t, 2, outputs[0].Judges, "it is no judge of its own")
	require.False(t, outputs[1].Escalated, "nobody asked")
	require.InDelta(t, 4, *outputs[1].Value, 0)
	require.False(t, outputs[2].Escalated, "no valid vote")
	require.InDelta(t, 3, *outputs[2].Value, 0)
	require.Equal(t, []int{3, 2, 1}, []int{s.Outputs, s.Split, s.Escalated})
	require.Nil(t, s.Judges[2].Without)
	require.NotNil(t, s.Judges[0].Without)
}

func TestPreference(t *testing.T) {
	t.Parallel()
	in := Input{Name: "better", Kind: Preference, Aggregate: Majority, Judges: []Judge{{Name: "x"}, {Name: "y"}, {Name: "z"}}}
	ask := func(output, judge int32, ab, ba float64) {
		in.Votes = append(in.Votes, Vote{Output: output, Judge: judge, Order: BA, Value: ba}, Vote{Output: output, Judge: judge, Order: AB, Value: ab})
	}
	for o, votes := range [][3][2]float64{
		{{1, 1}, {1, 1}, {0, 0}},          // b
		{{0, 1}, {1, 1}, {0, 0}},          // a tie, b and a: a tie
		{{0, 1}, {0, 1}, {0, 0}},          // the first place twice: ties
		{{0, 0}, {.5, .5}, {0, 0}},        // a
		{{1, 1}, {0, 0}, {math.NaN(), 1}}, // one order is missing: b and a: a tie
	} {
		in.Outputs = append(in.Outputs, Output{Item: o, Length: math.NaN()})
		for j, v := range votes {
			ask(int32(o), int32(j), v[0], v[1])
		}
	}
	s, outputs := measure(t, in)
	var scores []float64
	var labels []string
	for _, o := range outputs {
		scores, labels = append(scores, *o.Score), append(labels, o.Label)
	}
	require.Equal(t, []float64{1, .5, .5, 0, .5}, scores)
	require.Equal(t, []string{"b", "tie", "tie", "a", "tie"}, labels)
	require.Equal(t, 2, outputs[4].Valid)
	x := s.Judges[0]
	require.InDelta(t, 3./5, *x.PositionConsistency.Value, 1e-12)
	require.Equal(t, 1, s.Judges[2].Votes.OffScale, "NaN is no answer")
	require.Equal(t, 4, s.Judges[2].PositionConsistency.N)
	require.Empty(t, s.Categories)
	data, err := json.Marshal(s.Scale)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"categorical","labels":["a","tie","b"]}`, string(data))
}

// TestWithoutATie: without one of two judges that differ, an output has a score that had none.
func TestWithoutATie(t *testing.T) {
	t.Parallel()
	s, _ := measure(t, row(Scale{Type: Binary}, Majority, 1, 0))
	require.Equal(t, 1, s.Judges[0].Without.Changed)
	s, _ = measure(t, row(Scale{Type: Binary}, Majority, 1, 1))
	require.Zero(t, s.Judges[0].Without.Changed)
}

// TestWithout: a judge that gives noise moves scores, and one that copies another moves none.
func TestWithout(t *testing.T) {
	t.Parallel()
	in := made(rand.New(rand.NewPCG(3, 3)), 60, 3, 1, fiveGrades)
	s, outputs := measure(t, in)
	for j, judge := range s.Judges {
		kept := in
		kept.Judges = slices.Delete(slices.Clone(in.Judges), j, j+1)
		kept.Votes = nil
		for _, v := range in.Votes {
			if v.Judge == int32(j) {
				continue
			}
			if v.Judge > int32(j) {
				v.Judge--
			}
			kept.Votes = append(kept.Votes, v)
		}
		rest, others := measure(t, kept)
		changed := 0
		for o := range outputs {
			if math.Abs(*outputs[o].Score-*others[o].Score) > .05+1e-9 {
				changed++
			}
		}
		require.Equal(t, changed, judge.Without.Changed)
		require.Positive(t, changed)
		require.InDelta(t, *rest.Score.Mean, *judge.Without.Score, 1e-12)
		require.InDelta(t, .06, judge.Without.Saved, 1e-12)
		require.InDelta(t, 1./3, *judge.Without.SavedShare, 1e-12)
		require.Equal(t, 60, judge.PanelAgreement.N)
		require.True(t, judge.PanelAgreement.CI.Contains(*judge.PanelAgreement.Value))
	}
}

// TestAccount: what is unknown is counted and never 0.
func TestAccount(t *testing.T) {
	t.Parallel()
	in := row(fiveGrades, Mean, 3)
	in.Votes[0].Cost, in.Votes[0].Duration = .25, 100
	in.Votes = append(in.Votes,
		Vote{Repeat: 1, Value: 3, Cost: math.NaN(), Duration: 300}, Vote{Repeat: 2, Value: 3, Cost: 0, Cached: true, Duration: 9000},
		Vote{Repeat: 3, Status: Timeout, Cost: .5, Duration: math.NaN()}, Vote{Repeat: 4, Status: Skipped, Cost: math.NaN()}, Vote{Repeat: 5, Status: Pending, Cost: math.NaN()})
	s, _ := measure(t, in)
	j := s.Judges[0]
	require.Equal(t, VoteCounts{Total: 6, OK: 3, Timeout: 1, Skipped: 1, Pending: 1, Cached: 1}, j.Votes)
	require.InDelta(t, .75, j.Cost, 0)
	require.Equal(t, 1, j.UnknownCost)
	require.InDelta(t, 200, *j.Duration, 0, "of calls")
	require.Nil(t, j.Canary)
}

// TestDegenerate: nothing is made up.
func TestDegenerate(t *testing.T) {
	t.Parallel()
	for _, scale := range []Scale{
		{Type: Binary}, fiveGrades, {Type: Numeric, Max: 1}, {Type: Categorical, Labels: []string{"x", "y"}},
	} {
		for judges := range 4 {
			for _, outputs := range []int{0, 1, 2} {
				in := made(rand.New(rand.NewPCG(1, 1)), outputs, judges, 1, scale)
				measure(t, in)
				for _, status := range []Status{ParseError, Skipped, Pending} {
					all := in
					all.Votes = slices.Clone(in.Votes)
					for i := range all.Votes {
						all.Votes[i].Status = status
					}
					s, _ := measure(t, all)
					require.Nil(t, s.Score.Mean)
					require.Zero(t, s.Votes.OK)
				}
				in.Votes = nil
				s, _ := measure(t, in)
				require.Zero(t, s.Outputs)
			}
		}
	}
	alone := row(fiveGrades, Mean, 2)
	alone.Judges[0].Escalation = true
	s, outputs := measure(t, alone)
	require.Equal(t, NotJudged, outputs[0].Reason)
	require.Contains(t, s.Sentence, "No judge of the panel")
	same, _ := measure(t, row(fiveGrades, Mean, 2, 2, 2))
	require.True(t, same.Reliability.KrippendorffAlpha.has(stats.NoVariation))
	require.Nil(t, same.Reliability.KrippendorffAlpha.Value)
}

// TestRemovedAggregate: what an aggregate said that was removed stays, and all that needs no aggregate is measured.
func TestRemovedAggregate(t *testing.T) {
	t.Parallel()
	in := labelledPanel(40, 40, .9, .9, .9)
	in.Aggregate = "median"
	want, outputs := measure(t, func(in Input) Input { in.Aggregate = Majority; return in }(in))
	in.Stored = slices.Clone(outputs)
	in.Stored[39] = OutputScore{}
	s, kept := measure(t, in)
	require.Equal(t, outputs[:39], kept[:39])
	require.Equal(t, TooFewVotes, kept[39].Reason, "nothing was stored")
	require.Equal(t, want.Reliability, s.Reliability)
	require.Equal(t, 39, s.Labels.Outputs)
	require.Nil(t, s.Judges[0].Without)
	require.True(t, s.Judges[0].PanelAgreement.has(stats.NotApplicable))
	in.Stored = nil
	_, _, err := Measure(in)
	require.ErrorContains(t, err, "have a stored score, which median does not make")
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Input){
		"vote 0 names output 9":      func(in *Input) { in.Votes[0].Output = 9 },
		"judge -1":                   func(in *Input) { in.Votes[0].Judge = -1 },
		"no known status":            func(in *Input) { in.Votes[0].Status = 99 },
		"not on the scale":           func(in *Input) { in.Labels = []Label{{Value: 2.5}} },
		"earlier score 0":            func(in *Input) { in.Before = []Earlier{{Output: 5}} },
		"2 judges are escalations":   func(in *Input) { in.Judges[0].Escalation, in.Judges[1].Escalation = true, true },
		"the kind":                   func(in *Input) { in.Kind = "best" },
		"a preference has":           func(in *Input) { in.Kind = Preference },
		"categories have no mean":    func(in *Input) { in.Scale = Scale{Type: Categorical, Labels: []string{"x", "y"}} },
		"the aggregate \"best\"":     func(in *Input) { in.Aggregate = "best" },
		"the type \"\" of the scale": func(in *Input) { in.Scale.Type = "" },
		"a max above its min":        func(in *Input) { in.Scale.Max = 1 },
		"whole numbers":              func(in *Input) { in.Scale.Min = .5 },
		"what passes is not":         func(in *Input) { in.Scale.PassAt = at(9) },
		"a label that passes is not": func(in *Input) {
			in.Scale = Scale{Type: Categorical, Labels: []string{"x", "y"}, PassLabels: []int{2}}
			in.Aggregate = Majority
		},
	} {
		in := row(fiveGrades, Mean, 1, 2)
		change(&in)
		_, _, err := Measure(in)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `panel "one"`)
	}
}
