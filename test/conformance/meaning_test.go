package conformance

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestMeaning reads requests whose meaning was once derived wrongly: money, messages and failures. Each was written after a report of a
// user of some product. expected.json has what is right for each span, in the shape of the API, by span id.
func TestMeaning(t *testing.T) {
	t.Parallel()
	var expected map[string][]map[string]any
	readJSON(t, filepath.Join("testdata", "meaning", "expected.json"), &expected)
	for _, file := range slices.Sorted(maps.Keys(expected)) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			received, read := receive(t, readPayload(t, filepath.Join("testdata", "meaning", file), ""))
			require.Len(t, received, 1)
			spans := allSpans(received, read)
			slices.SortFunc(spans, func(a, b recordedSpan) int { return int(int64(a.SpanID) - int64(b.SpanID)) })
			require.Len(t, spans, len(expected[file]))
			for i, want := range expected[file] {
				got := spans[i].api(t)
				for field, value := range want {
					switch field {
					case "input", "output":
						for _, message := range value.([]any) {
							assert.True(t, hasPart(got[field+"_messages"], message.(map[string]any)), "no %s message with %v, but %v", field, message, got[field+"_messages"])
						}
					case "mentions":
						for field, text := range value.(map[string]any) {
							assert.Contains(t, plainJSON(t, got[field]), text, field)
						}
					default:
						assert.True(t, within(got[field], value), "%s is %v, not %v", field, got[field], value)
					}
				}
			}
		})
	}
}

// api returns the members of the API's span that tests name.
func (s recordedSpan) api(t *testing.T) map[string]any {
	t.Helper()
	input, output := s.InputTokens, s.OutputTokens
	usage := map[string]any{
		"input_tokens": number(input), "output_tokens": number(output), "cache_read_input_tokens": number(s.CacheReadTokens),
		"cache_write_input_tokens": number(s.CacheWriteTokens), "reasoning_output_tokens": number(s.ReasoningTokens), "other_tokens": number(s.OtherTokens),
		"total_tokens": number(s.TotalTokens()),
	}
	members := map[string]any{
		"usage": usage, "finish_reasons": anyList(s.FinishReasons), "input_messages": s.contents.messages(s.InputMessageIDs),
		"output_messages": s.contents.messages(s.OutputMessageIDs), "system_instructions": s.contents.value(s.InstructionsID),
		"inputs": s.Inputs, "outputs": s.Outputs, "status": s.EffectiveStatus(), "cost_usd": nil,
	}
	if s.CostUSD != nil {
		members["cost_usd"] = *s.CostUSD
	}
	members["duration_ms"] = float64(s.EndTime.Sub(s.StartTime).Milliseconds())
	return members
}

func number(n *int64) any {
	if n == nil {
		return nil
	}
	return float64(*n)
}

func anyList(list []string) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

func plainJSON(t *testing.T, value any) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return strings.ReplaceAll(b.String(), `\"`, `"`)
}

// hasPart reports whether a message of the role has a part with all members of the wanted one.
func hasPart(messages any, want map[string]any) bool {
	list, _ := messages.([]any)
	return slices.ContainsFunc(list, func(m any) bool {
		message := m.(map[string]any)
		parts, _ := message["parts"].([]any)
		return message["role"] == want["role"] && slices.ContainsFunc(parts, func(part any) bool { return within(part, want["part"]) })
	})
}

// within reports whether a value has everything that want has.
func within(value, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		for key, inner := range want {
			ok = ok && within(object[key], inner)
		}
		return ok
	case []any:
		list, ok := value.([]any)
		return ok && slices.EqualFunc(list, want, within)
	case float64:
		f, ok := value.(float64)
		return ok && math.Abs(f-want) < 1e-9
	}
	return value == want
}

// session is what expected.json says of the runs of one client's session.
type session struct {
	Runs        int               `json:"runs"`
	Usage       map[string]int64  `json:"usage"`
	CostUSD     *float64          `json:"cost_usd"`
	CostKnown   bool              `json:"cost_known"`
	SessionID   string            `json:"session_id"`
	Status      string            `json:"status"`
	Mentions    map[string]string `json:"mentions"`
	NotMentions map[string]string `json:"not_mentions"`
	// Calls are the model calls that count, and LLMCalls those that the runs count.
	Calls       int                 `json:"calls"`
	LLMCalls    uint64              `json:"llm_calls"`
	ToolInputs  map[string]string   `json:"tool_inputs"`
	ToolStatus  map[string][]string `json:"tool_status"`
	RunAgentNot string              `json:"run_agent_not"`
	OnlyOwnTool bool                `json:"only_own_tool"`
	Kept        []string            `json:"kept"`
}

