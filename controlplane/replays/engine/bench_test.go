package engine

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// largeRun is a run of some agents, each of which calls a model a number of times, and a tool after each call but the last. Each request has
// all messages of the agent before it, as a store gives them: equal texts share their memory, lists do not.
func largeRun(tb testing.TB, agents, calls int) []recorded.Span {
	tb.Helper()
	var spans []recorded.Span
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(kind, name string, parent uint64) *recorded.Span {
		spans = append(spans, recorded.Span{Span: runmodel.Span{
			SpanID: uint64(len(spans) + 1), ParentSpanID: parent, Kind: kind, Name: name, StartTime: at, EndTime: at.Add(50 * time.Millisecond), Status: "ok",
		}})
		at = at.Add(60 * time.Millisecond)
		return &spans[len(spans)-1]
	}
	part := func(role, text string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, text))
	}
	add("workflow", "root", 0)
	for agent := range agents {
		frame := add("agent", fmt.Sprintf("agent_%d", agent), 1)
		frame.AgentName = frame.Name
		parent := frame.SpanID
		begin := len(spans) - 1
		messages := []json.RawMessage{part("user", fmt.Sprintf(`{"type":"text","content":"Look up all numbers of part %d, one after the other, and say what they have in common."}`, agent))}
		for n := range calls {
			id, arguments := fmt.Sprintf("call_%d_%d", agent, n), fmt.Sprintf(`{"n":%d,"of":"part %d"}`, n, agent)
			result := fmt.Sprintf(`{"number":%d,"found":"in the %dth row of the %dth table, which has more columns than one can list here"}`, n*n, n, agent)
			answer := part("assistant", fmt.Sprintf(`{"type":"text","content":"Now the number %d of part %d."},{"type":"tool_call","id":%q,"name":"look_up","arguments":%s}`, n, agent, id, arguments))
			if n == calls-1 {
				answer = part("assistant", fmt.Sprintf(`{"type":"text","content":"All numbers of part %d are squares."}`, agent))
			}
			call := add("llm", "chat m", parent)
			call.Operation, call.Provider, call.RequestModel = "chat", "openai", "m"
			call.InputTokens, call.OutputTokens = new(int64(100)), new(int64(10))
			call.SystemInstructions = recordedtest.Raws(`{"type":"text","content":"You look up numbers."}`)
			call.ToolDefinitions = recordedtest.Raws(`{"type":"function","name":"look_up","parameters":{"type":"object"}}`)
			call.InputMessages, call.OutputMessages = append([]json.RawMessage{}, messages...), []json.RawMessage{answer}
			if n == calls-1 {
				break
			}
			tool := add("tool", "look_up", parent)
			tool.ToolName, tool.ToolCallID, tool.ToolArguments, tool.ToolResult = "look_up", id, arguments, result
			messages = append(messages, answer, part("tool", fmt.Sprintf(`{"type":"tool_call_response","id":%q,"response":%q}`, id, result)))
		}
		spans[begin].EndTime = at
	}
	spans[0].EndTime = at
	return spans
}

// BenchmarkLarge reads, plans and replays runs of about 10,000 spans: of many agents, and of one whose requests grow to 6,000 messages. It
// reports the memory that is held at the end as well.
func BenchmarkLarge(b *testing.B) {
	for _, size := range []struct{ agents, calls int }{{100, 50}, {1, 3000}} {
		spans := largeRun(b, size.agents, size.calls)
		name := fmt.Sprintf("%d_agents_%d_calls", size.agents, size.calls)
		var r *recorded.Recording
		held := func(b *testing.B) {
			b.Helper()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-held")
		}
		b.Run("read/"+name, func(b *testing.B) {
			for range b.N {
				r = recorded.Read(spans)
			}
			held(b)
		})
		if r == nil {
			r = recorded.Read(spans)
		}
		require.Equal(b, recorded.LevelFull, r.Replayability.Level)
		last := 0
		for i := range r.Steps {
			if r.Steps[i].Kind == recorded.KindModel && i < len(r.Steps)-20 {
				last = i
			}
		}
		for _, edit := range []struct{ name, edits string }{
			{"everything", `[{"target":"all","set":{"system_prompt":"Be brief."}}]`},
			{"late", fmt.Sprintf(`[{"target":{"span_id":%q},"set":{"model":"other"}}]`, r.Steps[last].SpanID)},
			{"timeout", `[{"target":{"kind":"tool"},"set":{"timeout_ms":60000}}]`},
		} {
			edits := recordedtest.Checked(b, r, edit.edits)
			b.Run("plan_"+edit.name+"/"+name, func(b *testing.B) {
				for range b.N {
					_, err := MakePlan(r, edits, Options{Executor: ExecutorServer})
					require.NoError(b, err)
				}
			})
			b.Run("server_"+edit.name+"/"+name, func(b *testing.B) {
				for range b.N {
					attempt, err := Replay(b.Context(), r, edits, Options{Executor: ExecutorServer}, echo(b, r))
					require.NoError(b, err)
					require.Equal(b, StopCompleted, attempt.Stop.Reason, attempt.Stop)
					writer := NewSpanWriter(r)
					for _, step := range attempt.Steps {
						_, err := writer.Form(step)
						require.NoError(b, err)
					}
				}
				held(b)
			})
		}
		null := recordedtest.Checked(b, r, `[]`)
		b.Run("cassette/"+name, func(b *testing.B) {
			for range b.N {
				attempt, err := Replay(b.Context(), r, null, Options{ForkSpanID: r.Steps[2].SpanID}, nil)
				require.NoError(b, err)
				require.Equal(b, StopCompleted, attempt.Stop.Reason, attempt.Stop)
				require.Equal(b, -1, attempt.FirstDivergence)
			}
			held(b)
		})
	}
}
