package replay

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/jsontext"
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
		{"running", func(b *builder, _, _ []int) { b.spans[0].EndTime, b.spans[0].Status = runmodel.Epoch, "" }, LevelNone, missNotEnded, 0},
		{"no steps", func(b *builder, _, _ []int) { b.spans = nil }, LevelNone, missNoSteps, 0},
		{"no calls", func(b *builder, _, _ []int) { b.spans = b.spans[:1] }, LevelNone, missNoCalls, 0},
		{"no model calls", func(b *builder, _, tools []int) { b.spans = []Span{b.spans[0], b.spans[tools[0]]} }, LevelStructure, missNoModelCalls, 0},
		{"a step without an end", func(b *builder, _, tools []int) { b.spans[tools[0]].EndTime = runmodel.Epoch }, LevelFull, missDurations, 1},
		{"truncated", func(b *builder, models, _ []int) { b.spans[models[1]].Truncated = true }, LevelStructure, missTruncated, 1},
		{"no requests", func(b *builder, models, _ []int) {
			for _, i := range models {
				b.spans[i].InputMessages = nil
			}
		}, LevelStructure, missRequests, 3},
		{"no response", func(b *builder, models, _ []int) { b.spans[models[2]].OutputMessages = nil }, LevelStructure, missResponses, 1},
		{"no model name", func(b *builder, models, _ []int) { b.spans[models[2]].RequestModel = "" }, LevelStructure, missModelNames, 1},
		{"no tool definitions", func(b *builder, models, _ []int) { b.spans[models[0]].ToolDefinitions = nil }, LevelLLM, missToolDefinitions, 1},
		{"no tool results", func(b *builder, models, tools []int) {
			b.spans[tools[0]].ToolResult = ""
			for _, i := range models[1:] {
				b.spans[i].InputMessages = slices.Delete(slices.Clone(b.spans[i].InputMessages), 3, 4)
			}
		}, LevelLLM, missToolResults, 1},
		{"opaque", func(b *builder, models, _ []int) {
			list := slices.Clone(b.spans[models[2]].InputMessages)
			list[2] = json.RawMessage(`{"role":"user","parts":[{"type":"text","content":"Summary: Paris was asked for."}]}`)
			b.spans[models[2]].InputMessages = slices.Delete(list, 3, 5)
		}, LevelLLM, missOpaque, 1},
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

// deltas is a run whose requests have only what is new.
func deltas(tb testing.TB) *builder {
	tb.Helper()
	b, models, _ := weather(tb)
	b.spans[0].SystemInstructions = raws(`{"type":"text","content":"Be brief."}`)
	for k, i := range models {
		list := b.spans[i].InputMessages
		if k == 0 {
			b.spans[i].InputMessages = list[1:2]
		} else {
			b.spans[i].InputMessages = list[len(list)-1:]
		}
	}
	return b
}

func raws(texts ...string) (list []json.RawMessage) {
	for _, text := range texts {
		list = append(list, json.RawMessage(text))
	}
	return list
}

func TestJoinedRequests(t *testing.T) {
	t.Parallel()
	whole, models, tools := weather(t)
	want := whole.read()
	b := deltas(t)
	r := b.read()
	require.Len(t, r.Loops, 1)
	assert.True(t, r.Loops[0].Joined)
	assert.Equal(t, LevelFull, r.Replayability.Level)
	assert.Equal(t, missWhole, r.Replayability.Missing[0].Code)
	for _, i := range models {
		assert.Equal(t, want.Steps[i].Model.Request.digest(messageCache{}), r.Steps[i].Model.Request.digest(messageCache{}))
	}
	attempt := run(t, r, `[{"target":{"span_id":"`+b.id(tools[1])+`"},"set":{"tool_result":"hot"}}]`, Options{}, &script{answers: []json.RawMessage{assistant(t, "Hot.", nil, nil)}})
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assertSame(t, "joined", b.spans, r, run(t, r, `[]`, Options{ForkSpanID: b.id(models[0])}, nil))

	// Independent questions are no loop.
	b = newBuilder(t)
	root := b.frame("workflow", "questions", -1)
	for _, question := range []string{"A?", "B?", "C?"} {
		b.dialogue(root, "", question).say("Yes.")
	}
	assert.Len(t, b.read().Loops, 3)
}

