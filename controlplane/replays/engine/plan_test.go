package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	delete(b.Effect, "weather")
	for _, i := range tools {
		b.Spans[i].Attributes = nil
	}
	b.Spans[models[2]].InputTokens = nil
	r := b.Read()
	edits := recordedtest.Checked(t, r, `[{"target":{"span_id":"`+b.ID(tools[0])+`"},"set":{"tool_result":"cold"}}]`)
	plan, err := MakePlan(r, edits, Options{Executor: ExecutorServer})
	require.NoError(t, err)
	var fates []Fate
	for _, step := range plan.Steps {
		fates = append(fates, step.Fate)
	}
	assert.Equal(t, []Fate{FateUnknown, FateCopied, FateServed, FateLive, FateUnknown, FateLive}, fates, "the agent's output is unknown")
	assert.Equal(t, tools[0], plan.Fork)
	assert.Equal(t, map[Fate]int{FateCopied: 1, FateServed: 1, FateLive: 2, FateUnknown: 1}, plan.Counts)
	assert.Equal(t, []int{0}, plan.Steps[tools[0]].Edits)
	assert.Equal(t, MissStop, plan.Steps[tools[1]].OnMiss)
	assert.Equal(t, recorded.SideEffectsWrite, plan.Steps[tools[1]].SideEffects)
	assert.Equal(t, "If the model goes on as recorded.", plan.Steps[models[2]].Note)
	assert.Equal(t, StopCompleted, plan.Stop.Reason)
	require.Len(t, plan.Warnings, 1)
	assert.Equal(t, WarnSideEffects, plan.Warnings[0].Code)
	assert.Contains(t, plan.Warnings[0].Detail, "weather")

	assert.Equal(t, Estimate{Calls: 1, ByModel: map[string]Tokens{"gpt-5": {Calls: 1, Input: 100, Output: 10}}}, plan.Calls.Least)
	likely := plan.Calls.Likely.ByModel["gpt-5"]
	assert.Equal(t, 2, plan.Calls.Likely.Calls)
	assert.EqualValues(t, 1, likely.Guessed)
	guess := int64(0)
	for _, list := range [][]json.RawMessage{r.Steps[models[2]].Model.Request.Messages, r.Steps[models[2]].Model.Request.Tools} {
		for _, one := range list {
			guess += int64(len(one))
		}
	}
	assert.InDelta(t, 100+float64(guess)/2.7, likely.Input, 1)
	most := plan.Calls.Most
	assert.Equal(t, 2*5+5, most.Calls)
	assert.EqualValues(t, most.Calls, most.ByModel["gpt-5"].Guessed, "as large as the largest, which is guessed")

	policy := map[string]ToolPolicy{"weather": {OnMiss: MissFixed, Result: new("?"), SideEffects: recorded.SideEffectsRead}}
	plan, err = MakePlan(r, edits, Options{Executor: ExecutorServer, Tools: policy})
	require.NoError(t, err)
	assert.Empty(t, plan.Warnings)
	assert.Equal(t, MissFixed, plan.Steps[tools[1]].OnMiss)
	assert.Equal(t, recorded.SideEffectsRead, plan.Steps[tools[1]].SideEffects)

	plan, err = MakePlan(r, edits, Options{})
	require.NoError(t, err)
	assert.Equal(t, StopMiss, plan.Stop.Reason)
	assert.Equal(t, b.ID(models[1]), plan.Stop.SpanID)
	assert.Equal(t, "The attempt ends before.", plan.Steps[models[2]].Note)
	assert.Zero(t, plan.Calls.Most.Calls)

	plan, err = MakePlan(r, recordedtest.Checked(t, r, `[]`), Options{})
	require.NoError(t, err)
	assert.Equal(t, map[Fate]int{FateCopied: 5}, plan.Counts)
	assert.Equal(t, -1, plan.Fork)

	// A timeout that is no shorter than the call took: nothing is called.
	plan, err = MakePlan(r, recordedtest.Checked(t, r, `[{"target":{"kind":"tool","name":"weather"},"set":{"timeout_ms":5000}}]`), Options{Executor: ExecutorServer})
	require.NoError(t, err)
	assert.Equal(t, map[Fate]int{FateCopied: 5}, plan.Counts)
	_, err = MakePlan(r, edits, Options{Executor: "other"})
	require.ErrorIs(t, err, errExecutor)
}

// TestPlanOfAgents: what depends on an answer that nobody has is unknown.
func TestPlanOfAgents(t *testing.T) {
	t.Parallel()
	b, inner, outer := nested(t, func(text string) string { return text })
	r := b.Read()
	plan, err := MakePlan(r, recordedtest.Checked(t, r, `[{"target":{"span_id":"`+b.ID(inner[0])+`"},"set":{"model":"m2"}}]`), Options{Executor: ExecutorServer})
	require.NoError(t, err)
	assert.Equal(t, FateLive, plan.Steps[inner[0]].Fate)
	assert.Equal(t, FateUnknown, plan.Steps[outer[1]].Fate)
	assert.Equal(t, FateLive, plan.Steps[outer[2]].Fate)
	assert.Equal(t, FateCopied, plan.Steps[outer[0]].Fate)
	assert.Equal(t, map[string]Tokens{"m2": {Calls: 1, Input: 100, Output: 10}, "gpt-5": {Calls: 1, Input: 100, Output: 10}}, plan.Calls.Likely.ByModel)
}

// TestLargeRuns reads and replays runs that are long, deep, and the same text again and again.
func TestLargeRuns(t *testing.T) {
	t.Parallel()
	b := recordedtest.New(t)
	root := b.Frame("agent", "a", -1)
	d := b.Dialogue(root, "", "Go.", "get")
	for range 300 {
		d.Ask(recordedtest.Call{Name: "get", Arguments: `{"k":1}`, Result: "aaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
	}
	d.Say("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	parent := root
	for n := range 20_000 { // a chain of spans
		parent = b.Open([]string{"span", "tool"}[n%2], "deep", parent)
	}
	r := b.Read()
	require.Len(t, r.Loops, 1)
	attempt := run(t, r, `[]`, Options{ForkSpanID: b.ID(1)}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, -1, attempt.FirstDivergence)
	assert.Len(t, attempt.Steps, len(b.Spans))
}
