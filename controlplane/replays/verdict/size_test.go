package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// designs are those of the size test and of the benchmark; the first is the default.
var designs = []Design{{5, 4}, {4, 4}, {6, 6}}

// tally counts verdicts of one kind of trials.
type tally struct {
	trials int
	kinds  map[Kind]int
	// naive counts trials in which any treatment decided otherwise than the recording.
	naive int
	// alike counts controls with the tool calls of the recording.
	alike int
	// named counts effects with a first step, and right those in which it is the edited one.
	named, right int
	// drifted counts flags of drift.
	drifted int
}

func (c *tally) effects() int {
	return c.kinds[DeterministicEffect] + c.kinds[EffectAttributable] + c.kinds[EffectLikely]
}

func (c *tally) share(n int) float64 { return float64(n) / float64(c.trials) }

// measure judges made replays of agents of a temperature.
func measure(d Design, temperature float64, e edit, trials int) *tally {
	c := &tally{trials: trials, kinds: map[Kind]int{}}
	for i := range trials {
		random := rand.New(rand.NewPCG(uint64(i), math.Float64bits(temperature+7*e.shift+77*e.outcome)))
		in := newAgent(random, temperature).replay(random, d.Controls, d.Treatments, e)
		v := Of(in)
		c.kinds[v.Verdict]++
		for _, a := range in.Attempts {
			if a.Role == Treatment && a.Decisions != in.Recorded.Decisions {
				c.naive++
				break
			}
		}
		for i, a := range in.Attempts {
			if a.Role == Control && in.Structure[0][i+1] == 0 {
				c.alike++
			}
		}
		if v.Drift.Flag {
			c.drifted++
		}
		if s := v.FirstAttributableStep; s != nil {
			c.named++
			if s.Position == e.step || e.step == allSteps && s.Position == 0 {
				c.right++
			}
		}
	}
	return c
}

// trialsOf is the number of trials of each row: 400, or BENCH_VERDICT_TRIALS.
func trialsOf(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BENCH_VERDICT_TRIALS")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestSize: without an effect the chance of claiming one is at most the level, whatever the design and the noise. The naive rule, that any
// difference is an effect, is wrong almost always.
func TestSize(t *testing.T) {
	t.Parallel()
	trials := trialsOf(t)
	for _, d := range designs {
		for _, temperature := range []float64{.1, .3, 1} {
			t.Run(fmt.Sprintf("%d+%d/%v", d.Controls, d.Treatments, temperature), func(t *testing.T) {
				t.Parallel()
				c := measure(d, temperature, edit{step: 2}, trials)
				t.Logf("%.3f of %d trials, naively %.3f, drift %.3f; %v", c.share(c.effects()), trials, c.share(c.naive), c.share(c.drifted), c.kinds)
				assert.LessOrEqual(t, c.share(c.effects()), .05+2*math.Sqrt(.05*.95/float64(trials)))
				assert.LessOrEqual(t, c.share(c.drifted), .05+2*math.Sqrt(.05*.95/float64(trials)))
			})
		}
	}
}