// TestSessions reads sessions as the newest clients send them: spans and log records, a request a line. Of runs only those with a model or
// tool call are shown. expected.json has what the client says, added up once.
func TestSessions(t *testing.T) {
	t.Parallel()
	var expected map[string]session
	readJSON(t, filepath.Join("testdata", "sessions", "expected.json"), &expected)
	for _, file := range slices.Sorted(maps.Keys(expected)) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			requests := readLines(t, filepath.Join("testdata", "sessions", file))
			expected[file].check(t, requests)
			slices.Reverse(requests) // the order of arrival does not matter
			expected[file].check(t, requests)
		})
	}
}

// readLines reads a file with an export request a line.
func readLines(t *testing.T, file string) (requests []payload) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		p := payload{traces: ptrace.NewTraces(), logs: plog.NewLogs()}
		if strings.HasPrefix(line, `{"resourceLogs"`) {
			p.logs, err = (&plog.JSONUnmarshaler{}).UnmarshalLogs([]byte(line))
		} else {
			p.traces, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(line))
		}
		require.NoError(t, err, file)
		requests = append(requests, p)
	}
	return requests
}

func (want session) check(t *testing.T, requests []payload) {
	t.Helper()
	received, read := receive(t, requests...)
	maps.DeleteFunc(received, func(_ uuid.UUID, r *run) bool { return !r.totals.GenAI })
	spans := allSpans(received, read)
	if want.Runs > 0 {
		assert.Len(t, received, want.Runs)
	}
	totals := map[string]int64{}
	cost, calls := 0.0, uint64(0)
	known := false
	for _, r := range received {
		for name, n := range map[string]*int64{
			"input_tokens": r.totals.InputTokens, "output_tokens": r.totals.OutputTokens,
			"cache_read_input_tokens": r.totals.CacheReadTokens, "cache_write_input_tokens": r.totals.CacheWriteTokens,
			"reasoning_output_tokens": r.totals.ReasoningTokens,
		} {
			if n != nil {
				totals[name] += *n
			}
		}
		if r.totals.CostUSD != nil {
			cost, known = cost+*r.totals.CostUSD, true
		}
		calls += r.totals.LLMCallCount
		if want.SessionID != "" {
			assert.Contains(t, []string{r.totals.SessionID, r.totals.ConversationID}, want.SessionID)
		}
		if want.Status != "" {
			assert.Equal(t, want.Status, r.totals.Status, "%s %s", r.totals.ErrorType, r.totals.ErrorMessage)
		}
		if want.RunAgentNot != "" {
			assert.NotEqual(t, want.RunAgentNot, r.totals.AgentName)
		}
		text := map[string]string{"inputs": r.totals.InputPreview, "outputs": r.totals.OutputPreview}
		for field, part := range want.Mentions {
			assert.Contains(t, text[field], part, field)
		}
		for field, part := range want.NotMentions {
			assert.NotContains(t, text[field], part, field)
		}
	}
	for name, n := range want.Usage {
		assert.Equal(t, n, totals[name], name)
	}
	if want.CostUSD != nil {
		assert.InDelta(t, *want.CostUSD, cost, 1e-9)
	}
	assert.True(t, known || !want.CostKnown, "the cost is unknown")
	if want.LLMCalls > 0 {
		assert.Equal(t, want.LLMCalls, calls)
	}
	counted := 0
	tools := map[string][]recordedSpan{}
	for _, s := range spans {
		if s.EffectiveKind() == runmodel.KindLLM && s.InputTokens != nil && s.counted {
			counted++
		}
		if s.EffectiveKind() == runmodel.KindTool {
			tools[s.ToolName] = append(tools[s.ToolName], s)
		} else if want.OnlyOwnTool {
			assert.Empty(t, s.ToolName, "%s %s", s.EffectiveKind(), s.Name)
		}
	}
	if want.Calls > 0 {
		assert.Equal(t, want.Calls, counted)
	}
	for tool, text := range want.ToolInputs {
		if assert.Len(t, tools[tool], 1, tool) {
			assert.Contains(t, tools[tool][0].Inputs+tools[tool][0].ToolArguments, text)
		}
	}
	for tool, statuses := range want.ToolStatus {
		if assert.Len(t, tools[tool], 1, tool) {
			assert.Contains(t, statuses, tools[tool][0].EffectiveStatus())
		}
	}
	all := make([]any, len(spans))
	for i, s := range spans {
		all[i] = []any{s.Span, s.contents.messages(s.InputMessageIDs), s.contents.messages(s.OutputMessageIDs)}
	}
	for _, text := range want.Kept {
		assert.Contains(t, plainJSON(t, all), text)
	}
}
