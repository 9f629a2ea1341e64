package recordedtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Builder makes the spans of a run. Each step takes 100 ms and begins 10 ms after the one before.
type Builder struct {
	Tb     testing.TB
	Spans  []recorded.Span
	Now    time.Time
	Wrote  int
	Effect map[string]string // side effects by tool
}

func New(tb testing.TB) *Builder {
	tb.Helper()
	return &Builder{Tb: tb, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Effect: map[string]string{}}
}

const (
	Pause = 10 * time.Millisecond
	Took  = 100 * time.Millisecond
)

// Open begins a span and returns its index.
func (b *Builder) Open(kind, name string, parent int) int {
	span := recorded.Span{Span: runmodel.Span{SpanID: uint64(len(b.Spans) + 1), Kind: kind, Name: name, StartTime: b.Now, Status: "ok"}}
	if parent >= 0 {
		span.ParentSpanID = b.Spans[parent].SpanID
	}
	b.Spans = append(b.Spans, span)
	return len(b.Spans) - 1
}

func (b *Builder) Close(i int) { b.Spans[i].EndTime = b.Now }

// Frame begins an agent.
func (b *Builder) Frame(kind, name string, parent int) int {
	i := b.Open(kind, name, parent)
	if kind == "agent" {
		b.Spans[i].AgentName = name
	}
	return i
}

func (b *Builder) step(kind, name string, parent int) int {
	i := b.Open(kind, name, parent)
	b.Now = b.Now.Add(Took)
	b.Close(i)
	b.Now = b.Now.Add(Pause)
	return i
}

// Dialogue is a loop that is being written.
type Dialogue struct {
	*Builder
	Parent   int
	model    string
	Messages []json.RawMessage
	tools    []json.RawMessage
}

func Raw(tb testing.TB, value any) json.RawMessage {
	tb.Helper()
	out, err := jsontext.Encode(value)
	require.NoError(tb, err)
	return out
}

func Message(role, text string) json.RawMessage {
	out, _ := jsontext.Encode(map[string]string{"role": role, "content": text})
	return out
}

func ToolDefinition(name string) json.RawMessage {
	return json.RawMessage(`{"type":"function","function":{"name":"` + name + `","parameters":{"type":"object"}}}`)
}

// Dialogue begins a loop with a system message and a user's.
func (b *Builder) Dialogue(parent int, system, user string, tools ...string) *Dialogue {
	d := &Dialogue{Builder: b, Parent: parent, model: "gpt-5"}
	if system != "" {
		d.Messages = append(d.Messages, Message("system", system))
	}
	d.Messages = append(d.Messages, Message("user", user))
	for _, name := range tools {
		d.tools = append(d.tools, ToolDefinition(name))
	}
	return d
}

func (d *Dialogue) User(text string) { d.Messages = append(d.Messages, Message("user", text)) }

// Call is a tool call of an answer.
type Call struct{ Name, Arguments, Result string }

func Assistant(tb testing.TB, text string, calls []Call, ids []string) json.RawMessage {
	tb.Helper()
	out := map[string]any{"role": "assistant", "content": text}
	if text == "" && len(calls) > 0 {
		out["content"] = nil
	}
	var list []any
	for i, c := range calls {
		list = append(list, map[string]any{"id": ids[i], "type": "function", "function": map[string]string{"name": c.Name, "arguments": c.Arguments}})
	}
	if list != nil {
		out["tool_calls"] = list
	}
	return Raw(tb, out)
}

// Respond writes a model call with an answer and returns its index.
func (d *Dialogue) Respond(answer json.RawMessage) int {
	i := d.Builder.step("llm", "chat "+d.model, d.Parent)
	span := &d.Spans[i]
	span.Operation, span.Provider, span.RequestModel = "chat", "openai", d.model
	span.InputTokens, span.OutputTokens = new(int64(100)), new(int64(10))
	var err error
	span.InputMessages, err = recorded.FromChat(d.Messages)
	require.NoError(d.Tb, err)
	span.OutputMessages, err = recorded.FromChat([]json.RawMessage{answer})
	require.NoError(d.Tb, err)
	span.ToolDefinitions, err = recorded.ToolsFromChat(d.tools)
	require.NoError(d.Tb, err)
	span.FinishReasons = []string{"stop"}
	d.Messages = append(d.Messages[:len(d.Messages):len(d.Messages)], answer)
	return i
}

// Say writes an answer without tool calls.
func (d *Dialogue) Say(text string) int { return d.Respond(Assistant(d.Tb, text, nil, nil)) }

// Ask writes an answer with tool calls, and the calls. It returns the indexes of their spans, the model's first.
func (d *Dialogue) Ask(calls ...Call) []int {
	ids := make([]string, len(calls))
	for i := range calls {
		d.Wrote++
		ids[i] = fmt.Sprintf("call_%08d", d.Wrote)
	}
	indexes := []int{d.Respond(Assistant(d.Tb, "", calls, ids))}
	for i, c := range calls {
		at := d.Builder.step("tool", c.Name, d.Parent)
		d.Fill(at, c, ids[i])
		indexes = append(indexes, at)
	}
	return indexes
}

func (d *Dialogue) Fill(at int, c Call, id string) {
	span := &d.Spans[at]
	span.ToolName, span.ToolCallID, span.ToolArguments, span.ToolResult = c.Name, id, c.Arguments, c.Result
	if effect := d.Effect[c.Name]; effect != "" {
		span.Attributes = map[string]string{runmodel.KeySideEffects: effect}
	}
	d.Messages = append(d.Messages, Raw(d.Tb, map[string]string{"role": "tool", "tool_call_id": id, "content": c.Result}))
}

func (b *Builder) Read() *recorded.Recording {
	for i := range b.Spans {
		if b.Spans[i].EndTime.IsZero() {
			b.Close(i)
		}
	}
	return recorded.Read(b.Spans)
}

// id is the id of a span.
func (b *Builder) ID(i int) string { return runmodel.FormatSpanID(b.Spans[i].SpanID) }

func Parse(tb testing.TB, edits string) []edit.Edit {
	tb.Helper()
	var list []edit.Edit
	require.NoError(tb, json.Unmarshal([]byte(edits), &list))
	return list
}

func Checked(tb testing.TB, r *recorded.Recording, edits string) *edit.Checked {
	tb.Helper()
	out, err := edit.Check(r, Parse(tb, edits), "body.edits")
	require.NoError(tb, err)
	return out
}

// Weather is a run of an agent that asks for the weather in two cities, and then answers.
func Weather(tb testing.TB) (b *Builder, models, tools []int) {
	tb.Helper()
	b = New(tb)
	b.Effect["weather"] = "read"
	root := b.Frame("agent", "forecaster", -1)
	d := b.Dialogue(root, "Be brief.", "Weather in Paris and Rome?", "weather", "book")
	for _, c := range []Call{{"weather", `{"city":"Paris"}`, `{"degrees":21}`}, {"weather", `{"city": "Rome"}`, `{"degrees":30}`}} {
		steps := d.Ask(c)
		models, tools = append(models, steps[0]), append(tools, steps[1])
	}
	models = append(models, d.Say("Paris 21, Rome 30."))
	b.Spans[root].Inputs, b.Spans[root].Outputs = "Weather in Paris and Rome?", "Paris 21, Rome 30."
	return b, models, tools
}

// Raws are values of JSON.
func Raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}
