package recorded_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestReplayability(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(b *recordedtest.Builder, models, tools []int)
		level  recorded.Level
		code   string
		steps  int
	}{
		{"whole", func(*recordedtest.Builder, []int, []int) {}, recorded.LevelFull, "", 0},
		{"running", func(b *recordedtest.Builder, _, _ []int) { b.Spans[0].EndTime, b.Spans[0].Status = runmodel.Epoch, "" }, recorded.LevelNone, "run_not_ended", 0},
		{"no steps", func(b *recordedtest.Builder, _, _ []int) { b.Spans = nil }, recorded.LevelNone, "no_steps", 0},
		{"no calls", func(b *recordedtest.Builder, _, _ []int) { b.Spans = b.Spans[:1] }, recorded.LevelNone, "no_calls", 0},
		{"no model calls", func(b *recordedtest.Builder, _, tools []int) {
			b.Spans = []recorded.Span{b.Spans[0], b.Spans[tools[0]]}
		}, recorded.LevelStructure, "no_model_calls", 0},
		{"a step without an end", func(b *recordedtest.Builder, _, tools []int) { b.Spans[tools[0]].EndTime = runmodel.Epoch }, recorded.LevelFull, "durations", 1},
		{"truncated", func(b *recordedtest.Builder, models, _ []int) { b.Spans[models[1]].Truncated = true }, recorded.LevelStructure, "truncated", 1},
		{"no requests", func(b *recordedtest.Builder, models, _ []int) {
			for _, i := range models {
				b.Spans[i].InputMessages = nil
			}
		}, recorded.LevelStructure, "requests", 3},
		{"no response", func(b *recordedtest.Builder, models, _ []int) { b.Spans[models[2]].OutputMessages = nil }, recorded.LevelStructure, "responses", 1},
		{"no model name", func(b *recordedtest.Builder, models, _ []int) { b.Spans[models[2]].RequestModel = "" }, recorded.LevelStructure, "model_names", 1},
		{"no tool definitions", func(b *recordedtest.Builder, models, _ []int) { b.Spans[models[0]].ToolDefinitions = nil }, recorded.LevelLLM, "tool_definitions", 1},
		{"no tool results", func(b *recordedtest.Builder, models, tools []int) {
			b.Spans[tools[0]].ToolResult = ""
			for _, i := range models[1:] {
				b.Spans[i].InputMessages = slices.Delete(slices.Clone(b.Spans[i].InputMessages), 3, 4)
			}
		}, recorded.LevelLLM, "tool_results", 1},
		{"opaque", func(b *recordedtest.Builder, models, _ []int) {
			list := slices.Clone(b.Spans[models[2]].InputMessages)
			list[2] = json.RawMessage(`{"role":"user","parts":[{"type":"text","content":"Summary: Paris was asked for."}]}`)
			b.Spans[models[2]].InputMessages = slices.Delete(list, 3, 5)
		}, recorded.LevelLLM, "opaque_requests", 1},
	} {
		b, models, tools := recordedtest.Weather(t)
		for i := range b.Spans {
			if b.Spans[i].EndTime.IsZero() {
				b.Close(i)
			}
		}
		test.change(b, models, tools)
		r := recorded.Read(b.Spans)
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

func TestVerbatim(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	span := &b.Spans[models[0]]
	span.Attributes = map[string]string{
		"looptrace.provider.request":  `{"model":"gpt-5-2026","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Weather in Paris and Rome?"}],"tools":[` + string(recordedtest.ToolDefinition("weather")) + `],"temperature":0.5,"stream":true}`,
		"looptrace.provider.response": `{"id":"r1","model":"gpt-5-2026","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_00000001","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Paris\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`,
	}
	r := b.Read()
	require.Len(t, r.Loops, 1, "a developer's message is one of the system")
	call := r.Steps[models[0]].Model
	assert.True(t, call.Verbatim)
	assert.Equal(t, "gpt-5-2026", call.Request.Model)
	assert.Equal(t, map[string]json.RawMessage{"temperature": json.RawMessage("0.5")}, call.Request.Params)
	assert.Len(t, call.Request.Tools, 1)
	assert.Len(t, recorded.ReadMessage(call.Response.Message).Calls[0].Arguments, len(`{"city": "Paris"}`), "as the model wrote it")
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
	assert.JSONEq(t, `{"role":"assistant","content":"Paris."}`, string(b.Read().Steps[models[0]].Model.Response.Message))

	// What cannot be read is that of the span's messages.
	span.Attributes["looptrace.provider.request"], span.Attributes["looptrace.provider.response"] = `{"model":`, `data: {"choices":`
	call = b.Read().Steps[models[0]].Model
	assert.False(t, call.Verbatim)
	assert.Equal(t, "gpt-5", call.Request.Model)
	assert.Len(t, recorded.ReadMessage(call.Response.Message).Calls, 1)
}

func TestSideEffects(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	b.Spans[tools[0]].Attributes, b.Spans[tools[1]].Attributes = nil, nil
	assert.Equal(t, recorded.SideEffects(""), b.Read().Steps[tools[0]].Tool.SideEffects)
	b.Spans[tools[0]].Attributes = map[string]string{runmodel.KeyMCPAnnotations: `{"readOnlyHint":true}`}
	r := b.Read()
	assert.Equal(t, recorded.SideEffectsRead, r.Steps[tools[0]].Tool.SideEffects)
	b.Spans[tools[0]].Attributes = nil
	b.Spans[models[0]].ToolDefinitions = recordedtest.Raws(`{"type":"function","name":"weather","annotations":{"readOnlyHint":false}}`)
	r = b.Read()
	assert.Equal(t, recorded.SideEffectsWrite, r.Steps[tools[1]].Tool.SideEffects)
}

// TestOrder reads spans in any order, with circles and with ids that occur twice.
func TestOrder(t *testing.T) {
	t.Parallel()
	b, _, _ := recordedtest.Weather(t)
	want := b.Read()
	reversed := slices.Clone(b.Spans)
	slices.Reverse(reversed)
	assert.Equal(t, want.Steps, recorded.Read(append(reversed, reversed[0])).Steps)
	b.Spans[0].ParentSpanID = b.Spans[2].SpanID
	b.Spans[2].ParentSpanID = b.Spans[0].SpanID
	r := b.Read()
	assert.Len(t, r.Steps, len(b.Spans))
	for i := range r.Steps {
		assert.Less(t, r.Steps[i].Parent, i)
	}
}

// TestSpansOfOneCall: what wraps a call is no call.
func TestSpansOfOneCall(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	root := b.Frame("agent", "a", -1)
	outer := b.Open("llm", "wrapper", root)
	inner := b.Dialogue(outer, "", "Hi").Say("Hello.")
	b.Close(outer)
	r := b.Read()
	assert.Equal(t, recorded.KindFrame, r.Steps[outer].Kind)
	assert.Equal(t, recorded.KindModel, r.Steps[inner].Kind)
}

// TestParallelLoops: equal requests at the same time are loops of their own.
func TestParallelLoops(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	root := b.Frame("workflow", "vote", -1)
	for range 3 {
		start := b.Now
		b.Dialogue(root, "", "Yes or no?").Say("Yes.")
		b.Now = start
	}
	assert.Len(t, b.Read().Loops, 3)
}

func TestRead(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	r := b.Read()
	require.Equal(t, recorded.Replayability{Level: recorded.LevelFull}, r.Replayability)
	require.Len(t, r.Loops, 1)
	assert.Equal(t, models, r.Loops[0].Calls)
	assert.Equal(t, 0, r.Loops[0].Parent)
	assert.False(t, r.Loops[0].Joined)
	for i, at := range tools {
		assert.Equal(t, models[i], r.Steps[at].Asker)
		assert.Equal(t, recorded.KindTool, r.Steps[at].Kind)
		assert.Equal(t, recorded.SideEffectsRead, r.Steps[at].Tool.SideEffects)
		assert.Equal(t, 0, r.Steps[at].Loop)
	}
	assert.Len(t, r.Steps[tools[1]].Tool.Arguments, len(`{"city": "Rome"}`), "as the model wrote it")
	second := r.Steps[models[1]].Model
	assert.Equal(t, "gpt-5", second.Request.Model)
	assert.JSONEq(t, `{"role":"system","content":"Be brief."}`, string(second.Request.Messages[0]))
	assert.JSONEq(t, string(recordedtest.ToolDefinition("weather")), string(second.Request.Tools[0]))
	assert.Equal(t, "forecaster", r.Steps[models[0]].Agent)
	assert.EqualValues(t, 100, *second.Response.Usage.Input)
	assert.Equal(t, 5*(recordedtest.Took+recordedtest.Pause), *r.Duration)
}
