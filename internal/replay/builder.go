package replay

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// builder makes the spans of a run. Each step takes 100 ms and begins 10 ms after the one before.
type builder struct {
	tb     testing.TB
	spans  []Span
	now    time.Time
	wrote  int
	effect map[string]string // side effects by tool
}

func newBuilder(tb testing.TB) *builder {
	tb.Helper()
	return &builder{tb: tb, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), effect: map[string]string{}}
}

const (
	pause = 10 * time.Millisecond
	took  = 100 * time.Millisecond
)

// open begins a span and returns its index.
func (b *builder) open(kind, name string, parent int) int {
	span := Span{Span: runmodel.Span{SpanID: uint64(len(b.spans) + 1), Kind: kind, Name: name, StartTime: b.now, Status: "ok"}}
	if parent >= 0 {
		span.ParentSpanID = b.spans[parent].SpanID
	}
	b.spans = append(b.spans, span)
	return len(b.spans) - 1
}

func (b *builder) close(i int) { b.spans[i].EndTime = b.now }

// frame begins an agent.
func (b *builder) frame(kind, name string, parent int) int {
	i := b.open(kind, name, parent)
	if kind == "agent" {
		b.spans[i].AgentName = name
	}
	return i
}

func (b *builder) step(kind, name string, parent int) int {
	i := b.open(kind, name, parent)
	b.now = b.now.Add(took)
	b.close(i)
	b.now = b.now.Add(pause)
	return i
}

// dialogue is a loop that is being written.
type dialogue struct {
	*builder
	parent   int
	model    string
	messages []json.RawMessage
	tools    []json.RawMessage
}

func raw(tb testing.TB, value any) json.RawMessage {
	tb.Helper()
	out, err := jsontext.Encode(value)
	require.NoError(tb, err)
	return out
}

func message(role, text string) json.RawMessage {
	out, _ := jsontext.Encode(map[string]string{"role": role, "content": text})
	return out
}

func toolDefinition(name string) json.RawMessage {
	return json.RawMessage(`{"type":"function","function":{"name":"` + name + `","parameters":{"type":"object"}}}`)
}

// dialogue begins a loop with a system message and a user's.
func (b *builder) dialogue(parent int, system, user string, tools ...string) *dialogue {
	d := &dialogue{builder: b, parent: parent, model: "gpt-5"}
	if system != "" {
		d.messages = append(d.messages, message("system", system))
	}
	d.messages = append(d.messages, message("user", user))
	for _, name := range tools {
		d.tools = append(d.tools, toolDefinition(name))
	}
	return d
}

func (d *dialogue) user(text string) { d.messages = append(d.messages, message("user", text)) }

// call is a tool call of an answer.
type call struct{ name, arguments, result string }

func assistant(tb testing.TB, text string, calls []call, ids []string) json.RawMessage {
	tb.Helper()
	out := map[string]any{"role": "assistant", "content": text}
	if text == "" && len(calls) > 0 {
		out["content"] = nil
	}
	var list []any
	for i, c := range calls {
		list = append(list, map[string]any{"id": ids[i], "type": "function", "function": map[string]string{"name": c.name, "arguments": c.arguments}})
	}
	if list != nil {
		out["tool_calls"] = list
	}
	return raw(tb, out)
}

// respond writes a model call with an answer and returns its index.
func (d *dialogue) respond(answer json.RawMessage) int {
	i := d.builder.step("llm", "chat "+d.model, d.parent)
	span := &d.spans[i]
	span.Operation, span.Provider, span.RequestModel = "chat", "openai", d.model
	span.InputTokens, span.OutputTokens = new(int64(100)), new(int64(10))
	var err error
	span.InputMessages, err = FromChat(d.messages)
	require.NoError(d.tb, err)
	span.OutputMessages, err = FromChat([]json.RawMessage{answer})
	require.NoError(d.tb, err)
	span.ToolDefinitions, err = ToolsFromChat(d.tools)
	require.NoError(d.tb, err)
	span.FinishReasons = []string{"stop"}
	d.messages = append(d.messages[:len(d.messages):len(d.messages)], answer)
	return i
}

// say writes an answer without tool calls.
func (d *dialogue) say(text string) int { return d.respond(assistant(d.tb, text, nil, nil)) }

// ask writes an answer with tool calls, and the calls. It returns the indexes of their spans, the model's first.
func (d *dialogue) ask(calls ...call) []int {
	ids := make([]string, len(calls))
	for i := range calls {
		d.wrote++
		ids[i] = fmt.Sprintf("call_%08d", d.wrote)
	}
	indexes := []int{d.respond(assistant(d.tb, "", calls, ids))}
	for i, c := range calls {
		at := d.builder.step("tool", c.name, d.parent)
		d.fill(at, c, ids[i])
		indexes = append(indexes, at)
	}
	return indexes
}

func (d *dialogue) fill(at int, c call, id string) {
	span := &d.spans[at]
	span.ToolName, span.ToolCallID, span.ToolArguments, span.ToolResult = c.name, id, c.arguments, c.result
	if effect := d.effect[c.name]; effect != "" {
		span.Attributes = map[string]string{runmodel.KeySideEffects: effect}
	}
	d.messages = append(d.messages, raw(d.tb, map[string]string{"role": "tool", "tool_call_id": id, "content": c.result}))
}

func (b *builder) read() *Recording {
	for i := range b.spans {
		if b.spans[i].EndTime.IsZero() {
			b.close(i)
		}
	}
	return Read(b.spans)
}

// id is the id of a span.
func (b *builder) id(i int) string { return runmodel.FormatSpanID(b.spans[i].SpanID) }

func parse(tb testing.TB, edits string) []Edit {
	tb.Helper()
	var list []Edit
	require.NoError(tb, json.Unmarshal([]byte(edits), &list))
	return list
}

func checked(tb testing.TB, r *Recording, edits string) *Checked {
	tb.Helper()
	out, err := Check(r, parse(tb, edits), "body.edits")
	require.NoError(tb, err)
	return out
}

// weather is a run of an agent that asks for the weather in two cities, and then answers.
func weather(tb testing.TB) (b *builder, models, tools []int) {
	tb.Helper()
	b = newBuilder(tb)
	b.effect["weather"] = "read"
	root := b.frame("agent", "forecaster", -1)
	d := b.dialogue(root, "Be brief.", "Weather in Paris and Rome?", "weather", "book")
	for _, c := range []call{{"weather", `{"city":"Paris"}`, `{"degrees":21}`}, {"weather", `{"city": "Rome"}`, `{"degrees":30}`}} {
		steps := d.ask(c)
		models, tools = append(models, steps[0]), append(tools, steps[1])
	}
	models = append(models, d.say("Paris 21, Rome 30."))
	b.spans[root].Inputs, b.spans[root].Outputs = "Weather in Paris and Rome?", "Paris 21, Rome 30."
	return b, models, tools
}
