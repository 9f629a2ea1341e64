package replay

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestReplayability(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(b *builder, models, tools []int)
		level  Level
		code   string
		steps  int
	}{
		{"whole", func(*builder, []int, []int) {}, LevelFull, "", 0},
		{"running", func(b *builder, _, _ []int) { b.spans[0].EndTime, b.spans[0].Status = runmodel.Epoch, "" }, LevelNone, "run_not_ended", 0},
		{"no steps", func(b *builder, _, _ []int) { b.spans = nil }, LevelNone, "no_steps", 0},
		{"no calls", func(b *builder, _, _ []int) { b.spans = b.spans[:1] }, LevelNone, "no_calls", 0},
		{"no model calls", func(b *builder, _, tools []int) { b.spans = []Span{b.spans[0], b.spans[tools[0]]} }, LevelStructure, "no_model_calls", 0},
		{"a step without an end", func(b *builder, _, tools []int) { b.spans[tools[0]].EndTime = runmodel.Epoch }, LevelFull, "durations", 1},
		{"truncated", func(b *builder, models, _ []int) { b.spans[models[1]].Truncated = true }, LevelStructure, "truncated", 1},
		{"no requests", func(b *builder, models, _ []int) {
			for _, i := range models {
				b.spans[i].InputMessages = nil
			}
		}, LevelStructure, "requests", 3},
		{"no response", func(b *builder, models, _ []int) { b.spans[models[2]].OutputMessages = nil }, LevelStructure, "responses", 1},
		{"no model name", func(b *builder, models, _ []int) { b.spans[models[2]].RequestModel = "" }, LevelStructure, "model_names", 1},
		{"no tool definitions", func(b *builder, models, _ []int) { b.spans[models[0]].ToolDefinitions = nil }, LevelLLM, "tool_definitions", 1},
		{"no tool results", func(b *builder, models, tools []int) {
			b.spans[tools[0]].ToolResult = ""
			for _, i := range models[1:] {
				b.spans[i].InputMessages = slices.Delete(slices.Clone(b.spans[i].InputMessages), 3, 4)
			}
		}, LevelLLM, "tool_results", 1},
		{"opaque", func(b *builder, models, _ []int) {
			list := slices.Clone(b.spans[models[2]].InputMessages)
			list[2] = json.RawMessage(`{"role":"user","parts":[{"type":"text","content":"Summary: Paris was asked for."}]}`)
			b.spans[models[2]].InputMessages = slices.Delete(list, 3, 5)
		}, LevelLLM, "opaque_requests", 1},
	} {
		b, models, tools := weather(t)
		for i := range b.spans {
			if b.spans[i].EndTime.IsZero() {
				b.close(i)
			}
		}
		test.change(b, models, tools)
		r := Read(b.spans)
		assert.Equal(t, test.level, r.Replayability.Level, "%s: %+v", test.name, r.Replayability)
		if test.code == "" {
			assert.Empty(t, r.Replayability.Missing, test.name)
			continue
		}
		if !assert.NotEmpty(t, r.Replayability.Missing, test.name) {
			continue
		}
		missing := r.Replayability.Missing[0]
		assert.Equal(t, test.code, missing.Code, test.name)
		assert.Equal(t, test.steps, missing.Count, test.name)
		assert.Len(t, missing.Steps, test.steps, test.name)
		assert.NotEmpty(t, missing.Remedy, test.name)
	}
}

func raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}

func TestVerbatim(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	span := &b.spans[models[0]]
	span.Attributes = map[string]string{
		"looptrace.provider.request":  `{"model":"gpt-5-2026","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Weather in Paris and Rome?"}],"tools":[` + string(toolDefinition("weather")) + `],"temperature":0.5,"stream":true}`,
		"looptrace.provider.response": `{"id":"r1","model":"gpt-5-2026","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_00000001","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Paris\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`,
	}
	r := b.read()
	require.Len(t, r.Loops, 1, "a developer's message is one of the system")
	call := r.Steps[models[0]].Model
	assert.True(t, call.Verbatim)
	assert.Equal(t, "gpt-5-2026", call.Request.Model)
	assert.Equal(t, map[string]json.RawMessage{"temperature": json.RawMessage("0.5")}, call.Request.Params)
	assert.Len(t, call.Request.Tools, 1)
	assert.Len(t, readChat(call.Response.Message).calls[0].arguments, len(`{"city": "Paris"}`), "as the model wrote it")
	assert.Equal(t, "fp", call.Response.Fingerprint)
	assert.Equal(t, "tool_calls", call.Response.FinishReason)
	assert.EqualValues(t, 7, *call.Response.Usage.Input)

	stream := ""
	for _, chunk := range []string{
		`{"id":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":"Pa"}}]}`, `{"id":"r1","choices":[{"index":0,"delta":{"content":"ris."},"finish_reason":"stop"}]}`, `[DONE]`,
	} {
		stream += "data: " + chunk + "\n\n"
	}
	span.Attributes["looptrace.provider.response"] = stream
	assert.JSONEq(t, `{"role":"assistant","content":"Paris."}`, string(b.read().Steps[models[0]].Model.Response.Message))

	// What cannot be read is that of the span's messages.
	span.Attributes["looptrace.provider.request"], span.Attributes["looptrace.provider.response"] = `{"model":`, `data: {"choices":`
	call = b.read().Steps[models[0]].Model
	assert.False(t, call.Verbatim)
	assert.Equal(t, "gpt-5", call.Request.Model)
	assert.Len(t, readChat(call.Response.Message).calls, 1)
}

