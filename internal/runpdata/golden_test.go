package runpdata

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenRows compares the mapping from OTLP to rows with testdata/rows: NAME.json becomes NAME.golden.json.
func TestGoldenRows(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/rows/*.json")
	require.NoError(t, err)
	for _, input := range inputs {
		name, isInput := strings.CutSuffix(input, ".json")
		if strings.HasSuffix(name, ".golden") || !isInput {
			continue
		}
		text, err := os.ReadFile(input)
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err)
		var rows Rows
		require.NoError(t, rows.Add(td))
		got, err := json.MarshalIndent(map[string]any{
			"spans": rows.Spans, "contents": rows.Contents, "run": runmodel.Totals(rows.Spans),
		}, "", "  ")
		require.NoError(t, err)
		golden := name + ".golden.json"
		if *update {
			require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(got), input)
	}
}
