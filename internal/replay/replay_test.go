package replay

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNullEdit(t *testing.T) {
	t.Parallel()
	b, models, tools := weather(t)
	r := b.read()
	attempt := run(t, r, `[]`, Options{}, nil)
	assert.Equal(t, map[string]int{"copied": 5}, attempt.Exposure)
	assert.Equal(t, *r.Duration, *attempt.Duration)
	assert.Equal(t, "Paris 21, Rome 30.", *attempt.Answer)
	assertSame(t, "copied", b.spans, r, attempt)

	// A control in the cassette is served the recorded answers.
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.id(models[1])}, nil)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "served chat gpt-5", "served weather", "served chat gpt-5"}, sources(attempt))
	assert.Equal(t, map[string]int{"copied": 2, "hit": 3}, attempt.Exposure)
	assertSame(t, "served", b.spans, r, attempt)

	// A control that asks again forks at the same step.
	s := &script{answers: []json.RawMessage{assistant(t, "Paris 21, Rome 30.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.id(tools[1])}, s)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "copied chat gpt-5", "copied weather", "reissued chat gpt-5"}, sources(attempt))
	assertSame(t, "reissued", b.spans, r, attempt)
	assert.Equal(t, Spent{Calls: 1, InputTokens: 50, OutputTokens: 5, CostUSD: 0.01, Duration: 200 * time.Millisecond}, attempt.Spent)
	assert.Equal(t, *r.Duration+100*time.Millisecond, *attempt.Duration, "the call took longer")
}

func TestEditToolResult(t *testing.T) {
	t.Parallel()
	b, models, tools := weather(t)
	r := b.read()
	edits := `[{"target":{"span_id":"` + b.id(tools[0]) + `"},"set":{"tool_result":{"degrees":-5}}}]`

	attempt := run(t, r, edits, Options{}, nil)
	assert.Equal(t, StopMiss, attempt.Stop.Reason)
	assert.Equal(t, b.id(models[1]), attempt.Stop.SpanID)
	assert.Equal(t, []string{"copied chat gpt-5", "edited weather", "not_reached chat gpt-5", "not_reached weather", "not_reached chat gpt-5"}, sources(attempt))
	assert.Nil(t, attempt.Duration)

	s := &script{answers: []json.RawMessage{
		assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"live_1"}),
		assistant(t, "Paris -5, Rome 30.", nil, nil),
	}}
	attempt = run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, []string{"copied chat gpt-5", "edited weather", "reissued chat gpt-5", "served weather", "reissued chat gpt-5"}, sources(attempt))
	assert.Equal(t, 1, attempt.FirstDivergence)
	assert.Equal(t, "Paris -5, Rome 30.", *attempt.Answer)

	first, second := s.calls[0].Request, s.calls[1].Request
	assert.Equal(t, models[1], s.calls[0].Recorded)
	assert.Equal(t, "openai", s.calls[0].Provider)
	assert.JSONEq(t, `{"role":"tool","tool_call_id":"call_00000001","content":"{\"degrees\":-5}"}`, string(first.Messages[3]))
	require.Len(t, second.Messages, 6)
	assert.JSONEq(t, `{"role":"tool","tool_call_id":"live_1","content":"{\"degrees\":30}"}`, string(second.Messages[5]), "the result has the id of the new call")

	served := attempt.Steps[3]
	assert.Equal(t, TierHit, served.Tier, "arguments are compared as JSON")
	assert.Equal(t, tools[1], served.Recorded)
	assert.False(t, served.Differs)
	frame := attempt.Steps[5]
	assert.Equal(t, KindFrame, frame.Kind)
	assert.Equal(t, "Paris -5, Rome 30.", frame.Outputs, "the output of the agent is its last answer")

	written := write(t, r, attempt)
	assert.Equal(t, `{"degrees":-5}`, written[2].ToolResult)
	require.Len(t, written, len(b.spans))
}

