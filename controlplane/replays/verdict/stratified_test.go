package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// many are the replays of several recorded runs of one agent each.
func many(seed uint64, runs int, d Design, temperature float64, e edit) (all []Input) {
	random := rand.New(rand.NewPCG(seed, 5))
	for range runs {
		all = append(all, newAgent(random, temperature).replay(random, d.Controls, d.Treatments, e))
	}
	return all
}

func TestStratified(t *testing.T) {
	t.Parallel()
	v := Stratified(many(1, 20, Design{2, 2}, .3, edit{step: 0, shift: 1}))
	sound(t, v)
	require.Equal(t, EffectAttributable, v.Verdict, v.Sentence)
	require.Equal(t, 40, v.K)
	require.Equal(t, 40, v.M)
	require.Equal(t, Runs{Counted: 20, LeftOutReasons: []Reason{}}, *v.Runs)
	require.Nil(t, v.FirstAttributableStep)
	require.InDelta(t, 1./10000, *v.AttainableP.before, 1e-12)
	s := v.Channels.Structure
	require.LessOrEqual(t, *s.PAdjusted, .05)
	require.True(t, s.CI.Contains(*s.Effect))
	require.Positive(t, s.CI[0])
	require.Equal(t, Means, v.Channels.Outcome.Test)

	// Three runs of two and two cannot be significant over five channels, six can.
	three := Stratified(many(1, 3, Design{2, 2}, .3, edit{step: 0, shift: 1}))
	require.Equal(t, Underpowered, three.Verdict)
	require.Contains(t, three.Sentence, "Replay the edit on more runs.")
	six := Stratified(many(1, 6, Design{2, 2}, .3, edit{step: 0, shift: 1}))
	require.InDelta(t, 5*math.Pow(3, -6), *six.AttainableP.After, 1e-12)
}

// TestStratifiedHardRuns: runs that differ from each other are no effect.
func TestStratifiedHardRuns(t *testing.T) {
	t.Parallel()
	var runs []Input
	for i := range 12 {
		of := usual
		if i%2 == 0 {
			of = changed
		}
		runs = append(runs, replays(2, 2, of, of))
	}
	v := Stratified(runs)
	require.NotEqual(t, EffectAttributable, v.Verdict)
	require.InDelta(t, 0, *v.Channels.Outcome.Effect, 0)
	require.Equal(t, []stats.Flag{stats.NoVariation}, v.Channels.Outcome.Flags)
}

// TestStratifiedMixed: what becomes of runs that are no test.
func TestStratifiedMixed(t *testing.T) {
	t.Parallel()
	proven := Input{Mode: Cassette, Proven: true, DiffEmpty: true}
	certain := quiet(replays(1, 1, same, changed))
	broken := with(replays(2, 2, usual, usual), func(in *Input) { in.Integrity = []Reason{{"opaque", "A prompt could not be rebuilt."}} })
	live := many(2, 10, Design{2, 2}, .3, edit{step: -1})
	for _, c := range []struct {
		runs []Input
		want Kind
		of   Runs
	}{
		{nil, Invalid, Runs{}},
		{[]Input{broken, broken}, Invalid, Runs{LeftOut: 2}},
		{[]Input{proven, proven}, DeterministicNoEffect, Runs{DeterministicNoEffect: 2}},
		{[]Input{proven, certain}, DeterministicEffect, Runs{DeterministicEffect: 1, DeterministicNoEffect: 1}},
		{append([]Input{certain, broken}, live...), DeterministicEffect, Runs{Counted: 10, DeterministicEffect: 1, LeftOut: 1}},
	} {
		v := Stratified(c.runs)
		sound(t, v)
		require.Equal(t, c.want, v.Verdict)
		require.Len(t, v.Runs.LeftOutReasons, c.of.LeftOut)
		v.Runs.LeftOutReasons = nil
		require.Equal(t, c.of, *v.Runs)
	}
	// A run that does not count does not change what the others say.
	require.Equal(t, Stratified(live).Channels, Stratified(append([]Input{broken, proven}, live...)).Channels)
	alone := Of(replays(5, 4, usual, changed))
	require.Equal(t, alone.Channels, Stratified([]Input{replays(5, 4, usual, changed)}).Channels, "one run is as by itself")
}

// TestStratifiedOrder: the order of attempts changes no byte.
func TestStratifiedOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 6))
	runs := many(3, 8, Design{2, 2}, 1, edit{step: 0, shift: .5})
	want := sound(t, Stratified(runs))
	for i := range runs {
		runs[i] = shuffled(random, runs[i], true)
	}
	require.Equal(t, string(want), string(sound(t, Stratified(runs))))
}

// TestStratifiedErrors: without an effect the chance of claiming one is at most the level.
func TestStratifiedErrors(t *testing.T) {
	t.Parallel()
	const trials = 200
	found, drifted, moved := 0, 0, 0
	for i := range uint64(trials) {
		v := Stratified(many(i, 8, Design{2, 2}, .3, edit{step: -1}))
		if v.Verdict == EffectAttributable || v.Verdict == EffectLikely {
			found++
		}
		if v.Drift.Flag {
			drifted++
		}
		other := many(i, 8, Design{2, 2}, .3, edit{step: 0, shift: 1})
		for j := range other { // the recording is of the edited agent's
			for k := range other[j].Attempts {
				a := &other[j].Attempts[k]
				a.Role = map[Role]Role{Control: Treatment, Treatment: Control}[a.Role]
			}
		}
		if Stratified(other).Drift.Flag {
			moved++
		}
	}
	t.Logf("effects %d, drift %d, real drift %d of %d", found, drifted, moved, trials)
	most := (.05 + 2*math.Sqrt(.05*.95/trials)) * trials
	assert.LessOrEqual(t, float64(found), most)
	assert.LessOrEqual(t, float64(drifted), most)
	assert.Greater(t, moved, trials/4)
}
