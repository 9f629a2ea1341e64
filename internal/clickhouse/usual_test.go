package clickhouse

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// traffic draws the seconds that a run takes on a day of normal traffic.
var traffic = map[string]func(random *rand.Rand, day int) float64{
	"log-normal": func(random *rand.Rand, _ int) float64 { return math.Exp(random.NormFloat64()) },
	"narrow":     func(random *rand.Rand, _ int) float64 { return 10 + random.NormFloat64() },
	"bimodal": func(random *rand.Rand, _ int) float64 {
		return math.Exp(.3*random.NormFloat64()) * []float64{1, 30}[random.IntN(4)/3]
	},
	"heavy tail": func(random *rand.Rand, _ int) float64 { return math.Pow(1-random.Float64(), -1/1.1) },
	"weekdays": func(random *rand.Rand, day int) float64 {
		return math.Exp(.8*random.NormFloat64()) * (1 + 2*float64(day%7))
	},
	"a hundredth are often": func(random *rand.Rand, _ int) float64 {
		return math.Exp(.5*random.NormFloat64()) * []float64{1, 100}[random.IntN(100)/99]
	},
}

// Generated traffic: agents with each runs a day, of which those of the last days are judged by the 28 days before.
const days, each, judgedDays = 35, 15, 7

// usualByRule counts the runs of an agent that are beyond the limit: the kth largest of n before, and twice the median.
func usualByRule(values *[days][]float64) (beyond int) {
	for day := days - judgedDays; day < days; day++ {
		before := slices.Sorted(slices.Values(slices.Concat(values[day-28 : day]...)))
		for _, value := range values[day] {
			if value > before[len(before)-(len(before)+1)/200] && value > 2*before[(len(before)-1)/2] {
				beyond++
			}
		}
	}
	return beyond
}

// TestUsualFalseAlarms counts the runs of normal traffic that the rule calls slow: at most one in 200. docs/measurements/failed-runs.md has
// what it logs.
func TestUsualFalseAlarms(t *testing.T) {
	t.Parallel()
	const agents = 800
	for _, name := range slices.Sorted(maps.Keys(traffic)) {
		beyond := 0
		for agent := range uint64(agents) {
			random := rand.New(rand.NewPCG(agent, 2))
			var values [days][]float64
			for day := range values {
				for range each {
					values[day] = append(values[day], traffic[name](random, day))
				}
			}
			beyond += usualByRule(&values)
		}
		rate := float64(beyond) / (agents * each * judgedDays)
		t.Logf("%-21s %.2f%% of %d runs", name, 100*rate, agents*each*judgedDays)
		const deviation = .0002 // of the rate: the runs of an agent share their history
		assert.LessOrEqual(t, rate, .005+3*deviation, name)
	}
}

// TestUsualOfTraffic compares the runs that are called slow, expensive or of many tokens with the rule. It also holds that a run that takes
// far longer than others is found.
func TestUsualOfTraffic(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const agents = 5
	first := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	for name, draw := range traffic {
		random := rand.New(rand.NewPCG(1, 2))
		project := uuid.New()
		run := func(agent, day int, value float64) runmodel.Run {
			start := first.AddDate(0, 0, day).Add(time.Duration(random.Int64N(int64(24 * time.Hour))))
			tokens, took := int64(1e6*value), time.Duration(value*float64(time.Second))
			return runmodel.Run{
				ProjectID: project, RunID: uuid.New(), Version: 1, StartTime: start, EndTime: start.Add(took), FirstReceived: start, RootSpanID: 1, Name: "run", Kind: "agent",
				Status: runmodel.StatusOK, AgentName: fmt.Sprint("agent ", agent), CostUSD: &value, InputTokens: &tokens, GenAI: true, Source: runmodel.SourceUser,
				RunSignals: runmodel.RunSignals{SignalsVersion: runmodel.SignalsVersion},
			}
		}
		var history, judged, wrong []runmodel.Run
		want := 0
		for agent := range agents {
			var values [days][]float64
			for day := range values {
				for range each {
					value := draw(random, day)
					values[day] = append(values[day], value)
					history = append(history, run(agent, day, value))
					if day >= days-judgedDays {
						judged = append(judged, history[len(history)-1])
					}
				}
			}
			want += usualByRule(&values)
			wrong = append(wrong, run(agent, days-1, 1e5))
		}
		require.NoError(t, writer.InsertRuns(t.Context(), history))
		writer.usual.compare(t.Context(), conn, judged)
		counts := map[string]int{}
		for i := range judged {
			require.Empty(t, judged[i].SignalsUnknown)
			for _, signal := range judged[i].Signals {
				counts[signal]++
			}
		}
		for _, signal := range []string{runmodel.SignalSlow, runmodel.SignalExpensive, runmodel.SignalManyTokens} {
			assert.Equal(t, want, counts[signal], "%s of %s", signal, name)
		}
		writer.usual.compare(t.Context(), conn, wrong)
		for i := range wrong {
			assert.Len(t, wrong[i].Signals, 3, name)
		}
	}
}

func TestUsualIsUnknownAtFirst(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	start := time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)
	runs := []runmodel.Run{{
		ProjectID: uuid.New(), RunID: uuid.New(), StartTime: start, EndTime: start.Add(time.Second), Status: runmodel.StatusOK, GenAI: true, Source: runmodel.SourceUser,
		RunSignals: runmodel.RunSignals{SignalsVersion: runmodel.SignalsVersion},
	}}
	writer.usual.compare(t.Context(), conn, runs)
	assert.Equal(t, []string{runmodel.SignalSlow, runmodel.SignalExpensive, runmodel.SignalManyTokens}, runs[0].SignalsUnknown)
	assert.Empty(t, runs[0].Signals)
}
