// Package agent is an agent that looks up one number after the other: its run as a stock SDK records it, and the model that it calls.
package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/provider"
)

// Model is the model that the agent calls.
const Model = "gpt-4o-mini"

const (
	prompt = "You look up numbers."
	task   = "Look up all numbers, one after the other."
	tool   = "look_up"
	answer = "These are all."
)

type object = map[string]any

// Run returns the id of a run, and the run as OTLP/JSON. The agent calls its model a number of times, and a tool in between: 2·calls spans
// with the root.
func Run(calls int) (id uuid.UUID, body []byte, err error) {
	id = uuid.New()
	r := recorder{trace: pcommon.TraceID(id), at: time.Now().Add(-time.Hour), traces: ptrace.NewTraces()}
	r.spans = r.traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	messages := []object{{"role": "user", "parts": []object{{"type": "text", "content": task}}}}
	last := object{"role": "assistant", "parts": []object{{"type": "text", "content": answer}}, "finish_reason": "stop"}
	root := r.add("invoke_agent numbers", 0, object{
		runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: "numbers",
		runmodel.KeyInputMessages: text(messages), runmodel.KeyOutputMessages: text([]object{last}),
	})
	tools := text([]object{{
		"type": "function", "name": tool, "description": "Look up a number",
		"parameters": object{"type": "object", "properties": object{"n": object{"type": "integer"}}},
	}})
	for i := range calls {
		call, arguments, result := fmt.Sprintf("call_%d", i), argumentsOf(i), fmt.Sprintf(`{"number":%d}`, i*i)
		says := last
		if i < calls-1 {
			says = object{
				"role": "assistant", "parts": []object{{"type": "tool_call", "id": call, "name": tool, "arguments": json.RawMessage(arguments)}}, "finish_reason": "tool_call",
			}
		}
		r.add("chat "+Model, 100*time.Millisecond, object{
			runmodel.KeyOperationName: "chat", runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: Model, runmodel.KeyResponseModel: Model,
			runmodel.KeySystemInstructions: text([]object{{"type": "text", "content": prompt}}), runmodel.KeyToolDefinitions: tools,
			runmodel.KeyInputMessages: text(messages), runmodel.KeyOutputMessages: text([]object{says}), runmodel.KeyInputTokens: 100 + 10*i, runmodel.KeyOutputTokens: 20,
		})
		if i == calls-1 {
			break
		}
		r.add("execute_tool "+tool, 10*time.Millisecond, object{
			runmodel.KeyOperationName: "execute_tool", runmodel.KeyToolName: tool, runmodel.KeyToolCallID: call, runmodel.KeyToolCallArguments: arguments,
			runmodel.KeyToolCallResult: result,
		})
		messages = append(messages, says, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": call, "response": result}}})
	}
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(r.at))
	if r.err != nil {
		return id, nil, fmt.Errorf("record a run: %w", r.err)
	}
	if body, err = (&ptrace.JSONMarshaler{}).MarshalTraces(r.traces); err != nil {
		return id, nil, fmt.Errorf("encode a run: %w", err)
	}
	return id, body, nil
}

// Answer answers as the model of an agent that calls it a number of times, after a wait.
func Answer(calls int, wait time.Duration) func(*provider.Request) *provider.Reply {
	return func(q *provider.Request) *provider.Reply {
		results := 0
		for _, message := range q.Messages {
			if message.Role == "tool" {
				results++
			}
		}
		if results >= calls-1 {
			return &provider.Reply{Text: answer, FirstToken: wait}
		}
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: tool, Arguments: argumentsOf(results)}}, FirstToken: wait}
	}
}

func argumentsOf(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }

// recorder adds spans one after the other below the first.
type recorder struct {
	trace  pcommon.TraceID
	at     time.Time
	traces ptrace.Traces
	spans  ptrace.SpanSlice
	err    error
}

func (r *recorder) add(name string, took time.Duration, attributes object) ptrace.Span {
	span := r.spans.AppendEmpty()
	span.SetTraceID(r.trace)
	span.SetSpanID(pcommon.SpanID{0xa0, 7: byte(r.spans.Len())})
	if r.spans.Len() > 1 {
		span.SetParentSpanID(pcommon.SpanID{0xa0, 7: 1})
	}
	span.SetName(name)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(r.at))
	r.at = r.at.Add(took + time.Millisecond)
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(r.at))
	if err := span.Attributes().FromRaw(attributes); err != nil {
		r.err = err
	}
	return span
}

// text encodes what always encodes.
func text(value any) string {
	encoded, _ := json.Marshal(value)
	return string(encoded)
}