func TestVerbatim(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	span := &b.spans[models[0]]
	span.Attributes = map[string]string{
		keyProviderRequest:  `{"model":"gpt-5-2026","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Weather in Paris and Rome?"}],"tools":[` + string(toolDefinition("weather")) + `],"temperature":0.5,"stream":true}`,
		keyProviderResponse: `{"id":"r1","model":"gpt-5-2026","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_00000001","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Paris\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`,
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
	span.Attributes[keyProviderResponse] = stream
	assert.JSONEq(t, `{"role":"assistant","content":"Paris."}`, string(b.read().Steps[models[0]].Model.Response.Message))

	// What cannot be read is that of the span's messages.
	span.Attributes[keyProviderRequest], span.Attributes[keyProviderResponse] = `{"model":`, `data: {"choices":`
	call = b.read().Steps[models[0]].Model
	assert.False(t, call.Verbatim)
	assert.Equal(t, "gpt-5", call.Request.Model)
	assert.Len(t, readChat(call.Response.Message).calls, 1)
}

func TestVerbatimAnthropic(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	span := &b.spans[models[1]]
	const thinking = `{"type":"thinking","thinking":"Paris first.","signature":"c2ln"}`
	span.Provider = "anthropic"
	span.Attributes = map[string]string{
		keyProviderRequest: `{"model":"claude","max_tokens":9,"system":"Be brief.","stop_sequences":["X"],"tool_choice":{"type":"any","disable_parallel_tool_use":true},` +
			`"tools":[{"name":"weather","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"}],"messages":[` +
			`{"role":"user","content":"Weather in Paris and Rome?"},{"role":"assistant","content":[` + thinking + `,{"type":"tool_use","id":"call_00000001","name":"weather","input":{"city":"Paris"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_00000001","content":[{"type":"text","text":"{\"degrees\":21}"}]},{"type":"text","text":"Hurry."}]}]}`,
		keyProviderResponse: `{"id":"m1","model":"claude","content":[` + thinking + `,{"type":"text","text":"So."},{"type":"tool_use","id":"call_00000002","name":"weather","input":{"city":"Rome"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`,
	}
	call := b.read().Steps[models[1]].Model
	require.True(t, call.Verbatim)
	var messages []string
	for _, one := range call.Request.Messages {
		messages = append(messages, string(one))
	}
	require.Len(t, messages, 5)
	assert.JSONEq(t, `{"role":"system","content":"Be brief."}`, messages[0])
	assert.JSONEq(t, `{"role":"assistant","content":null,"reasoning_content":"Paris first.","tool_calls":[{"id":"call_00000001","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}],`+
		`"anthropic_content":[`+thinking+`,{"type":"tool_use","id":"call_00000001","name":"weather","input":{"city":"Paris"}}]}`, messages[2])
	assert.JSONEq(t, `{"role":"tool","tool_call_id":"call_00000001","content":"{\"degrees\":21}"}`, messages[3])
	assert.JSONEq(t, `{"role":"user","content":[{"type":"text","text":"Hurry."}]}`, messages[4])
	assert.JSONEq(t, `[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"}]`, string(raw(t, call.Request.Tools)))
	assert.JSONEq(t, `{"max_tokens":9,"stop":["X"],"tool_choice":"required","parallel_tool_calls":false}`, string(raw(t, call.Request.Params)))
	assert.Contains(t, string(call.Response.Message), "c2ln", "the signature goes back")
	assert.Equal(t, "Paris first.", jsontext.String(jsontext.Members(call.Response.Message)[keyReasoning]))

	request, err := call.Request.LLM()
	require.NoError(t, err)
	assert.EqualValues(t, 9, *request.MaxOutputTokens)
	assert.Equal(t, []string{"X"}, request.Stop)
	assert.False(t, *request.ParallelToolCalls)

	// Thinking is bound to its model.
	changed := call.Request.clone()
	e := engine{Recording: &Recording{}, cache: messageCache{}, runs: make([]loopRun, 1)}
	e.setModel(&changed, 0, "other")
	assert.NotContains(t, string(raw(t, changed.Messages)), "c2ln")
	assert.Contains(t, string(raw(t, call.Request.Messages)), "c2ln", "the recording is not changed")
}

func TestSideEffects(t *testing.T) {
	t.Parallel()
	b, models, tools := weather(t)
	b.spans[tools[0]].Attributes, b.spans[tools[1]].Attributes = nil, nil
	assert.Equal(t, SideEffects(""), b.read().Steps[tools[0]].Tool.SideEffects)
	b.spans[tools[0]].Attributes = map[string]string{runmodel.KeyMCPAnnotations: `{"readOnlyHint":true}`}
	r := b.read()
	assert.Equal(t, SideEffectsRead, r.Steps[tools[0]].Tool.SideEffects)
	assert.Equal(t, SideEffectsRead, newCassette(r, nil).class("weather"))
	b.spans[tools[0]].Attributes = nil
	b.spans[models[0]].ToolDefinitions = raws(`{"type":"function","name":"weather","annotations":{"readOnlyHint":false}}`)
	r = b.read()
	assert.Equal(t, SideEffectsWrite, r.Steps[tools[1]].Tool.SideEffects)
	assert.Equal(t, SideEffectsRead, newCassette(r, map[string]ToolPolicy{"weather": {SideEffects: SideEffectsRead}}).class("weather"))
	assert.Equal(t, SideEffectsWrite, newCassette(r, nil).class("unknown"))
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

// TestRetries: a call that failed and was made again is in the loop.
func TestRetries(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	root := b.frame("agent", "a", -1)
	d := b.dialogue(root, "", "Hi")
	failed := d.say("")
	d.messages = d.messages[:1]
	b.spans[failed].OutputMessages, b.spans[failed].Status, b.spans[failed].ErrorType = nil, "error", "RateLimit"
	last := d.say("Hello.")
	r := b.read()
	require.Len(t, r.Loops, 1)
	assert.Equal(t, LevelFull, r.Replayability.Level)
	assertSame(t, "cassette", b.spans, r, run(t, r, `[]`, Options{ForkSpanID: b.id(failed)}, nil))
	s := &script{answers: []json.RawMessage{assistant(t, "Hello.", nil, nil)}}
	attempt := run(t, r, `[]`, Options{ForkSpanID: b.id(failed)}, s)
	assert.Equal(t, last, s.calls[0].Recorded)
	assert.Equal(t, []string{"reissued chat gpt-5", "not_reached chat gpt-5"}, sources(attempt))
}

// TestHandOff: another agent goes on with the same messages. Its system prompt is the recorded one as long as the same tool is called.
func TestHandOff(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	root := b.frame("workflow", "desk", -1)
	d := b.dialogue(root, "Triage.", "I want a refund.", "transfer_to_refunds", "lookup")
	first := d.ask(call{"transfer_to_refunds", `{}`, "Refunds takes over."})
	d.messages[0] = message("system", "You refund.")
	d.say("Refunded.")
	r := b.read()
	require.Len(t, r.Loops, 1)
	require.Equal(t, LevelFull, r.Replayability.Level)
	edits := `[{"target":{"span_id":"` + b.id(first[0]) + `"},"set":{"model":"m2"}}]`
	same := assistant(t, "", []call{{name: "transfer_to_refunds", arguments: `{}`}}, []string{"x"})
	s := &script{answers: []json.RawMessage{same, assistant(t, "Done.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.JSONEq(t, `{"role":"system","content":"You refund."}`, string(s.calls[1].Request.Messages[0]))
	other := assistant(t, "", []call{{name: "lookup", arguments: `{}`}}, []string{"x"})
	attempt = run(t, r, edits, Options{Tools: map[string]ToolPolicy{"lookup": {OnMiss: MissFixed, Result: new("none")}}}, &script{answers: []json.RawMessage{other}})
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
}
