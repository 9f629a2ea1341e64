package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// deltas is a run whose requests have only what is new.
func deltas(tb testing.TB) *recordedtest.Builder {
	tb.Helper()
	b, models, _ := recordedtest.Weather(tb)
	b.Spans[0].SystemInstructions = recordedtest.Raws(`{"type":"text","content":"Be brief."}`)
	for k, i := range models {
		list := b.Spans[i].InputMessages
		if k == 0 {
			b.Spans[i].InputMessages = list[1:2]
		} else {
			b.Spans[i].InputMessages = list[len(list)-1:]
		}
	}
	return b
}

func TestJoinedRequests(t *testing.T) {
	t.Parallel()
	whole, models, tools := recordedtest.Weather(t)
	want := whole.Read()
	b := deltas(t)
	r := b.Read()
	require.Len(t, r.Loops, 1)
	assert.True(t, r.Loops[0].Joined)
	assert.Equal(t, recorded.LevelFull, r.Replayability.Level)
	assert.Equal(t, "whole_requests", r.Replayability.Missing[0].Code)
	for _, i := range models {
		assert.Equal(t, want.Steps[i].Model.Request.Digest(recorded.MessageCache{}), r.Steps[i].Model.Request.Digest(recorded.MessageCache{}))
	}
	attempt := run(t, r, `[{"target":{"span_id":"`+b.ID(tools[1])+`"},"set":{"tool_result":"hot"}}]`, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Hot.", nil, nil)}})
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assertSame(t, "joined", b.Spans, r, run(t, r, `[]`, Options{ForkSpanID: b.ID(models[0])}, nil))

	// Independent questions are no loop.
	b = recordedtest.New(t)
	root := b.Frame("workflow", "questions", -1)
	for _, question := range []string{"A?", "B?", "C?"} {
		b.Dialogue(root, "", question).Say("Yes.")
	}
	assert.Len(t, b.Read().Loops, 3)
}

func TestVerbatimAnthropic(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	span := &b.Spans[models[1]]
	const thinking = `{"type":"thinking","thinking":"Paris first.","signature":"c2ln"}`
	span.Provider = "anthropic"
	span.Attributes = map[string]string{
		"looptrace.provider.request": `{"model":"claude","max_tokens":9,"system":"Be brief.","stop_sequences":["X"],"tool_choice":{"type":"any","disable_parallel_tool_use":true},` +
			`"tools":[{"name":"weather","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"}],"messages":[` +
			`{"role":"user","content":"Weather in Paris and Rome?"},{"role":"assistant","content":[` + thinking + `,{"type":"tool_use","id":"call_00000001","name":"weather","input":{"city":"Paris"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_00000001","content":[{"type":"text","text":"{\"degrees\":21}"}]},{"type":"text","text":"Hurry."}]}]}`,
		"looptrace.provider.response": `{"id":"m1","model":"claude","content":[` + thinking + `,{"type":"text","text":"So."},{"type":"tool_use","id":"call_00000002","name":"weather","input":{"city":"Rome"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`,
	}
	call := b.Read().Steps[models[1]].Model
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
	assert.JSONEq(t, `[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"}]`, string(recordedtest.Raw(t, call.Request.Tools)))
	assert.JSONEq(t, `{"max_tokens":9,"stop":["X"],"tool_choice":"required","parallel_tool_calls":false}`, string(recordedtest.Raw(t, call.Request.Params)))
	assert.Contains(t, string(call.Response.Message), "c2ln", "the signature goes back")
	assert.Equal(t, "Paris first.", jsontext.String(jsontext.Members(call.Response.Message)[recorded.KeyReasoning]))

	request, err := call.Request.LLM()
	require.NoError(t, err)
	assert.EqualValues(t, 9, *request.MaxOutputTokens)
	assert.Equal(t, []string{"X"}, request.Stop)
	assert.False(t, *request.ParallelToolCalls)

	// Thinking is bound to its model.
	changed := call.Request.Clone()
	e := engine{Recording: &recorded.Recording{}, cache: recorded.MessageCache{}, runs: make([]loopRun, 1)}
	e.setModel(&changed, 0, "other")
	assert.NotContains(t, string(recordedtest.Raw(t, changed.Messages)), "c2ln")
	assert.Contains(t, string(recordedtest.Raw(t, call.Request.Messages)), "c2ln", "the recording is not changed")
}

// TestRetries: a call that failed and was made again is in the loop.
func TestRetries(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	root := b.Frame("agent", "a", -1)
	d := b.Dialogue(root, "", "Hi")
	failed := d.Say("")
	d.Messages = d.Messages[:1]
	b.Spans[failed].OutputMessages, b.Spans[failed].Status, b.Spans[failed].ErrorType = nil, "error", "RateLimit"
	last := d.Say("Hello.")
	r := b.Read()
	require.Len(t, r.Loops, 1)
	assert.Equal(t, recorded.LevelFull, r.Replayability.Level)
	assertSame(t, "cassette", b.Spans, r, run(t, r, `[]`, Options{ForkSpanID: b.ID(failed)}, nil))
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Hello.", nil, nil)}}
	attempt := run(t, r, `[]`, Options{ForkSpanID: b.ID(failed)}, s)
	assert.Equal(t, last, s.calls[0].Recorded)
	assert.Equal(t, []string{"reissued chat gpt-5", "not_reached chat gpt-5"}, sources(attempt))
}

// TestHandOff: another agent goes on with the same messages. Its system prompt is the recorded one as long as the same tool is called.
func TestHandOff(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	root := b.Frame("workflow", "desk", -1)
	d := b.Dialogue(root, "Triage.", "I want a refund.", "transfer_to_refunds", "lookup")
	first := d.Ask(recordedtest.Call{Name: "transfer_to_refunds", Arguments: `{}`, Result: "Refunds takes over."})
	d.Messages[0] = recordedtest.Message("system", "You refund.")
	d.Say("Refunded.")
	r := b.Read()
	require.Len(t, r.Loops, 1)
	require.Equal(t, recorded.LevelFull, r.Replayability.Level)
	edits := `[{"target":{"span_id":"` + b.ID(first[0]) + `"},"set":{"model":"m2"}}]`
	same := recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "transfer_to_refunds", Arguments: `{}`}}, []string{"x"})
	s := &script{answers: []json.RawMessage{same, recordedtest.Assistant(t, "Done.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.JSONEq(t, `{"role":"system","content":"You refund."}`, string(s.calls[1].Request.Messages[0]))
	other := recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "lookup", Arguments: `{}`}}, []string{"x"})
	attempt = run(t, r, edits, Options{Tools: map[string]ToolPolicy{"lookup": {OnMiss: MissFixed, Result: new("none")}}}, &script{answers: []json.RawMessage{other}})
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
}
