package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
)

func TestNullEdit(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	r := b.Read()
	attempt := run(t, r, `[]`, Options{}, nil)
	assert.Equal(t, map[string]int{"copied": 5}, attempt.Exposure)
	assert.Equal(t, *r.Duration, *attempt.Duration)
	assert.Equal(t, "Paris 21, Rome 30.", *attempt.Answer)
	assertSame(t, "copied", b.Spans, r, attempt)

	// A control in the cassette is served the recorded answers.
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.ID(models[1])}, nil)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "served chat gpt-5", "served weather", "served chat gpt-5"}, sources(attempt))
	assert.Equal(t, map[string]int{"copied": 2, "hit": 3}, attempt.Exposure)
	assertSame(t, "served", b.Spans, r, attempt)

	// A control that asks again forks at the same step.
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Paris 21, Rome 30.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.ID(tools[1])}, s)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "copied chat gpt-5", "copied weather", "reissued chat gpt-5"}, sources(attempt))
	assertSame(t, "reissued", b.Spans, r, attempt)
	assert.Equal(t, Spent{Calls: 1, InputTokens: 50, OutputTokens: 5, CostUSD: 0.01, Duration: 200 * time.Millisecond}, attempt.Spent)
	assert.Equal(t, *r.Duration+100*time.Millisecond, *attempt.Duration, "the call took longer")
}

func TestEditToolResult(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	r := b.Read()
	edits := `[{"target":{"span_id":"` + b.ID(tools[0]) + `"},"set":{"tool_result":{"degrees":-5}}}]`

	attempt := run(t, r, edits, Options{}, nil)
	assert.Equal(t, StopMiss, attempt.Stop.Reason)
	assert.Equal(t, b.ID(models[1]), attempt.Stop.SpanID)
	assert.Equal(t, []string{"copied chat gpt-5", "edited weather", "not_reached chat gpt-5", "not_reached weather", "not_reached chat gpt-5"}, sources(attempt))
	assert.Nil(t, attempt.Duration)

	s := &script{answers: []json.RawMessage{
		recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"live_1"}),
		recordedtest.Assistant(t, "Paris -5, Rome 30.", nil, nil),
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
	assert.Equal(t, recorded.KindFrame, frame.Kind)
	assert.Equal(t, "Paris -5, Rome 30.", frame.Outputs, "the output of the agent is its last answer")

	written := write(t, r, attempt)
	assert.Equal(t, `{"degrees":-5}`, written[2].ToolResult)
	require.Len(t, written, len(b.Spans))
}