func TestEdits(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	b.spans[models[0]].AttributesJSON = map[string]string{"gen_ai.request.temperature": "0.5", "gen_ai.request.max_tokens": "100"}
	r := b.read()
	last := `{"span_id":"` + b.id(models[2]) + `"}`
	first := `{"span_id":"` + b.id(models[0]) + `"}`
	for _, test := range []struct {
		name, edits string
		want        func(*Request)
	}{
		{"model", `[{"target":` + last + `,"set":{"model":"m2"}}]`, func(q *Request) { q.Model = "m2" }},
		{"params", `[{"target":` + first + `,"set":{"params":{"temperature":null,"max_completion_tokens":5}}}]`, func(q *Request) {
			q.Params = map[string]json.RawMessage{"max_completion_tokens": json.RawMessage("5")}
		}},
		{"system prompt", `[{"target":` + last + `,"set":{"system_prompt":"Be long."}}]`, func(q *Request) { q.Messages[0] = message("system", "Be long.") }},
		{"prompt", `[{"target":` + last + `,"set":{"prompt":{"id":"p","version":2,"model":"m3","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]}}}]`, func(q *Request) {
			q.Model, q.Messages[0], q.Messages[1] = "m3", message("system", "S"), message("user", "U")
		}},
		{"prompt of the system only", `[{"target":` + last + `,"set":{"prompt":{"id":"p","version":2,"messages":[{"role":"system","content":"S"}]}}}]`, func(q *Request) {
			q.Messages[0] = message("system", "S")
		}},
		{"messages", `[{"target":` + last + `,"set":{"messages":[{"role":"user","content":"Hi"}]}}]`, func(q *Request) { q.Messages = []json.RawMessage{message("user", "Hi")} }},
		{"tool schema", `[{"target":` + last + `,"set":{"tool_schema":{"type":"function","function":{"name":"weather","description":"New."}}}}]`, func(q *Request) {
			q.Tools[0] = json.RawMessage(`{"type":"function","function":{"name":"weather","description":"New."}}`)
		}},
		{"input", `[{"target":"all","set":{"input":"Weather in Bonn?"}}]`, func(q *Request) { q.Messages[1] = message("user", "Weather in Bonn?") }},
	} {
		s := &script{answers: []json.RawMessage{assistant(t, "Done.", nil, nil)}}
		attempt := run(t, r, test.edits, Options{}, s)
		assert.Equal(t, StopCompleted, attempt.Stop.Reason, test.name)
		want := r.Steps[s.calls[0].Recorded].Model.Request.clone()
		test.want(&want)
		assert.Equal(t, want.digest(messageCache{}), s.calls[0].Request.digest(messageCache{}), "%s: %s", test.name, raw(t, s.calls[0].Request))
		assert.Equal(t, "Done.", *attempt.Answer, test.name)

		// Nothing is asked in the cassette, and the plan knows where it stops.
		cassette := run(t, r, test.edits, Options{}, nil)
		assert.Equal(t, StopMiss, cassette.Stop.Reason, test.name)
		plan, err := MakePlan(r, checked(t, r, test.edits), Options{})
		require.NoError(t, err)
		assert.Equal(t, cassette.Stop, plan.Stop, test.name)
	}
}

