package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

// elsewhen is what another time does to attempts, besides what an edit does.
type elsewhen struct {
	name string
	// of has what the model does otherwise by then; cost and duration are factors.
	of             edit
	cost, duration float64
	// apart says that controls are of the earlier time. told says that providers tell the version of the model, and changed that it differs.
	apart, told, changed bool
	// graded says that outcomes are known.
	graded bool
}

// at makes replays of an agent whose treatments are of another time.
func (x *elsewhen) at(random *rand.Rand, d Design) Input {
	in := newAgent(random, .3).replay(random, d.Controls, d.Treatments, x.of)
	if !x.graded {
		in.Recorded.Outcome = nil
	}
	for i := range in.Attempts {
		a := &in.Attempts[i]
		version := "fp_1"
		if a.Role == Treatment {
			cost, duration := *a.CostUSD*x.cost, *a.DurationMS*x.duration
			a.CostUSD, a.DurationMS = &cost, &duration
			if x.apart {
				a.Batch = 1
			}
			if x.changed {
				version = "fp_2"
			}
		}
		if x.told {
			a.Fingerprints = []string{version}
		}
		if !x.graded {
			a.Outcome = nil
		}
	}
	return in
}

// limit is what a rate of 5% can be, by two standard errors.
func limit(trials int) float64 { return .05 + 2*math.Sqrt(.05*.95/float64(trials)) }

// isBenchmark reports whether all rows are wanted. Else there are those that take seconds.
func isBenchmark() bool { return os.Getenv("BENCH_VERDICT_TRIALS") != "" }

// TestTruthOfTimes prints what is claimed of edits without an effect where something else changed between controls and treatments.
func TestTruthOfTimes(t *testing.T) {
	t.Parallel()
	trials := fewer(t, 1)
	none := edit{step: -1}
	table := fmt.Sprintf("%d trials each\n| | replays | effect claimed | of these attributable | drift flag | no effect detected |\n| --- | --- | ---: | ---: | ---: | ---: |\n", trials)
	for _, x := range []elsewhen{
		{name: "nothing changes", of: none, cost: 1, duration: 1, graded: true},
		{name: "nothing changes, no grader", of: none, cost: 1, duration: 1},
		{name: "controls reused; the provider caches by now: cost -40%", of: none, cost: .6, duration: 1, apart: true, told: true, graded: true},
		{name: "controls first; load doubles the durations by then", of: none, cost: 1, duration: 2, apart: true, told: true, graded: true},
		{name: "controls reused; another version, which is told", of: edit{step: allSteps, shift: .3}, cost: 1, duration: 1, apart: true, told: true, changed: true, graded: true},
		{name: "controls reused; another version, which nobody tells", of: edit{step: allSteps, shift: .3}, cost: 1, duration: 1, apart: true, graded: true},
	} {
		for _, d := range []Design{{5, 4}, {10, 10}} {
			if d.Controls > 5 && !isBenchmark() {
				continue
			}
			c := tally{trials: trials, kinds: map[Kind]int{}}
			for i := range trials {
				v := Of(x.at(rand.New(rand.NewPCG(uint64(i), uint64(d.Controls))), d))
				c.kinds[v.Verdict]++
				if v.Drift.Flag {
					c.drifted++
				}
			}
			table += fmt.Sprintf("| %s | %d + %d | %.1f | %.1f | %.1f | %.1f |\n", x.name, d.Controls, d.Treatments, 100*c.share(c.effects()), 100*c.share(c.kinds[EffectAttributable]),
				100*c.share(c.drifted), 100*c.share(c.kinds[NoEffectDetected]))
			assert.LessOrEqual(t, c.share(c.kinds[EffectAttributable]), limit(trials), "%s %+v", x.name, d)
			assert.LessOrEqual(t, c.share(c.drifted), limit(trials), "%s %+v", x.name, d)
			if x.told || !x.apart { // else the verdict says that it is only probable, and why
				assert.LessOrEqual(t, c.share(c.effects()), limit(trials), "%s %+v", x.name, d)
			}
		}
	}
	t.Log("\n" + table)
}

