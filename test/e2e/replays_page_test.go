package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// TestReplays replays a recorded agent with another system prompt in the browser: the plan, the verdict with its evidence, and the difference.
// A run without contents is told what is missing.
func TestReplays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	models := provider.Start(t, provider.Options{Answer: orderModel})
	p.create(t, "/v1/providers", map[string]any{"project_id": p.ProjectID, "name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	p.create(t, "/v1/projects/"+p.ProjectID+"/prices", map[string]any{"model": "model-a", "input": 1, "output": 10})
	p.play(t, "replays", map[string]any{"runId": p.sendAgent(t, true), "bare": p.sendAgent(t, false)}, nil)
}

// orderSteps are calls of a tool with their arguments and results; the last is the answer.
var orderSteps = [][3]string{
	{"find_order", `{"email":"ann@example.com"}`, `{"order":"A17","state":"open"}`},
	{"cancel_order", `{"order":"A17"}`, `{"cancelled":true}`},
	{"", "", "Your order A17 is cancelled."},
}

// orderModel goes on as recorded, or asks first or makes another call if the system prompt says so.
func orderModel(q *provider.Request) *provider.Reply {
	results := 0
	for _, m := range q.Messages {
		if m.Role == "system" && strings.Contains(m.Text, "Ask before") {
			return &provider.Reply{Text: "Shall I cancel order A17?"}
		}
		if m.Role == "system" && strings.Contains(m.Text, "Search everywhere") {
			return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "find_order", Arguments: `{"email":"ann@example.com","archived":true}`}}}
		}
		if m.Role == "tool" {
			results++
		}
	}
	step := orderSteps[min(results, len(orderSteps)-1)]
	if step[0] == "" {
		return &provider.Reply{Text: step[2]}
	}
	return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: step[0], Arguments: step[1]}}}
}

// sendAgent sends a run of an agent by OTLP, as a stock instrumentation records it, and returns its id.
func (p *project) sendAgent(t *testing.T, contents bool) string {
	t.Helper()
	type object = map[string]any
	text := func(v any) string {
		encoded, err := json.Marshal(v)
		require.NoError(t, err)
		return string(encoded)
	}
	run, at := uuid.New(), time.Now().Add(-time.Hour)
	var spans []object
	add := func(name string, took time.Duration, attributes object) {
		var list []object
		for key, value := range attributes {
			isContent := strings.HasSuffix(key, "messages") || strings.HasSuffix(key, "instructions") || strings.HasSuffix(key, "arguments") || strings.HasSuffix(key, "result")
			if isContent && !contents {
				continue
			}
			of := object{"stringValue": value}
			if number, ok := value.(int); ok {
				of = object{"intValue": strconv.Itoa(number)}
			}
			list = append(list, object{"key": key, "value": of})
		}
		span := object{
			"traceId": strings.ReplaceAll(run.String(), "-", ""), "spanId": "a0000000000000" + strconv.Itoa(10+len(spans)), "name": name, "kind": 1, "attributes": list,
			"startTimeUnixNano": strconv.FormatInt(at.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(at.Add(took).UnixNano(), 10), "status": object{},
		}
		if len(spans) > 0 {
			span["parentSpanId"] = "a000000000000010"
			at = at.Add(took)
		}
		spans = append(spans, span)
	}
	said := func(role, content string) object {
		return object{"role": role, "parts": []object{{"type": "text", "content": content}}}
	}
	messages := []object{said("user", "Please cancel my order. I am ann@example.com.")}
	tools := make([]object, 2)
	for i, step := range orderSteps[:2] {
		tools[i] = object{"type": "function", "name": step[0], "description": "About orders", "parameters": object{"type": "object"}}
	}
	add("invoke_agent orders", 1900*time.Millisecond, object{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orders", "gen_ai.input.messages": text(messages), "gen_ai.output.messages": text([]object{said("assistant", orderSteps[2][2])}),
	})
	for i, step := range orderSteps {
		answer, call := said("assistant", step[2]), "call_"+strconv.Itoa(i)
		if step[0] != "" {
			answer = object{"role": "assistant", "parts": []object{{"type": "tool_call", "id": call, "name": step[0], "arguments": json.RawMessage(step[1])}}}
		}
		add("chat model-a", 500*time.Millisecond, object{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "model-a", "gen_ai.response.model": "model-a",
			"gen_ai.system_instructions": text([]object{{"type": "text", "content": "You help customers with their orders."}}), "gen_ai.tool.definitions": text(tools),
			"gen_ai.input.messages": text(messages), "gen_ai.output.messages": text([]object{answer}), "gen_ai.usage.input_tokens": 100 + 10*i, "gen_ai.usage.output_tokens": 20,
		})
		messages = append(messages, answer)
		if step[0] == "" {
			continue
		}
		add("execute_tool "+step[0], 200*time.Millisecond, object{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step[0], "gen_ai.tool.call.id": call, "gen_ai.tool.call.arguments": step[1], "gen_ai.tool.call.result": step[2],
		})
		messages = append(messages, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": call, "response": step[2]}}})
	}
	body := text(object{"resourceSpans": []object{{"scopeSpans": []object{{"spans": spans}}}}})
	answer, err := product.Post(t.Context(), p.web()+"/v1/traces", p.ingestKey, product.JSON, []byte(body))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	p.awaitRun(t, run.String(), ofSpans(len(spans)))
	return run.String()
}
