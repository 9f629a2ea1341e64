package verdict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// attempts changes those of a role from a place among them on.
func attempts(role Role, from int, change func(a *Attempt)) func(in *Input) {
	return func(in *Input) {
		at := 0
		for i := range in.Attempts {
			if in.Attempts[i].Role != role {
				continue
			}
			if at >= from {
				change(&in.Attempts[i])
			}
			at++
		}
	}
}

func batch(n int64) func(a *Attempt) { return func(a *Attempt) { a.Batch = n } }

func fingerprint(name string) func(a *Attempt) {
	return func(a *Attempt) { a.Models, a.Fingerprints = []string{"gpt"}, []string{name} }
}

func everyOne(change func(a *Attempt)) func(in *Input) {
	return func(in *Input) {
		for i := range in.Attempts {
			change(&in.Attempts[i])
		}
	}
}

// dear makes treatments cost and take twice as much.
func dear(a *Attempt) {
	cost, duration := 2**a.CostUSD, 2**a.DurationMS
	a.CostUSD, a.DurationMS = &cost, &duration
}

// TestOtherTimes: costs and durations of other times are not compared, and tokens are in the place of costs.
func TestOtherTimes(t *testing.T) {
	t.Parallel()
	together := Of(with(replays(6, 6, usual, usual), attempts(Treatment, 0, dear)))
	require.Equal(t, EffectAttributable, together.Verdict)
	require.Contains(t, together.Sentence, "The edit changed the cost.")

	apart := Of(with(replays(6, 6, usual, usual), everyOne(fingerprint("a")), attempts(Treatment, 0, dear), attempts(Treatment, 0, batch(1))))
	require.Equal(t, WithinNoise, apart.Verdict, apart.Sentence)
	require.Contains(t, apart.Sentence, "6 of 6 controls were made at another time than the treatments. Prices, caches and load may have changed, so that cost and duration are not compared.")
	for _, c := range []Channel{apart.Channels.Cost, apart.Channels.Latency} {
		require.Nil(t, c.P)
		require.Nil(t, c.Effect)
		require.Equal(t, []stats.Flag{MadeApart}, c.Flags)
		require.Zero(t, c.Controls.N+c.Treatments.N)
	}
	require.NotNil(t, apart.Channels.Tokens.PAdjusted)
	require.Equal(t, 3, apart.AttainableP.channels, "tokens are in the place of costs")
	sound(t, apart)

	// With controls of both times, those of the treatments' time count.
	both := Of(with(replays(12, 6, usual, usual), everyOne(fingerprint("a")), attempts(Treatment, 0, dear), everyOne(batch(1)), attempts(Control, 6, batch(2))))
	require.Equal(t, EffectAttributable, both.Verdict, both.Sentence)
	require.Equal(t, 6, both.Channels.Cost.Controls.N)
	require.Equal(t, []stats.Flag{MadeApart}, both.Channels.Cost.Flags)
	require.Contains(t, both.Sentence, "6 of 12 controls were made at another time than the treatments.")
	require.Equal(t, 12, both.Channels.Tokens.Controls.N)

	// Two batches of both roles count together, whatever the times did to all of a batch.
	slow := func(a *Attempt) {
		a.Batch = 1
		dear(a)
	}
	two := with(replays(12, 12, usual, usual), attempts(Control, 6, slow), attempts(Treatment, 6, slow))
	v := Of(two)
	require.InDelta(t, 1, *v.Channels.Cost.Effect, .02)
	require.Less(t, v.Channels.Cost.CI[1], 1.1, "the batches differ twofold, and that is no noise")
	require.Equal(t, 12, v.Channels.Cost.Controls.N)
	require.Empty(t, v.because("made_apart"))
	found := Of(with(two, attempts(Treatment, 0, dear)))
	require.Equal(t, EffectAttributable, found.Verdict)
	require.InDelta(t, 2, *found.Channels.Cost.Effect, .05)
}

