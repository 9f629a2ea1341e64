package clickhouse

import (
	"fmt"
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

// TestUsualFalseAlarms counts the runs of normal traffic that are called slow, expensive or of many tokens: at most one in 200 each. It also
// holds that a run that takes 50 times the median is found where such runs do not occur. docs/measurements/failed-runs.md has what it logs.
func TestUsualFalseAlarms(t *testing.T) {
	t.Parallel()
	conn, writer := migrated(t)
	const agents, days, each, tested = 40, 35, 15, 7
	first := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC) // a Monday
	for name, draw := range traffic {
		random := rand.New(rand.NewPCG(1, 2))
		project := uuid.New()
		run := func(agent, day int, value float64) runmodel.Run {
			start := first.AddDate(0, 0, day).Add(time.Duration(random.Int64N(int64(24 * time.Hour))))
			tokens, took := int64(1000*value), time.Duration(value*float64(time.Second))
			return runmodel.Run{
				ProjectID: project, RunID: uuid.New(), Version: 1, StartTime: start, EndTime: start.Add(took), FirstReceived: start, RootSpanID: 1, Name: "run", Kind: "agent",
				Status: runmodel.StatusOK, AgentName: fmt.Sprint("agent ", agent), CostUSD: &value, InputTokens: &tokens, GenAI: true, Source: runmodel.SourceUser,
				RunSignals: runmodel.RunSignals{SignalsVersion: runmodel.SignalsVersion},
			}
		}
		var history, judged, wrong []runmodel.Run
		want := 0 // by the rule
		for agent := range agents {
			var values [days][]float64
			for day := range days {
				for range each {
					value := draw(random, day)
					one := run(agent, day, value)
					values[day] = append(values[day], value)
					history = append(history, one)
					if day >= days-tested {
						judged = append(judged, one)
					}
				}
			}
			for day := days - tested; day < days; day++ {
				before := slices.Sorted(slices.Values(slices.Concat(values[day-28 : day]...)))
				for _, value := range values[day] {
					if value > before[len(before)-(len(before)+1)/200] && value > 2*before[(len(before)-1)/2] {
						want++
					}
				}
			}
			wrong = append(wrong, run(agent, days-1, 500))
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
		writer.usual.compare(t.Context(), conn, wrong)
		found := 0
		for i := range wrong {
			if len(wrong[i].Signals) > 0 {
				found++
			}
		}
		n := float64(len(judged))
		t.Logf("%-22s of %d runs slow %.2f%%, expensive %.2f%%, of many tokens %.2f%%; 500 s found in %d of %d", name, len(judged), 100*float64(counts[runmodel.SignalSlow])/n,
			100*float64(counts[runmodel.SignalExpensive])/n, 100*float64(counts[runmodel.SignalManyTokens])/n, found, len(wrong))
		assert.Equal(t, want, counts[runmodel.SignalExpensive], name)
		for signal, count := range counts {
			assert.LessOrEqual(t, float64(count)/n, .005+2*math.Sqrt(.005*.995/n), "%s of %s", signal, name)
		}
		if name == "log-normal" || name == "narrow" || name == "weekdays" {
			assert.Len(t, wrong, found)
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
