package conformance

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestSignalsOfRealRuns counts the signals of recorded runs with a reward: of those that solved their task, few may have one.
// docs/measurements/failed-runs.md has what it logs.
func TestSignalsOfRealRuns(t *testing.T) {
	t.Parallel()
	folder := realData()
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	const mostFalse = .03 // of the good runs, for each signal
	for _, name := range []string{"tau-bench-airline", "agentrx-tau-retail"} {
		var g golden
		readJSON(t, filepath.Join(folder, name, "expected.json"), &g)
		received := map[string]*receivedFile{}
		good, bad := map[string]int{}, map[string]int{}
		for _, trace := range g.Traces {
			if received[trace.OTLPFile] == nil {
				received[trace.OTLPFile] = receiveFile(t, filepath.Join(folder, name), trace.OTLPFile)
			}
			recorded := received[trace.OTLPFile].runs[traceUUID(t, trace.TraceIDs[0])]
			require.NotNil(t, recorded)
			run := recorded.totals
			counts := bad
			if trace.Expect["reward"] == 1. {
				counts = good
			}
			counts["runs"]++
			for i, signal := range run.Signals {
				counts[signal]++
				t.Log(name, trace.TraceIDs[0], trace.Expect["reward"], signal, run.SignalNames[i], runmodel.FormatSpanID(run.SignalSpanIDs[i]))
			}
			for _, signal := range run.SignalsUnknown {
				counts[signal+" unknown"]++
			}
		}
		t.Log(name, "solved", good, "not solved", bad)
		for _, signal := range runmodel.AllSignals {
			assert.LessOrEqual(t, float64(good[signal]), mostFalse*float64(good["runs"]), "%s in %s", signal, name)
		}
	}
}