func TestEditResponse(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	r := b.read()
	edit := func(response json.RawMessage) string {
		return `[{"target":{"span_id":"` + b.id(models[1]) + `"},"set":{"response":` + string(response) + `}}]`
	}
	// A decision to stop needs no model.
	attempt := run(t, r, edit(assistant(t, "I give up.", nil, nil)), Options{}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, "I give up.", *attempt.Answer)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "edited chat gpt-5", "not_reached weather", "not_reached chat gpt-5"}, sources(attempt))
	assert.Equal(t, 3*(took+pause), *attempt.Duration)

	// A decision that was recorded changes nothing.
	attempt = run(t, r, edit(assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, -1, attempt.FirstDivergence)

	// A tool that nobody called stops.
	attempt = run(t, r, edit(assistant(t, "", []call{{name: "weather", arguments: `{"city":"Oslo"}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopMiss, attempt.Stop.Reason)
	assert.Equal(t, `The recording has no call of the tool "weather" with the same arguments (different: "city").`, attempt.Stop.Detail)
	odd := `{"city":"Paris","Oslo, of course":1}`
	attempt = run(t, r, edit(assistant(t, "", []call{{name: "weather", arguments: odd}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, `The recording has no call of the tool "weather" with the same arguments.`, attempt.Stop.Detail, "a name that a model made up is no name")
	attempt = run(t, r, edit(assistant(t, "", []call{{name: "book", arguments: `{}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopWriteBarrier, attempt.Stop.Reason)
	assert.Equal(t, `The recording has no call of the tool "book". It counts as a tool that writes.`, attempt.Stop.Detail)
	assert.Contains(t, attempt.Stop.Remedy, "only reads")

	fixed := Options{Tools: map[string]ToolPolicy{"weather": {OnMiss: MissFixed, Result: new("cold")}}}
	s := &script{answers: []json.RawMessage{assistant(t, "Cold.", nil, nil)}}
	attempt = run(t, r, edit(assistant(t, "", []call{{name: "weather", arguments: `{"city":"Oslo"}`}}, []string{"x"})), fixed, s)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "edited chat gpt-5", "fixed weather", "reissued chat gpt-5", "not_reached weather"}, sources(attempt))
	assert.Equal(t, "Cold.", *attempt.Answer)
}

func TestMoreAndFewerCalls(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	r := b.read()
	edits := `[{"target":{"span_id":"` + b.id(models[2]) + `"},"set":{"model":"m2"}}]`
	again := func(id string) json.RawMessage {
		return assistant(t, "", []call{{name: "weather", arguments: `{"city":"Paris"}`}}, []string{id})
	}
	s := &script{answers: []json.RawMessage{again("a"), again("b"), assistant(t, "Done.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, map[string]int{"copied": 4, "reissued": 3, "hit_reordered": 2}, attempt.Exposure)
	assert.Equal(t, []int{models[2], -1, -1}, []int{s.calls[0].Recorded, s.calls[1].Recorded, s.calls[2].Recorded})
	assert.Len(t, s.calls[2].Request.Messages, 10)

	s = &script{answers: []json.RawMessage{again("a"), again("b")}}
	attempt = run(t, r, edits, Options{MaxSteps: 4}, s)
	assert.Equal(t, StopStepLimit, attempt.Stop.Reason)

	asked := 0
	s = &script{answers: []json.RawMessage{again("a")}}
	attempt = run(t, r, edits, Options{Limit: func(spent Spent) StopReason {
		asked++
		assert.Equal(t, asked-1, spent.Calls)
		if spent.CostUSD >= 0.01 {
			return StopMaxCost
		}
		return ""
	}}, s)
	assert.Equal(t, StopMaxCost, attempt.Stop.Reason)

	early := `[{"target":{"span_id":"` + b.id(models[0]) + `"},"set":{"model":"m2"}}]`
	attempt = run(t, r, early, Options{}, &script{answers: []json.RawMessage{assistant(t, "No.", nil, nil)}})
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, map[string]int{"reissued": 1, "not_reached": 4}, attempt.Exposure)
}

func TestTurns(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	b.effect["weather"] = "read"
	root := b.frame("agent", "forecaster", -1)
	d := b.dialogue(root, "", "Weather in Paris?", "weather")
	first := d.ask(call{"weather", `{"city":"Paris"}`, "21"})
	d.say("It is 21.")
	d.user("And in Rome?")
	d.ask(call{"weather", `{"city":"Rome"}`, "30"})
	d.say("It is 30.")
	r := b.read()
	require.Len(t, r.Loops, 1)
	require.Equal(t, LevelFull, r.Replayability.Level)

	edits := `[{"target":{"span_id":"` + b.id(first[1]) + `"},"set":{"tool_result":"-5"}}]`
	s := &script{answers: []json.RawMessage{
		assistant(t, "It is -5.", nil, nil),
		assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"x"}),
		assistant(t, "It is 30.", nil, nil),
	}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.False(t, attempt.Steps[2].Stale)
	assert.True(t, attempt.Steps[3].Stale, "the user answers what was not said")
	assert.JSONEq(t, `{"role":"user","content":"And in Rome?"}`, string(s.calls[1].Request.Messages[4]))
	assert.JSONEq(t, `{"role":"assistant","content":"It is -5."}`, string(s.calls[1].Request.Messages[3]))

	// The same answer: nothing is stale.
	s = &script{answers: []json.RawMessage{
		assistant(t, "It is 21.", nil, nil), assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"x"}), assistant(t, "It is 30.", nil, nil),
	}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.id(first[1])}, s)
	for _, step := range attempt.Steps {
		assert.False(t, step.Stale || step.Differs, step.Name)
	}
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	b, models, _ := weather(t)
	r := b.read()
	edits := checked(t, r, `[{"target":{"span_id":"`+b.id(models[1])+`"},"set":{"model":"m2"}}]`)
	attempt, err := Replay(context.Background(), r, edits, Options{Executor: ExecutorServer}, func(context.Context, Call) (Answer, error) {
		return Answer{}, &CallError{Type: "invalid_request", Message: "no such model"}
	})
	require.NoError(t, err)
	assert.Equal(t, StopModelError, attempt.Stop.Reason)
	assert.Contains(t, attempt.Stop.Detail, "no such model")
	assert.Equal(t, "invalid_request", attempt.Steps[2].ErrorType)
	assert.Equal(t, Spent{Calls: 1, UnknownUsage: 1, UnknownCost: 1}, attempt.Spent)

	broken := errors.New("broken")
	_, err = Replay(context.Background(), r, edits, Options{Executor: ExecutorServer}, func(context.Context, Call) (Answer, error) { return Answer{}, broken })
	require.ErrorIs(t, err, broken)
	_, err = Replay(context.Background(), r, edits, Options{Executor: ExecutorServer}, func(context.Context, Call) (Answer, error) { return Answer{}, nil })
	require.ErrorIs(t, err, errAnswer)
	_, err = Replay(context.Background(), r, edits, Options{Executor: ExecutorServer}, nil)
	require.ErrorIs(t, err, errNoModel)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Replay(ctx, r, edits, Options{}, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Replay(context.Background(), r, edits, Options{ForkSpanID: "ff"}, nil)
	require.ErrorContains(t, err, "fork_span_id")
}

// TestResume interrupts an attempt after each step, and goes on with what was stored.
func TestResume(t *testing.T) {
	t.Parallel()
	b, _, tools := weather(t)
	r := b.read()
	edits := checked(t, r, `[{"target":{"span_id":"`+b.id(tools[0])+`"},"set":{"tool_result":"-5"}}]`)
	answers := []json.RawMessage{
		assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"live_1"}),
		assistant(t, "", []call{{name: "weather", arguments: `{"city":"Rome"}`}}, []string{"live_2"}),
		assistant(t, "Done.", nil, nil),
	}
	whole := &script{tb: t, answers: answers}
	var stored []AttemptStep
	store := func(_ context.Context, step AttemptStep) error {
		stored = append(stored, step)
		return nil
	}
	want, err := Replay(context.Background(), r, edits, Options{Executor: ExecutorServer, Store: store}, whole.model)
	require.NoError(t, err)
	assert.Equal(t, want.Steps, stored)
	interrupted := errors.New("interrupted")
	for n := range stored {
		var kept []AttemptStep
		s := &script{tb: t, answers: answers}
		_, err := Replay(context.Background(), r, edits, Options{Executor: ExecutorServer, Store: func(_ context.Context, step AttemptStep) error {
			if len(kept) == n {
				return interrupted
			}
			kept = append(kept, step)
			return nil
		}}, s.model)
		require.ErrorIs(t, err, interrupted)
		text, err := json.Marshal(kept)
		require.NoError(t, err)
		var done []AttemptStep
		require.NoError(t, json.Unmarshal(text, &done))
		made := 0
		for _, step := range done {
			if step.Source == SourceReissued {
				made++
			}
		}
		rest := &script{tb: t, answers: answers[made:]}
		var more []AttemptStep
		got, err := Replay(context.Background(), r, edits, Options{Executor: ExecutorServer, Done: done, Store: func(_ context.Context, step AttemptStep) error {
			more = append(more, step)
			return nil
		}}, rest.model)
		require.NoError(t, err)
		assert.Len(t, rest.calls, len(answers)-made)
		assert.Len(t, more, len(want.Steps)-n)
		assert.JSONEq(t, string(raw(t, want)), string(raw(t, got)), "after %d steps", n)
		for i, c := range rest.calls {
			assert.Equal(t, whole.calls[made+i].Key, c.Key)
		}
	}
	other := checked(t, r, `[{"target":{"span_id":"`+b.id(tools[0])+`"},"set":{"tool_result":"0"}}]`)
	_, err = Replay(context.Background(), r, other, Options{Executor: ExecutorServer, Done: stored}, whole.model)
	require.ErrorIs(t, err, ErrNotDone)
}