func TestEdits(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	b.Spans[models[0]].AttributesJSON = map[string]string{"gen_ai.request.temperature": "0.5", "gen_ai.request.max_tokens": "100"}
	r := b.Read()
	last := `{"span_id":"` + b.ID(models[2]) + `"}`
	first := `{"span_id":"` + b.ID(models[0]) + `"}`
	for _, test := range []struct {
		name, edits string
		want        func(*recorded.Request)
	}{
		{"model", `[{"target":` + last + `,"set":{"model":"m2"}}]`, func(q *recorded.Request) { q.Model = "m2" }},
		{"params", `[{"target":` + first + `,"set":{"params":{"temperature":null,"max_completion_tokens":5}}}]`, func(q *recorded.Request) {
			q.Params = map[string]json.RawMessage{"max_completion_tokens": json.RawMessage("5")}
		}},
		{"system prompt", `[{"target":` + last + `,"set":{"system_prompt":"Be long."}}]`, func(q *recorded.Request) { q.Messages[0] = recordedtest.Message("system", "Be long.") }},
		{"prompt", `[{"target":` + last + `,"set":{"prompt":{"id":"p","version":2,"model":"m3","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]}}}]`, func(q *recorded.Request) {
			q.Model, q.Messages[0], q.Messages[1] = "m3", recordedtest.Message("system", "S"), recordedtest.Message("user", "U")
		}},
		{"prompt of the system only", `[{"target":` + last + `,"set":{"prompt":{"id":"p","version":2,"messages":[{"role":"system","content":"S"}]}}}]`, func(q *recorded.Request) {
			q.Messages[0] = recordedtest.Message("system", "S")
		}},
		{"messages", `[{"target":` + last + `,"set":{"messages":[{"role":"user","content":"Hi"}]}}]`, func(q *recorded.Request) { q.Messages = []json.RawMessage{recordedtest.Message("user", "Hi")} }},
		{"tool schema", `[{"target":` + last + `,"set":{"tool_schema":{"type":"function","function":{"name":"weather","description":"New."}}}}]`, func(q *recorded.Request) {
			q.Tools[0] = json.RawMessage(`{"type":"function","function":{"name":"weather","description":"New."}}`)
		}},
		{"input", `[{"target":"all","set":{"input":"Weather in Bonn?"}}]`, func(q *recorded.Request) { q.Messages[1] = recordedtest.Message("user", "Weather in Bonn?") }},
	} {
		s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Done.", nil, nil)}}
		attempt := run(t, r, test.edits, Options{}, s)
		assert.Equal(t, StopCompleted, attempt.Stop.Reason, test.name)
		want := r.Steps[s.calls[0].Recorded].Model.Request.Clone()
		test.want(&want)
		assert.Equal(t, want.Digest(recorded.MessageCache{}), s.calls[0].Request.Digest(recorded.MessageCache{}), "%s: %s", test.name, recordedtest.Raw(t, s.calls[0].Request))
		assert.Equal(t, "Done.", *attempt.Answer, test.name)

		// Nothing is asked in the cassette, and the plan knows where it stops.
		cassette := run(t, r, test.edits, Options{}, nil)
		assert.Equal(t, StopMiss, cassette.Stop.Reason, test.name)
		plan, err := MakePlan(r, recordedtest.Checked(t, r, test.edits), Options{})
		require.NoError(t, err)
		assert.Equal(t, cassette.Stop, plan.Stop, test.name)
	}
}

func TestEditResponse(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	r := b.Read()
	edit := func(response json.RawMessage) string {
		return `[{"target":{"span_id":"` + b.ID(models[1]) + `"},"set":{"response":` + string(response) + `}}]`
	}
	// A decision to stop needs no model.
	attempt := run(t, r, edit(recordedtest.Assistant(t, "I give up.", nil, nil)), Options{}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, "I give up.", *attempt.Answer)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "edited chat gpt-5", "not_reached weather", "not_reached chat gpt-5"}, sources(attempt))
	assert.Equal(t, 3*(recordedtest.Took+recordedtest.Pause), *attempt.Duration)

	// A decision that was recorded changes nothing.
	attempt = run(t, r, edit(recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, -1, attempt.FirstDivergence)

	// A tool that nobody called stops.
	attempt = run(t, r, edit(recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Oslo"}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopMiss, attempt.Stop.Reason)
	assert.Equal(t, `The recording has no call of the tool "weather" with the same arguments (different: "city").`, attempt.Stop.Detail)
	odd := `{"city":"Paris","Oslo, of course":1}`
	attempt = run(t, r, edit(recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: odd}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, `The recording has no call of the tool "weather" with the same arguments.`, attempt.Stop.Detail, "a name that a model made up is no name")
	attempt = run(t, r, edit(recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "book", Arguments: `{}`}}, []string{"x"})), Options{}, nil)
	assert.Equal(t, StopWriteBarrier, attempt.Stop.Reason)
	assert.Equal(t, `The recording has no call of the tool "book". It counts as a tool that writes.`, attempt.Stop.Detail)
	assert.Contains(t, attempt.Stop.Remedy, "only reads")

	fixed := Options{Tools: map[string]ToolPolicy{"weather": {OnMiss: MissFixed, Result: new("cold")}}}
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Cold.", nil, nil)}}
	attempt = run(t, r, edit(recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Oslo"}`}}, []string{"x"})), fixed, s)
	assert.Equal(t, []string{"copied chat gpt-5", "copied weather", "edited chat gpt-5", "fixed weather", "reissued chat gpt-5", "not_reached weather"}, sources(attempt))
	assert.Equal(t, "Cold.", *attempt.Answer)
}

func TestMoreAndFewerCalls(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	r := b.Read()
	edits := `[{"target":{"span_id":"` + b.ID(models[2]) + `"},"set":{"model":"m2"}}]`
	again := func(id string) json.RawMessage {
		return recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Paris"}`}}, []string{id})
	}
	s := &script{answers: []json.RawMessage{again("a"), again("b"), recordedtest.Assistant(t, "Done.", nil, nil)}}
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

	early := `[{"target":{"span_id":"` + b.ID(models[0]) + `"},"set":{"model":"m2"}}]`
	attempt = run(t, r, early, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "No.", nil, nil)}})
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, map[string]int{"reissued": 1, "not_reached": 4}, attempt.Exposure)
}