// TestOtherModels: controls of another time and another model do not count, and where no version is known, an effect is only probable.
func TestOtherModels(t *testing.T) {
	t.Parallel()
	apart := func(changes ...func(in *Input)) Input {
		return with(with(replays(6, 6, usual, changed), attempts(Treatment, 0, batch(1))), changes...)
	}
	known := Of(apart(everyOne(fingerprint("a"))))
	require.Equal(t, EffectAttributable, known.Verdict, known.Sentence)

	unknown := Of(apart())
	require.Equal(t, EffectLikely, unknown.Verdict)
	require.Contains(t, unknown.Sentence, "But: some replays were made at another time, and nothing tells whether the same version of the model answered")
	require.Equal(t, EffectLikely, Of(apart(everyOne(fingerprint("a")), func(in *Input) { in.ModelEdited = true })).Verdict)

	other := Of(apart(everyOne(fingerprint("a")), attempts(Treatment, 0, fingerprint("b"))))
	require.Equal(t, Underpowered, other.Verdict, other.Sentence)
	require.Zero(t, other.K)
	require.Contains(t, other.Sentence, `6 of 6 controls do not count: another model or version answered them ("a", and "b" the other replays).`)
	require.NotNil(t, other.MoreReplaysNeeded)
	require.Positive(t, other.MoreReplaysNeeded.Controls)
	sound(t, other)

	// Attempts that were made together stay: what a provider does meets both roles.
	mixed := Of(with(replays(6, 6, usual, changed), attempts(Control, 0, fingerprint("a")), attempts(Treatment, 0, fingerprint("b"))))
	require.Equal(t, EffectAttributable, mixed.Verdict)

	// Treatments that were added later, of another version than all controls.
	added := Of(with(replays(6, 12, usual, usual), everyOne(fingerprint("a")), attempts(Treatment, 6, batch(1)), attempts(Treatment, 6, fingerprint("b"))))
	require.Equal(t, 6, added.M, added.Sentence)
	require.Contains(t, added.because("other_model"), "6 of 12 treatments do not count")
}

// TestCachedShare: a provider's cache is named.
func TestCachedShare(t *testing.T) {
	t.Parallel()
	cached := func(share float64) func(a *Attempt) { return func(a *Attempt) { a.CachedShare = &share } }
	v := Of(with(replays(6, 6, usual, usual), everyOne(cached(.9)), attempts(Treatment, 0, cached(.1))))
	require.Equal(t, "The provider's cache had 90% of the input of unedited replays, and 10% of edited ones: part of a difference in cost is the cache's.", v.because("cached_share"))
	v = Of(with(replays(6, 6, usual, usual), everyOne(cached(.9))))
	require.Empty(t, v.because("cached_share"))
}

// TestLooks: later looks have smaller levels, that are no more than the level together, and a look that can find nothing is none.
func TestLooks(t *testing.T) {
	t.Parallel()
	sum := 0.
	for looks := range 50 {
		require.Less(t, levelOf(.05, looks+1), levelOf(.05, looks))
		sum += levelOf(.05, looks)
	}
	require.InDelta(t, .05, sum, 1e-12)

	first := Of(replays(5, 4, usual, changed))
	require.Equal(t, 1, first.Looks)
	require.InDelta(t, .04, first.Alpha, 1e-12)
	require.Equal(t, EffectAttributable, first.Verdict)
	require.Empty(t, first.because("look"))

	looked := func(in *Input) { in.Looks = 1 }
	second := Of(with(replays(5, 4, usual, changed), looked))
	require.Equal(t, Underpowered, second.Verdict, "5 and 4 cannot have so small a p")
	require.Equal(t, 1, second.Looks)
	require.InDelta(t, .005, second.Alpha, 1e-12)
	require.NotNil(t, second.MoreReplaysNeeded)

	more := Of(with(replays(10, 10, usual, changed), looked))
	require.Equal(t, EffectAttributable, more.Verdict)
	require.Equal(t, 2, more.Looks)
	require.Contains(t, more.Sentence, "After 1 earlier look at this replay p counts at 0.005 or less only, so that looking again finds no effect by chance.")
	sound(t, more)

	few := Of(replays(4, 4, usual, changed))
	require.Zero(t, few.Looks)
	steady := Of(replays(4, 4, same, changed))
	require.Equal(t, 1, steady.Looks, "that all treatments decide otherwise could have been found")
}
