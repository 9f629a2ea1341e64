package verdict

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// did is an episode that succeeds or fails with an answer after calls. Its costs differ a little by its number.
func did(number int, outcome float64, answer string, calls ...string) episode {
	spread := 1 + .01*float64(number*7%10)
	cost, duration, tokens := .01*spread, 1000*spread, 100+float64(number*7%10)
	e := episode{calls: calls, answer: []string{answer, "word" + strconv.Itoa(number%3)}}
	e.run = Run{Outcome: &outcome, CostUSD: &cost, DurationMS: &duration, Tokens: &tokens, Decisions: fmt.Sprint(calls, outcome), Bytes: fmt.Sprint(calls, outcome, e.answer)}
	return e
}

// usual does one of two things, as often as the other.
func usual(number int) episode {
	return did(number, 1, "found", "search", []string{"read", "list"}[number%2], "answer")
}

// changed does something else.
func changed(number int) episode {
	return did(number, 0, "lost", "delete", "delete", []string{"wipe", "drop"}[number%2])
}

// replays has a usual recording with controls and treatments.
func replays(controls, treatments int, control, treatment func(int) episode) Input {
	episodes := []episode{usual(0)}
	for i := range controls {
		episodes = append(episodes, control(i))
	}
	for i := range treatments {
		episodes = append(episodes, treatment(i))
	}
	in := replayOf(episodes, controls, Seed("run", "edit", fmt.Sprint(controls, treatments)))
	in.Steps = in.Steps[:3]
	return in
}

// quiet makes no live call.
func quiet(in Input) Input {
	in.Mode = Cassette
	for i := range in.Attempts {
		in.Attempts[i].DownstreamLive, in.Attempts[i].Exposure = 0, Exposure{}
	}
	return in
}

func with(in Input, changes ...func(in *Input)) Input {
	for _, change := range changes {
		change(&in)
	}
	return in
}

func same(int) episode { return usual(0) }

// row is a made input with its verdict.
type row struct {
	name   string
	in     Input
	want   Kind
	reason string
}