// nested is an agent with a sub-agent as a tool.
func nested(tb testing.TB, result func(string) string) (b *builder, inner, outer []int) {
	tb.Helper()
	b = newBuilder(tb)
	root := b.frame("agent", "boss", -1)
	d := b.dialogue(root, "Delegate.", "What is the capital of Peru?", "expert")
	d.wrote++
	c := call{name: "expert", arguments: `{"question":"capital of Peru"}`}
	outer = append(outer, d.respond(assistant(tb, "", []call{c}, []string{"call_00000001"})))
	tool := b.open("tool", "expert", root)
	agent := b.frame("agent", "expert", tool)
	e := b.dialogue(agent, "You know all.", "capital of Peru")
	inner = append(inner, e.say("The capital is Lima."))
	b.close(agent)
	b.close(tool)
	c.result = result("The capital is Lima.")
	d.fill(tool, c, "call_00000001")
	outer = append(outer, tool, d.say("Lima."))
	return b, inner, outer
}

func TestNested(t *testing.T) {
	t.Parallel()
	b, inner, outer := nested(t, func(text string) string { return text })
	r := b.read()
	require.Equal(t, LevelFull, r.Replayability.Level)
	require.Len(t, r.Loops, 2)
	edits := `[{"target":{"span_id":"` + b.id(inner[0]) + `"},"set":{"model":"m2"}}]`
	s := &script{answers: []json.RawMessage{assistant(t, "It is Cusco, surely.", nil, nil), assistant(t, "Cusco.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, []string{"copied chat gpt-5", "reissued chat gpt-5", "derived expert", "reissued chat gpt-5"}, sources(attempt))
	assert.Contains(t, string(s.calls[1].Request.Messages[3]), "It is Cusco, surely.", "the result of the tool is the answer of its agent")
	assert.Equal(t, "Cusco.", *attempt.Answer)

	// The same answer changes nothing above.
	s = &script{answers: []json.RawMessage{assistant(t, "The capital is Lima.", nil, nil), assistant(t, "Lima.", nil, nil)}}
	attempt = run(t, r, edits, Options{}, s)
	assert.Equal(t, "copied expert", sources(attempt)[2])

	// An edit above takes the tool with what is below it.
	attempt = run(t, r, `[{"target":{"span_id":"`+b.id(outer[0])+`"},"set":{"model":"m2"}}]`, Options{}, &script{answers: []json.RawMessage{
		assistant(t, "", []call{{name: "expert", arguments: `{"question":"capital of Peru"}`}}, []string{"x"}), assistant(t, "Lima.", nil, nil),
	}})
	assert.Equal(t, []string{"reissued chat gpt-5", "served expert", "copied chat gpt-5", "reissued chat gpt-5"}, sources(attempt))
	attempt = run(t, r, `[{"target":{"span_id":"`+b.id(outer[1])+`"},"set":{"tool_result":"Nobody knows."}}]`, Options{}, &script{answers: []json.RawMessage{assistant(t, "?", nil, nil)}})
	assert.Equal(t, []string{"copied chat gpt-5", "edited expert", "reissued chat gpt-5", "not_reached chat gpt-5"}, sources(attempt))

	// A result that the program makes of the answer is opaque.
	b, inner, _ = nested(t, func(text string) string { return "Expert (1 step): " + strings.ToUpper(text) })
	r = b.read()
	attempt = run(t, r, `[{"target":{"span_id":"`+b.id(inner[0])+`"},"set":{"model":"m2"}}]`, Options{}, &script{answers: []json.RawMessage{assistant(t, "Cusco.", nil, nil)}})
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
}

func TestSequentialAgents(t *testing.T) {
	t.Parallel()
	record := func(second func(string) string) (*builder, int, int) {
		b := newBuilder(t)
		root := b.frame("workflow", "report", -1)
		writer := b.frame("agent", "writer", root)
		draft := b.dialogue(writer, "Write.", "About bees").say("Bees are insects that make honey.")
		b.close(writer)
		other := b.frame("agent", "weather", root)
		b.dialogue(other, "Forecast.", "Weather?").say("Sunny all day long.")
		b.close(other)
		editor := b.frame("agent", "editor", root)
		d := b.dialogue(editor, "Edit.", second("Bees are insects that make honey."))
		last := d.say("Bees make honey.")
		b.close(editor)
		b.spans[root].Outputs = `{"text":"Bees make honey.","words":3}`
		return b, draft, last
	}
	b, draft, last := record(func(text string) string { return text })
	r := b.read()
	require.Equal(t, LevelFull, r.Replayability.Level)
	edits := `[{"target":{"span_id":"` + b.id(draft) + `"},"set":{"system_prompt":"Write well."}}]`
	s := &script{answers: []json.RawMessage{assistant(t, "Bees dance to talk.", nil, nil), assistant(t, "Bees dance.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, []string{"reissued chat gpt-5", "copied chat gpt-5", "reissued chat gpt-5"}, sources(attempt), "the forecast does not depend on the edit")
	assert.JSONEq(t, `{"role":"user","content":"Bees dance to talk."}`, string(s.calls[1].Request.Messages[1]))
	assert.Equal(t, last, s.calls[1].Recorded)
	assert.JSONEq(t, `{"text":"Bees dance.","words":3}`, attempt.Steps[3].Outputs)
	cone := r.Cone([]int{draft})
	assert.Equal(t, []bool{true, true, true, false, false, true, true}, cone)

	b, draft, _ = record(func(text string) string { return "Edit this text: " + text })
	r = b.read()
	s = &script{answers: []json.RawMessage{assistant(t, "Bees dance to talk.", nil, nil)}}
	attempt = run(t, r, `[{"target":{"span_id":"`+b.id(draft)+`"},"set":{"system_prompt":"Write well."}}]`, Options{}, s)
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
	assert.Equal(t, LevelLLM, r.Replayability.Level, "a text that only the program makes")
	assert.Equal(t, "opaque_requests", r.Replayability.Missing[0].Code)
	// The same answer: the recorded text still holds.
	s = &script{answers: []json.RawMessage{assistant(t, "Bees are insects that make honey.", nil, nil), assistant(t, "Bees make honey.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.id(draft)}, s)
	assert.Equal(t, -1, attempt.FirstDivergence)

	// A text that the model was told may be in a prompt for another reason.
	b = newBuilder(t)
	root := b.frame("workflow", "routing", -1)
	first := b.dialogue(b.frame("agent", "router", root), "Answer with refunds department or sales department.", "Money back!").say("refunds department")
	b.dialogue(b.frame("agent", "desk", root), "You know the refunds department.", "Money back!").say("Done.")
	r = b.read()
	assert.Equal(t, LevelFull, r.Replayability.Level)
	s = &script{answers: []json.RawMessage{assistant(t, "sales department", nil, nil), assistant(t, "Done.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.id(first)}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
}

func TestDoneOfAnother(t *testing.T) {
	t.Parallel()
	b, _, _ := weather(t)
	r := b.read()
	attempt := run(t, r, `[]`, Options{}, nil)
	_, err := Replay(t.Context(), r, checked(t, r, `[]`), Options{Done: append(attempt.Steps, attempt.Steps...)}, nil)
	require.ErrorIs(t, err, ErrNotDone)
	again, err := Replay(t.Context(), r, checked(t, r, `[]`), Options{Done: attempt.Steps}, nil)
	require.NoError(t, err)
	assert.Equal(t, attempt, again)

	b.spans[1].InputMessages = nil
	r = b.read()
	_, err = Replay(t.Context(), r, checked(t, r, `[]`), Options{Executor: ExecutorServer, ForkSpanID: b.id(1)}, echo(t, r))
	require.ErrorContains(t, err, "no messages")
}
