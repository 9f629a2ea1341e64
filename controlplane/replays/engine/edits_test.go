package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	b, models, tools := recordedtest.Weather(t)
	r := b.Read()
	for target, want := range map[string][]int{
		`"all"`: models, `{"kind":"model"}`: models, `{"kind":"llm","name":"forecaster"}`: models, `{"name":"chat gpt-5"}`: models, `{"kind":"agent","name":"forecaster"}`: models,
		`{"span_id":"` + strings.ToUpper(b.ID(models[2])) + `"}`: {models[2]},
	} {
		c := recordedtest.Checked(t, r, `[{"target":`+target+`,"set":{"model":"m"}}]`)
		assert.Equal(t, [][]int{want}, c.Targets, target)
		assert.Equal(t, want[0], c.Fork)
		assert.False(t, c.Structural)
	}
	for target, want := range map[string][]int{
		`"all"`: models, `{"kind":"model"}`: models, `{"kind":"tool"}`: tools, `{"kind":"agent"}`: slices.Sorted(slices.Values(slices.Concat(models, tools))),
	} {
		for _, set := range []string{`{"timeout_ms":60000}`, `{"retries":1}`} {
			c := recordedtest.Checked(t, r, `[{"target":`+target+`,"set":`+set+`}]`)
			assert.Equal(t, [][]int{want}, c.Targets, target)
			assert.True(t, c.Structural)
		}
	}
	// A plan, an attempt and the times agree: all is model calls.
	c := recordedtest.Checked(t, r, `[{"target":"all","set":{"timeout_ms":60000}}]`)
	plan, err := MakePlan(r, c, Options{})
	require.NoError(t, err)
	attempt, err := Replay(t.Context(), r, c, Options{}, nil)
	require.NoError(t, err)
	for _, step := range attempt.Steps {
		isModel := step.Kind == recorded.KindModel
		assert.Equal(t, isModel, len(plan.Steps[step.Recorded].Edits) > 0, step.Name)
		if step.Kind != recorded.KindFrame {
			assert.Equal(t, r.Steps[step.Recorded].Duration, step.Duration)
		}
	}
	c = recordedtest.Checked(t, r, `[{"target":{"kind":"tool","name":"weather"},"set":{"timeout_ms":5}}]`)
	assert.Equal(t, [][]int{tools}, c.Targets)
	assert.True(t, c.Structural)
	assert.Equal(t, b.ID(tools[0]), c.ForkSpanID(r))
	c = recordedtest.Checked(t, r, `[]`)
	assert.Equal(t, -1, c.Fork)
	assert.Empty(t, c.ForkSpanID(r))
	var edits []edit.Edit
	require.ErrorContains(t, json.Unmarshal([]byte(`[{"target":{"span":"x"},"set":{}}]`), &edits), "span_id")
	require.Error(t, json.Unmarshal([]byte(`[{"target":"some","set":{}}]`), &edits))
}

func TestResultOfFailedCall(t *testing.T) {
	t.Parallel()
	b, _, tools := recordedtest.Weather(t)
	b.Spans[tools[1]].Status, b.Spans[tools[1]].ErrorMessage = "error", "broke"
	r := b.Read()
	target := `{"target":{"span_id":"` + b.ID(tools[1]) + `"},"set":`
	attempt := run(t, r, `[`+target+`{"tool_result":"31"}}]`, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "31.", nil, nil)}})
	assert.Equal(t, "ok", attempt.Steps[3].Status)
	assert.Equal(t, "31", *attempt.Steps[3].Tool.Result)
	attempt = run(t, r, `[`+target+`{"tool_error":{"type":"Down","message":"gone"}}}]`, Options{}, &script{answers: []json.RawMessage{recordedtest.Assistant(t, "?", nil, nil)}})
	assert.Equal(t, "Error: Down: gone", *attempt.Steps[3].Tool.Result)
}

func TestTimeoutOfTool(t *testing.T) {
	t.Parallel()
	b, _, tools := recordedtest.Weather(t)
	r := b.Read()
	change := func(set string) string {
		return `[{"target":{"span_id":"` + b.ID(tools[0]) + `"},"set":` + set + `}]`
	}
	attempt := run(t, r, change(`{"timeout_ms":100}`), Options{}, nil)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Equal(t, map[string]int{"copied": 5}, attempt.Exposure)
	assert.Equal(t, -1, attempt.FirstDivergence)

	attempt = run(t, r, change(`{"timeout_ms":99}`), Options{}, nil)
	assert.Equal(t, StopMiss, attempt.Stop.Reason, "the model is told of the timeout")
	assert.Equal(t, runmodel.StatusError, attempt.Steps[1].Status)
	assert.Equal(t, 99*time.Millisecond, *attempt.Steps[1].Duration)
	s := &script{answers: []json.RawMessage{recordedtest.Assistant(t, "The service is slow.", nil, nil)}}
	attempt = run(t, r, change(`{"timeout_ms":99}`), Options{}, s)
	assert.Equal(t, StopCompleted, attempt.Stop.Reason)
	assert.Contains(t, string(s.calls[0].Request.Messages[3]), "timed out after 99ms")

	b.Spans[tools[0]].Status, b.Spans[tools[0]].ErrorType = "error", "TimeoutError"
	r = b.Read()
	attempt = run(t, r, change(`{"timeout_ms":500}`), Options{}, nil)
	assert.Equal(t, StopCensored, attempt.Stop.Reason)
}