// rows are those of the table of verdicts, with what stands between them.
func rows() []row {
	taint := func(share float64) func(in *Input) {
		return func(in *Input) {
			for i := range in.Attempts {
				if in.Attempts[i].Role == Treatment {
					in.Attempts[i].DownstreamCalls, in.Attempts[i].Exposure.Nearest = 100, int(100*share)
				}
			}
		}
	}
	changes := func(in *Input) { in.Changes = []Change{{"model", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"}} }
	far := func(in *Input) { // the recording is far from all
		for i := range in.Structure {
			if i > 0 {
				in.Structure[0][i], in.Structure[i][0] = 1, 1
			}
		}
	}
	noOutcome := func(in *Input) {
		in.Recorded.Outcome = nil
		for i := range in.Attempts {
			in.Attempts[i].Outcome = nil
		}
	}
	treatments := func(change func(a *Attempt)) func(in *Input) {
		return func(in *Input) {
			for i := range in.Attempts {
				if in.Attempts[i].Role == Treatment {
					change(&in.Attempts[i])
				}
			}
		}
	}
	fails := func(in *Input) {
		in.Failure = &Failure{Scope: "the tool call", Text: "Step 2 times out.", Remedy: "Replay with model calls."}
		treatments(func(a *Attempt) { a.Unfinished = "miss" })(in)
	}
	half := func(number int) episode {
		if number%2 == 0 {
			return usual(number)
		}
		return did(number, 1, "found", "guess", "guess", "answer")
	}
	return []row{
		{"integrity", with(replays(5, 4, usual, changed), func(in *Input) { in.Integrity = []Reason{{"opaque", "A prompt could not be rebuilt."}} }), Invalid, "opaque"},
		{"live call in a cassette", with(quiet(replays(1, 1, same, changed)), func(in *Input) { in.Attempts[1].DownstreamLive = 1 }), Invalid, "live_call_in_cassette"},
		{"outside of what is downstream", with(replays(5, 4, usual, changed), func(in *Input) { in.Attempts[6].OutsideDifferences = 2 }), Invalid, "outside_cone_differences"},
		{"control without live call differs", quiet(replays(2, 1, usual, changed)), Invalid, "control_differs"},
		{"did not get to the edit", with(replays(5, 4, usual, changed), treatments(func(a *Attempt) { a.ReachedEdit = false })), Invalid, "cone_not_entered"},
		{"no treatment finished", with(replays(5, 4, usual, changed), treatments(func(a *Attempt) { a.Unfinished = "miss" })), Invalid, "nothing_compared"},
		{"tainted", with(replays(5, 4, usual, changed), taint(.51)), Invalid, "tainted"},
		{"nothing at all", Input{Mode: Server}, Invalid, "cone_not_entered"},
		{"no mode", Input{}, Invalid, "inconsistent_input"},
		{"distances of other runs", with(replays(5, 4, usual, changed), func(in *Input) { in.Answer = in.Answer[1:] }), Invalid, "inconsistent_input"},
		{"proven and not", with(quiet(replays(0, 1, same, changed)), func(in *Input) { in.Proven = true }), Invalid, "inconsistent_input"},

		{"proven", Input{Mode: Cassette, Proven: true, DiffEmpty: true}, DeterministicNoEffect, "proven"},
		{"nothing differs", with(quiet(replays(0, 1, same, same)), func(in *Input) { in.DiffEmpty = true }), DeterministicNoEffect, "no_live_call"},
		{"server without live call", with(quiet(replays(1, 1, same, changed)), func(in *Input) { in.Mode = Server }), DeterministicEffect, "no_live_call"},
		{"something differs", quiet(replays(1, 1, same, changed)), DeterministicEffect, "no_live_call"},
		{"a call fails for certain", with(quiet(replays(1, 1, same, changed)), fails), DeterministicEffect, "censored"},
		{"a call fails and nothing differs", with(quiet(replays(1, 1, same, changed)), fails, func(in *Input) { in.DiffEmpty = true }), Invalid, "inconsistent_input"},
		{"a call fails of another recording", with(quiet(replays(1, 1, same, changed)), fails, func(in *Input) { in.Integrity = []Reason{{"recording_changed", "It changed."}} }), Invalid, "recording_changed"},
		{"something differs behind similar calls", with(quiet(replays(1, 1, same, changed)), taint(.2)), EffectLikely, "tainted"},

		{"effect", replays(5, 4, usual, changed), EffectAttributable, "answer_changed"},
		{"effect, a little tainted", with(replays(5, 4, usual, changed), taint(.1)), EffectAttributable, "structure_changed"},
		{"effect, tainted", with(replays(5, 4, usual, changed), taint(.3)), EffectLikely, "tainted"},
		{"effect, another model", with(replays(5, 4, usual, changed), changes), EffectLikely, "changed_since_recording"},
		{"effect, drift", with(replays(5, 4, usual, changed), far), EffectLikely, "drift"},
		{"apart", replays(3, 3, same, func(int) episode { return changed(0) }), EffectLikely, "decisions_apart"},
		{"apart, but probable by chance", replays(3, 2, same, func(int) episode { return changed(0) }), Underpowered, "attainable_p"},

		{"equivalent", replays(14, 14, usual, usual), NoEffectDetected, ""},
		{"equivalent with another fingerprint", with(replays(14, 14, usual, usual), changes), NoEffectDetected, "changed_since_recording"},
		{"equivalent distances", with(replays(40, 40, usual, usual), noOutcome), NoEffectDetected, ""},
		{"too few for the bound", with(replays(6, 6, usual, usual), noOutcome), WithinNoise, ""},

		{"noise", replays(5, 4, usual, usual), WithinNoise, "inside_control_range"},
		{"outcomes alone", with(replays(5, 4, usual, usual), func(in *Input) { in.Structure, in.Answer = nil, nil }), WithinNoise, ""},
		{"all alike", replays(5, 4, same, same), WithinNoise, "inside_control_range"},

		{"two controls", replays(2, 14, usual, changed), Underpowered, "few_controls"},
		{"four against four", replays(4, 4, usual, changed), Underpowered, "attainable_p"},
		{"no control", replays(0, 4, usual, changed), Underpowered, "few_controls"},
		{"unfinished controls", with(replays(5, 4, usual, changed), func(in *Input) {
			for i := range 3 {
				in.Attempts[i].Unfinished = "cost cap"
			}
		}), Underpowered, "unfinished"},
		{"hint", with(replays(5, 4, usual, half), noOutcome), Underpowered, "hint"},

		{"drift", with(replays(5, 4, usual, usual), far), Drift, "drift"},
		{"drift of few", with(replays(5, 2, usual, usual), far), Drift, "drift"},
		{"too few for drift", with(replays(4, 4, usual, usual), far), Underpowered, "attainable_p"},
		{"drift before equivalence", with(replays(14, 14, usual, usual), far), Drift, "drift"},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	sentences := map[Kind]string{}
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			v := Of(r.in)
			require.Equal(t, r.want, v.Verdict, "%s %+v", v.Sentence, v.Reasons)
			require.NotEmpty(t, v.Sentence)
			if r.reason != "" {
				require.NotEmpty(t, v.because(r.reason), "%+v", v.Reasons)
			}
			sentences[v.Verdict] += "\n" + v.Sentence
			t.Log(v.Sentence)
			sound(t, v)
		})
	}
	require.Len(t, sentences, 9, "every verdict has a row")
}

// TestEffect: what is found of a clear effect.
func TestEffect(t *testing.T) {
	t.Parallel()
	v := Of(replays(5, 4, usual, changed))
	require.Equal(t, 5, v.K)
	require.Equal(t, 4, v.M)
	require.InDelta(t, 1./126, *v.AttainableP.before, 1e-12)
	require.InDelta(t, 5./126, *v.AttainableP.After, 1e-12)
	require.Equal(t, 5, v.AttainableP.channels)

	o := v.Channels.Outcome
	require.Equal(t, Fisher, o.Test)
	require.InDelta(t, 1./126, *o.P, 1e-12)
	require.InDelta(t, 5./126, *o.PAdjusted, 1e-12)
	require.InDelta(t, -1, *o.Effect, 0)
	require.Equal(t, *stats.NewcombeDifference(5, 5, 0, 4, .04), *o.CI)
	require.InDelta(t, math.Pow(.8, .25), *o.detectable, 1e-4, "all four must fail")
	require.Contains(t, v.Sentence, "The edit changed the outcome. 5 of 5 unedited replays succeeded, and 0 of 4 edited ones (p = 0.0079, 0.04 after correction).")
	require.Contains(t, v.Sentence, `The first step that differs is "step 0".`)

	s := v.Channels.Structure
	require.InDelta(t, 1./126, *s.P, 1e-12)
	require.InDelta(t, 1, *s.across, 1e-12)
	require.InDelta(t, 2**s.across-*s.Controls.Mean-*s.Treatments.Mean, *s.Effect, 1e-12)

	require.Equal(t, []stats.Flag{BesideCost}, v.Channels.Tokens.Flags)
	require.NotNil(t, v.Channels.Tokens.P)
	require.Nil(t, v.Channels.Tokens.PAdjusted)
	require.InDelta(t, 1, *v.Channels.Cost.Effect, .1)
	require.InDelta(t, 1, *v.Channels.Latency.Effect, .1)

	require.Equal(t, OutcomeStable, *v.Reproducibility.Class)
	require.Equal(t, 0, v.FirstAttributableStep.Position)
	require.InDelta(t, .5, *v.Exposure.LiveShare, 0)
	require.InDelta(t, 0, *v.Exposure.TaintShare, 0)
}

// TestReproducibility: each class.
func TestReproducibility(t *testing.T) {
	t.Parallel()
	for want, in := range map[Class]Input{
		ExactByConstruction: quiet(replays(1, 1, same, changed)),
		Stable:              replays(5, 4, same, changed),
		DecisionStable: replays(5, 4, func(i int) episode {
			return did(i, 1, "found", "search", "read", "answer")
		}, changed),
		OutcomeStable: replays(5, 4, usual, changed),
		Unstable: replays(5, 4, func(i int) episode {
			return did(i, float64(i%2), "found", "search", "read", "answer")
		}, changed),
	} {
		require.Equal(t, want, *Of(in).Reproducibility.Class)
	}
	unknown := replays(5, 4, usual, changed)
	for i := range unknown.Attempts {
		unknown.Attempts[i].Bytes, unknown.Attempts[i].Decisions, unknown.Attempts[i].Outcome = "", "", nil
	}
	require.Nil(t, Of(unknown).Reproducibility.Class)
}

// TestMoreReplays: what is asked for is enough, and no less is.
func TestMoreReplays(t *testing.T) {
	t.Parallel()
	v := Of(replays(4, 4, usual, changed))
	require.Equal(t, Design{1, 0}, *v.MoreReplaysNeeded)
	require.Contains(t, v.Sentence, "Cannot tell: with 4 unedited and 4 edited replays not even a clear effect could be told from chance. 1 more (1 unedited)")
	require.Equal(t, EffectAttributable, Of(replays(5, 4, usual, changed)).Verdict)
	few := *Of(replays(2, 1, usual, changed)).MoreReplaysNeeded
	require.Equal(t, EffectAttributable, Of(replays(2+few.Controls, 1+few.Treatments, usual, changed)).Verdict, "%+v", few)
	for _, less := range []Design{{few.Controls - 1, few.Treatments}, {few.Controls, few.Treatments - 1}} {
		require.NotEqual(t, EffectAttributable, Of(replays(2+less.Controls, 1+less.Treatments, usual, changed)).Verdict)
	}
}

// TestTokensForCost: tokens are tested where the cost is unknown, and then a cost is unknown and not 0.
func TestTokensForCost(t *testing.T) {
	t.Parallel()
	in := replays(5, 4, usual, changed)
	for i := range in.Attempts {
		in.Attempts[i].CostUSD = nil
	}
	v := Of(in)
	require.Equal(t, []stats.Flag{Unknown}, v.Channels.Cost.Flags)
	require.Nil(t, v.Channels.Cost.P)
	require.Nil(t, v.Channels.Cost.Effect)
	require.NotNil(t, v.Channels.Tokens.PAdjusted)
	require.Equal(t, 5, v.AttainableP.channels)
	// Free models cost 0, which is known.
	nothing := 0.
	for i := range in.Attempts {
		in.Attempts[i].CostUSD = &nothing
	}
	free := Of(in).Channels.Cost
	require.Equal(t, []stats.Flag{stats.NoVariation}, free.Flags)
	require.InDelta(t, 0, *free.Controls.Mean, 0)
	some := .1
	in.Attempts[0].CostUSD = &some
	require.Equal(t, []stats.Flag{stats.OutOfDomain}, Of(in).Channels.Cost.Flags)
}

// TestGrades compares scores that are no passes.
func TestGrades(t *testing.T) {
	t.Parallel()
	grade := func(base float64) func(int) episode {
		return func(i int) episode { return did(i, base+.01*float64(i), "found", "search", "read", "answer") }
	}
	v := Of(replays(5, 4, grade(.2), grade(.8)))
	require.Equal(t, EffectAttributable, v.Verdict)
	require.Equal(t, Means, v.Channels.Outcome.Test)
	require.InDelta(t, .595, *v.Channels.Outcome.Effect, 1e-9)
	require.True(t, v.Channels.Outcome.CI.Contains(.595))
	require.Contains(t, v.Sentence, "The mean outcome of unedited replays is 0.22, and that of edited ones 0.815")
	require.Equal(t, NoEffectDetected, Of(replays(5, 4, grade(.5), grade(.5))).Verdict, "grades with little noise need few replays")
}