// TestTruthOfLooks prints how often an effect is claimed where there is none, or where there is one, if replays are added until there is an
// effect: as many as the verdict asks for, or twice as many each time.
func TestTruthOfLooks(t *testing.T) {
	t.Parallel()
	trials, rounds := fewer(t, 2), 2
	if isBenchmark() {
		rounds = 3
	}
	table := fmt.Sprintf("%d trials each\n| edit | replays are added |", trials)
	for round := range rounds {
		table += fmt.Sprintf(" %d looks |", round+1)
	}
	table += "\n"
	for _, e := range []struct {
		name string
		edit edit
	}{{"none", edit{step: -1}}, {"one step, all of it", edit{step: 0, shift: 1}}, {"all steps, .5", edit{step: allSteps, shift: .5}}} {
		for _, doubled := range []bool{true, false} {
			if !isBenchmark() && (e.name != "none" || !doubled) {
				continue
			}
			found := make([]int, rounds)
			for i := range trials {
				for round := lookUntilFound(uint64(i), e.edit, doubled, rounds); round < rounds; round++ {
					found[round]++
				}
			}
			table += fmt.Sprintf("| %s | %s |", e.name, map[bool]string{true: "twice as many", false: "as the verdict asks"}[doubled])
			for round := range rounds {
				share := float64(found[round]) / float64(trials)
				table += fmt.Sprintf(" %.1f |", 100*share)
				if e.name == "none" {
					assert.LessOrEqual(t, share, limit(trials), "%v, %d looks", doubled, round+1)
				}
			}
			table += "\n"
		}
	}
	t.Log("\n" + table)
}

// lookUntilFound returns the look at which an effect is claimed, from 0, or rounds.
func lookUntilFound(seed uint64, e edit, doubled bool, rounds int) int {
	const most = 40 // replays of a role
	random := rand.New(rand.NewPCG(seed, 77))
	a := newAgent(random, .3)
	recorded, k, m, looks := a.episode(random, edit{step: -1}), 5, 4, 0
	var controls, treatments []episode
	for round := range rounds {
		for len(controls) < k {
			controls = append(controls, a.episode(random, edit{step: -1}))
		}
		for len(treatments) < m {
			treatments = append(treatments, a.episode(random, e))
		}
		episodes := append([]episode{recorded}, controls...)
		in := replayOf(append(episodes, treatments...), k, seed)
		in.Steps, in.Looks = nil, looks
		v := Of(in)
		if v.Verdict == EffectAttributable || v.Verdict == EffectLikely {
			return round
		}
		looks = v.Looks
		switch more := v.MoreReplaysNeeded; {
		case doubled:
			k, m = min(most, 2*k), min(most, 2*m)
		case more == nil:
			return rounds
		default:
			k, m = min(most, k+more.Controls), min(most, m+more.Treatments)
		}
	}
	return rounds
}

// TestTruthWithoutAGrader prints how often it is said that an edit has no effect where no outcome is known. That a quarter of the runs decides
// otherwise at a step is beyond the bound.
func TestTruthWithoutAGrader(t *testing.T) {
	t.Parallel()
	trials := fewer(t, 16)
	table := fmt.Sprintf("%d trials each, no grader\n| edit | replays | no effect detected | effect claimed |\n| --- | --- | ---: | ---: |\n", trials)
	for _, e := range []struct {
		name string
		edit edit
	}{{"one step, .25", edit{step: 0, shift: .25}}, {"all steps, .25", edit{step: allSteps, shift: .25}}, {"none", edit{step: -1}}} {
		for _, n := range []int{15, 30} {
			if !isBenchmark() && (n > 15 || e.name == "none") {
				continue
			}
			c := tally{trials: trials, kinds: map[Kind]int{}}
			x := elsewhen{of: e.edit, cost: 1, duration: 1}
			for i := range trials {
				c.kinds[Of(x.at(rand.New(rand.NewPCG(uint64(i), 99)), Design{n, n})).Verdict]++
			}
			table += fmt.Sprintf("| %s | %d + %d | %.1f | %.1f |\n", e.name, n, n, 100*c.share(c.kinds[NoEffectDetected]), 100*c.share(c.effects()))
			if e.name != "none" {
				assert.LessOrEqual(t, c.share(c.kinds[NoEffectDetected]), limit(trials), "%s, %d", e.name, n)
			}
		}
	}
	t.Log("\n" + table)
}