func TestTurns(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	b.Effect["weather"] = "read"
	root := b.Frame("agent", "forecaster", -1)
	d := b.Dialogue(root, "", "Weather in Paris?", "weather")
	first := d.Ask(recordedtest.Call{Name: "weather", Arguments: `{"city":"Paris"}`, Result: "21"})
	d.Say("It is 21.")
	d.User("And in Rome?")
	d.Ask(recordedtest.Call{Name: "weather", Arguments: `{"city":"Rome"}`, Result: "30"})
	d.Say("It is 30.")
	r := b.Read()
	require.Len(t, r.Loops, 1)
	require.Equal(t, recorded.LevelFull, r.Replayability.Level)

	edits := `[{"target":{"span_id":"` + b.ID(first[1]) + `"},"set":{"tool_result":"-5"}}]`
	s := &script{answers: []json.RawMessage{
		recordedtest.Assistant(t, "It is -5.", nil, nil),
		recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"x"}),
		recordedtest.Assistant(t, "It is 30.", nil, nil),
	}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.False(t, attempt.Steps[2].Stale)
	assert.True(t, attempt.Steps[3].Stale, "the user answers what was not said")
	assert.JSONEq(t, `{"role":"user","content":"And in Rome?"}`, string(s.calls[1].Request.Messages[4]))
	assert.JSONEq(t, `{"role":"assistant","content":"It is -5."}`, string(s.calls[1].Request.Messages[3]))

	// The same answer: nothing is stale.
	s = &script{answers: []json.RawMessage{
		recordedtest.Assistant(t, "It is 21.", nil, nil), recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"x"}), recordedtest.Assistant(t, "It is 30.", nil, nil),
	}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.ID(first[1])}, s)
	for _, step := range attempt.Steps {
		assert.False(t, step.Stale || step.Differs, step.Name)
	}
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	b, models, _ := recordedtest.Weather(t)
	r := b.Read()
	edits := recordedtest.Checked(t, r, `[{"target":{"span_id":"`+b.ID(models[1])+`"},"set":{"model":"m2"}}]`)
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
	b, _, tools := recordedtest.Weather(t)
	r := b.Read()
	edits := recordedtest.Checked(t, r, `[{"target":{"span_id":"`+b.ID(tools[0])+`"},"set":{"tool_result":"-5"}}]`)
	answers := []json.RawMessage{
		recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"live_1"}),
		recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "weather", Arguments: `{"city":"Rome"}`}}, []string{"live_2"}),
		recordedtest.Assistant(t, "Done.", nil, nil),
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
		assert.JSONEq(t, string(recordedtest.Raw(t, want)), string(recordedtest.Raw(t, got)), "after %d steps", n)
		for i, c := range rest.calls {
			assert.Equal(t, whole.calls[made+i].Key, c.Key)
		}
	}
	other := recordedtest.Checked(t, r, `[{"target":{"span_id":"`+b.ID(tools[0])+`"},"set":{"tool_result":"0"}}]`)
	_, err = Replay(context.Background(), r, other, Options{Executor: ExecutorServer, Done: stored}, whole.model)
	require.ErrorIs(t, err, ErrNotDone)
}

