package conformance

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestFromUse reads small payloads, written after what clients sent in use, that were once understood wrongly.
func TestFromUse(t *testing.T) {
	t.Parallel()
	for file, check := range map[string]func(*testing.T, *run){
		"http-below-invoke-agent-f-incorrect-api-.json": failsAt("llm", "AuthenticationError", "Incorrect API key provided"),
		"http-below-invoke-agent-f-invalid-value.json":  failsAt("llm", "BadRequestError", "Invalid value: temperature"),
		"http-below-invoke-agent-f-rate-limit-rea.json": failsAt("llm", "RateLimitError", "Rate limit reached"),
		"http-below-invoke-agent-f-this-model-s-m.json": failsAt("llm", "BadRequestError", "This model's maximum context length is exceeded"),
		"1-haystack.agent.run.json":                     all(isOf("agent"), counts(7, 3, 1), countsTools(1), says("Hi", "Hello")),
		"2-ag2-invoke-agent.json":                       counts(100, 10, 1),
		"3-twice-the-same-gen-ai.response.id.json":      counts(100, 10, 1),
		"4-langsmith-with-structured-output.json":       counts(100, 10, 1),
		"5-openlit-anthropic-cache.json":                counts(158, 45, 1),
		"6-pydantic-all-messages.json":                  says("Question", "Answer"),
		"11-get-weather.-call-.json":                    calls("get_weather"),
		"12-root-tool.json":                             all(says(`{"city": "Paris"}`, "Rain"), calls("w")),
		"13-langgraph.json":                             all(says("Q", "the answer"), by("ada", "w")),
		"turn1-chat.json":                               says("Hi, first question", "first answer"),
		"turn2-chat.json":                               says("And the second?", "second answer"),
		"turn2-http.json":                               all(says("And the second?", "second answer"), isOf("llm")),
		"invoke-agent-lf-tags.json":                     all(isOf("agent"), counts(10, 3, 1), tagged("x")),
		"invoke-agent-lf-trace-tags.json":               all(isOf("agent"), counts(10, 3, 1), tagged("x")),
		"invoke-agent-plain.json":                       all(isOf("agent"), counts(10, 3, 1)),
		"openai-agents-trace-name.json":                 all(named("OpenAI Agents trace: wf"), says("Q", "A"), failsAt("tool", "", "Error running tool (non-fatal)")),
		"9-one-mcp-call.json":                           countsTools(1),
		"8-retry-in-the-next-cycle.json":                recovers,
		"10-interrupt.json":                             succeeds,
		"14-langchain-error.json":                       failsAt("workflow", "ValueError", "no such city"),
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			received, _ := receive(t, readPayload(t, filepath.Join("testdata", "from-use", file), ""))
			require.Len(t, received, 1)
			for _, r := range received {
				check(t, r)
			}
		})
	}
}

func failsAt(kind, errorType, template string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, kind, r.totals.FailingKind)
		assert.Equal(t, errorType, r.totals.FailingType)
		assert.Equal(t, template, r.totals.FailingTemplate)
	}
}

func counts(input, output int64, calls uint64) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		require.NotNil(t, r.totals.InputTokens)
		require.NotNil(t, r.totals.OutputTokens)
		assert.Equal(t, input, *r.totals.InputTokens, "input")
		assert.Equal(t, output, *r.totals.OutputTokens, "output")
		assert.Equal(t, calls, r.totals.LLMCallCount, "calls")
	}
}

func all(checks ...func(*testing.T, *run)) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		for _, check := range checks {
			check(t, r)
		}
	}
}

func says(input, output string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, input, r.totals.InputPreview, "input")
		assert.Equal(t, output, r.totals.OutputPreview, "output")
	}
}

func calls(tool string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, []string{tool}, r.totals.Tools)
	}
}

func by(user, agent string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, user, r.totals.UserID)
		assert.Equal(t, agent, r.totals.AgentName)
	}
}

func isOf(kind string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, kind, r.totals.Kind)
	}
}

func tagged(tag string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, []string{tag}, r.totals.Tags)
	}
}

func named(name string) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, name, r.totals.Name)
	}
}

func countsTools(n uint64) func(*testing.T, *run) {
	return func(t *testing.T, r *run) {
		t.Helper()
		assert.Equal(t, n, r.totals.ToolCallCount)
	}
}

func recovers(t *testing.T, r *run) {
	t.Helper()
	assert.Equal(t, runmodel.StatusOK, r.totals.Status)
	assert.Positive(t, r.totals.ErrorCount)
	assert.Empty(t, r.totals.Class)
}

func succeeds(t *testing.T, r *run) {
	t.Helper()
	assert.Equal(t, runmodel.StatusOK, r.totals.Status)
	assert.Zero(t, r.totals.ErrorCount)
	assert.Empty(t, r.totals.Class)
}