func TestSideEffects(t *testing.T) {
	t.Parallel()
	b, models, tools := weather(t)
	b.spans[tools[0]].Attributes, b.spans[tools[1]].Attributes = nil, nil
	assert.Equal(t, SideEffects(""), b.read().Steps[tools[0]].Tool.SideEffects)
	b.spans[tools[0]].Attributes = map[string]string{runmodel.KeyMCPAnnotations: `{"readOnlyHint":true}`}
	r := b.read()
	assert.Equal(t, SideEffectsRead, r.Steps[tools[0]].Tool.SideEffects)
	b.spans[tools[0]].Attributes = nil
	b.spans[models[0]].ToolDefinitions = raws(`{"type":"function","name":"weather","annotations":{"readOnlyHint":false}}`)
	r = b.read()
	assert.Equal(t, SideEffectsWrite, r.Steps[tools[1]].Tool.SideEffects)
}

// TestOrder reads spans in any order, with circles and with ids that occur twice.
func TestOrder(t *testing.T) {
	t.Parallel()
	b, _, _ := weather(t)
	want := b.read()
	reversed := slices.Clone(b.spans)
	slices.Reverse(reversed)
	assert.Equal(t, want.Steps, Read(append(reversed, reversed[0])).Steps)
	b.spans[0].ParentSpanID = b.spans[2].SpanID
	b.spans[2].ParentSpanID = b.spans[0].SpanID
	r := b.read()
	assert.Len(t, r.Steps, len(b.spans))
	for i := range r.Steps {
		assert.Less(t, r.Steps[i].Parent, i)
	}
}

// TestSpansOfOneCall: what wraps a call is no call.
func TestSpansOfOneCall(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	root := b.frame("agent", "a", -1)
	outer := b.open("llm", "wrapper", root)
	inner := b.dialogue(outer, "", "Hi").say("Hello.")
	b.close(outer)
	r := b.read()
	assert.Equal(t, KindFrame, r.Steps[outer].Kind)
	assert.Equal(t, KindModel, r.Steps[inner].Kind)
}

// TestParallelLoops: equal requests at the same time are loops of their own.
func TestParallelLoops(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	root := b.frame("workflow", "vote", -1)
	for range 3 {
		start := b.now
		b.dialogue(root, "", "Yes or no?").say("Yes.")
		b.now = start
	}
	assert.Len(t, b.read().Loops, 3)
}

func TestRead(t *testing.T) {
	t.Parallel()
	b, models, tools := weather(t)
	r := b.read()
	require.Equal(t, Replayability{Level: LevelFull}, r.Replayability)
	require.Len(t, r.Loops, 1)
	assert.Equal(t, models, r.Loops[0].Calls)
	assert.Equal(t, 0, r.Loops[0].Parent)
	assert.False(t, r.Loops[0].Joined)
	for i, at := range tools {
		assert.Equal(t, models[i], r.Steps[at].Asker)
		assert.Equal(t, KindTool, r.Steps[at].Kind)
		assert.Equal(t, SideEffectsRead, r.Steps[at].Tool.SideEffects)
		assert.Equal(t, 0, r.Steps[at].Loop)
	}
	assert.Len(t, r.Steps[tools[1]].Tool.Arguments, len(`{"city": "Rome"}`), "as the model wrote it")
	second := r.Steps[models[1]].Model
	assert.Equal(t, "gpt-5", second.Request.Model)
	assert.JSONEq(t, `{"role":"system","content":"Be brief."}`, string(second.Request.Messages[0]))
	assert.JSONEq(t, string(toolDefinition("weather")), string(second.Request.Tools[0]))
	assert.Equal(t, "forecaster", r.Steps[models[0]].Agent)
	assert.EqualValues(t, 100, *second.Response.Usage.Input)
	assert.Equal(t, 5*(took+pause), *r.Duration)
}