// nested is an agent with a sub-agent as a tool.
func nested(tb testing.TB, result func(string) string) (b *recordedtest.Builder, inner, outer []int) {
	tb.Helper()
	b = recordedtest.New(tb)
	root := b.Frame("agent", "boss", -1)
	d := b.Dialogue(root, "Delegate.", "What is the capital of Peru?", "expert")
	d.Wrote++
	c := recordedtest.Call{Name: "expert", Arguments: `{"question":"capital of Peru"}`}
	outer = append(outer, d.Respond(recordedtest.Assistant(tb, "", []recordedtest.Call{c}, []string{"call_00000001"})))
	tool := b.Open("tool", "expert", root)
	agent := b.Frame("agent", "expert", tool)
	e := b.Dialogue(agent, "You know all.", "capital of Peru")
	inner = append(inner, e.Say("The capital is Lima."))
	b.Close(agent)
	b.Close(tool)
	c.Result = result("The capital is Lima.")
	d.Fill(tool, c, "call_00000001")
	outer = append(outer, tool, d.Say("Lima."))
	return b, inner, outer
}

func TestNested(t *testing.T) {
	t.Parallel()
	b, inner, outer := nested(t, func(text string) string { return text })
	r := b.Read()
	require.Equal(t, recorded.LevelFull, r.Replayability.Level)
	require.Len(t, r.Loops, 2)
	edits := `[{"target":{"span_id":"` + b.ID(inner[0]) + `"},"set":{"model":"m2"}}]`
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "It is Cusco, surely.", nil, nil), recordedtest.Assistant(t, "Cusco.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, []string{"copied chat gpt-5", "reissued chat gpt-5", "derived expert", "reissued chat gpt-5"}, sources(attempt))
	assert.Contains(t, string(s.calls[1].Request.Messages[3]), "It is Cusco, surely.", "the result of the tool is the answer of its agent")
	assert.Equal(t, "Cusco.", *attempt.Answer)

	// The same answer changes nothing above.
	s = &script{answers: []json.RawMessage{recordedtest.Assistant(t, "The capital is Lima.", nil, nil), recordedtest.Assistant(t, "Lima.", nil, nil)}}
	attempt = run(t, r, edits, Options{}, s)
	assert.Equal(t, "copied expert", sources(attempt)[2])

	// An edit above takes the tool with what is below it.
	attempt = run(t, r, `[{"target":{"span_id":"`+b.ID(outer[0])+`"},"set":{"model":"m2"}}]`, Options{}, &script{answers: []json.RawMessage{
		recordedtest.Assistant(t, "", []recordedtest.Call{{Name: "expert", Arguments: `{"question":"capital of Peru"}`}}, []string{"x"}), recordedtest.Assistant(t, "Lima.", nil, nil),
	}})
	assert.Equal(t, []string{"reissued chat gpt-5", "served expert", "copied chat gpt-5", "reissued chat gpt-5"}, sources(attempt))
	attempt = run(t, r, `[{"target":{"span_id":"`+b.ID(outer[1])+`"},"set":{"tool_result":"Nobody knows."}}]`, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "?", nil, nil)}})
	assert.Equal(t, []string{"copied chat gpt-5", "edited expert", "reissued chat gpt-5", "not_reached chat gpt-5"}, sources(attempt))

	// A result that the program makes of the answer is opaque.
	b, inner, _ = nested(t, func(text string) string { return "Expert (1 step): " + strings.ToUpper(text) })
	r = b.Read()
	attempt = run(t, r, `[{"target":{"span_id":"`+b.ID(inner[0])+`"},"set":{"model":"m2"}}]`, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Cusco.", nil, nil)}})
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
}

