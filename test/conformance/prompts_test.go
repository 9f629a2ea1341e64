package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestSystemTexts checks that a run is recognized by the literal system prompt that its program sent, however the
// instrumentation wrote it down.
func TestSystemTexts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"otel-genai-openai-1.3b0", "otel-genai-anthropic-1.3b0", "otel-google-genai-1.3b0", "openinference-openai-0.1.66", "openinference-anthropic-3.1.0",
		"openllmetry-openai-0.62.4", "openllmetry-openai-0.40.14", "openllmetry-anthropic-0.62.4", "langfuse-5.0.4", "vercel-ai-6.0.326", "vercel-ai-7.0.173",
		"pydantic-ai-2.68.0-format-6", "logfire-5.2.0", "mlflow-3.17.2", "langsmith-0.14.17", "litellm-1.106.2", "strands-1.62.0", "semantic-kernel-1.45.0",
		"openllmetry-openai-responses-0.62.4", "openinference-openai-responses-0.1.66",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata", name)
			var spoken struct {
				Calls []struct{ System []string }
			}
			text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &spoken))
			require.NotEmpty(t, spoken.Calls)
			runs, _ := receive(t, readPayload(t, filepath.Join(dir, "traces.json"), filepath.Join(dir, "logs.json")))
			var ids []uint64
			for _, r := range runs {
				ids = append(ids, r.totals.SystemTextIDs...)
			}
			found := 0
			for _, call := range spoken.Calls {
				for _, system := range call.System {
					found++
					assert.True(t, slices.Contains(ids, runmodel.SystemTextID(system)), "%q among %d", system, ids)
				}
			}
			assert.NotZero(t, found, "no call has a system prompt")
			assert.NotContains(t, ids, runmodel.SystemTextID("Another prompt."))
		})
	}
}

// TestPromptOfRun checks that a run knows the prompt that its model call or the function around it names.
func TestPromptOfRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"otel-genai-prompt-1.3b0", "openinference-prompt-0.1.72", "langfuse-prompt-5.0.4", "traceloop-sdk-prompt-0.62.4"} {
		runs, _ := receive(t, readPayload(t, filepath.Join("testdata", name, "traces.json"), ""))
		require.Len(t, runs, 1, name)
		for _, r := range runs {
			at := slices.Index(r.totals.PromptNames, "weather/clerk")
			require.GreaterOrEqual(t, at, 0, "%s: %+v", name, r.totals)
			assert.Equal(t, "3", r.totals.PromptVersions[at], name)
		}
	}
}