func TestSequentialAgents(t *testing.T) {
	t.Parallel()
	record := func(second func(string) string) (*recordedtest.Builder, int, int) {
		b := recordedtest.New(t)
		root := b.Frame("workflow", "report", -1)
		writer := b.Frame("agent", "writer", root)
		draft := b.Dialogue(writer, "Write.", "About bees").Say("Bees are insects that make honey.")
		b.Close(writer)
		other := b.Frame("agent", "weather", root)
		b.Dialogue(other, "Forecast.", "Weather?").Say("Sunny all day long.")
		b.Close(other)
		editor := b.Frame("agent", "editor", root)
		d := b.Dialogue(editor, "Edit.", second("Bees are insects that make honey."))
		last := d.Say("Bees make honey.")
		b.Close(editor)
		b.Spans[root].Outputs = `{"text":"Bees make honey.","words":3}`
		return b, draft, last
	}
	b, draft, last := record(func(text string) string { return text })
	r := b.Read()
	require.Equal(t, recorded.LevelFull, r.Replayability.Level)
	edits := `[{"target":{"span_id":"` + b.ID(draft) + `"},"set":{"system_prompt":"Write well."}}]`
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Bees dance to talk.", nil, nil), recordedtest.Assistant(t, "Bees dance.", nil, nil)}}
	attempt := run(t, r, edits, Options{}, s)
	assert.Equal(t, []string{"reissued chat gpt-5", "copied chat gpt-5", "reissued chat gpt-5"}, sources(attempt), "the forecast does not depend on the edit")
	assert.JSONEq(t, `{"role":"user","content":"Bees dance to talk."}`, string(s.calls[1].Request.Messages[1]))
	assert.Equal(t, last, s.calls[1].Recorded)
	assert.JSONEq(t, `{"text":"Bees dance.","words":3}`, attempt.Steps[3].Outputs)
	downstream := r.Downstream([]int{draft})
	assert.Equal(t, []bool{true, true, true, false, false, true, true}, downstream)

	b, draft, _ = record(func(text string) string { return "Edit this text: " + text })
	r = b.Read()
	s = &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Bees dance to talk.", nil, nil)}}
	attempt = run(t, r, `[{"target":{"span_id":"`+b.ID(draft)+`"},"set":{"system_prompt":"Write well."}}]`, Options{}, s)
	assert.Equal(t, StopOpaque, attempt.Stop.Reason)
	assert.Equal(t, recorded.LevelLLM, r.Replayability.Level, "a text that only the program makes")
	assert.Equal(t, "opaque_requests", r.Replayability.Missing[0].Code)
	// The same answer: the recorded text still holds.
	s = &script{answers: []json.RawMessage{recordedtest.Assistant(t, "Bees are insects that make honey.", nil, nil), recordedtest.Assistant(t, "Bees make honey.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.ID(draft)}, s)
	assert.Equal(t, -1, attempt.FirstDivergence)

	// A text that the model was told may be in a prompt for another reason.
	b = recordedtest.New(t)
	root := b.Frame("workflow", "routing", -1)
	first := b.Dialogue(b.Frame("agent", "router", root), "Answer with refunds department or sales department.", "Money back!").Say("refunds department")
	b.Dialogue(b.Frame("agent", "desk", root), "You know the refunds department.", "Money back!").Say("Done.")
	r = b.Read()
	assert.Equal(t, recorded.LevelFull, r.Replayability.Level)
	s = &script{answers: []json.RawMessage{recordedtest.Assistant(t, "sales department", nil, nil), recordedtest.Assistant(t, "Done.", nil, nil)}}
	attempt = run(t, r, `[]`, Options{ForkSpanID: b.ID(first)}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
}

func TestDoneOfAnother(t *testing.T) {
	t.Parallel()
	b, _, _ := recordedtest.Weather(t)
	r := b.Read()
	attempt := run(t, r, `[]`, Options{}, nil)
	_, err := Replay(t.Context(), r, recordedtest.Checked(t, r, `[]`), Options{Done: append(attempt.Steps, attempt.Steps...)}, nil)
	require.ErrorIs(t, err, ErrNotDone)
	again, err := Replay(t.Context(), r, recordedtest.Checked(t, r, `[]`), Options{Done: attempt.Steps}, nil)
	require.NoError(t, err)
	assert.Equal(t, attempt, again)

	b.Spans[1].InputMessages = nil
	r = b.Read()
	_, err = Replay(t.Context(), r, recordedtest.Checked(t, r, `[]`), Options{Executor: ExecutorServer, ForkSpanID: b.ID(1)}, echo(t, r))
	require.ErrorContains(t, err, "no messages")
}
