package engine

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// inventEdits makes up edits of one sort for steps of a run.
func inventEdits(random *rand.Rand, r *recorded.Recording) []edit.Edit {
	i := random.IntN(len(r.Steps))
	for r.Steps[i].Kind == recorded.KindFrame {
		i = (i + 1) % len(r.Steps)
	}
	step := &r.Steps[i]
	took := step.Duration.Milliseconds()
	sets := []edit.Set{{TimeoutMS: new(took / 2)}, {TimeoutMS: new(took + 1)}, {Retries: new(int64(random.IntN(2)))}}
	if step.Kind == recorded.KindTool {
		sets = append(sets, edit.Set{ToolResult: json.RawMessage(`"quite another result"`)}, edit.Set{ToolError: &edit.ToolError{Type: "Down", Message: "gone"}})
		if step.Tool.Result != nil {
			sets = append(sets, edit.Set{ToolResult: jsontext.MustEncode(*step.Tool.Result)})
		}
	} else {
		sets = append(sets, edit.Set{Model: new("other")}, edit.Set{Model: new(step.Model.Request.Model)}, edit.Set{Response: recordedtest.Message("assistant", "Quite another answer.")},
			edit.Set{Response: step.Model.Response.Message})
	}
	return []edit.Edit{{Target: edit.Target{SpanID: step.SpanID}, Set: sets[random.IntN(len(sets))]}}
}

// TestPlanIsWhatHappens compares plans of made-up edits of made-up runs with attempts.
func TestPlanIsWhatHappens(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	seen := map[string]int{}
	const runs = 1500
	for n := range runs {
		b := inventRun(t, random)
		for i := range b.Spans { // some calls failed, timed out, or were made more than once
			span := &b.Spans[i]
			if span.Kind != "tool" && span.Kind != "llm" || random.IntN(6) > 0 {
				continue
			}
			if span.Attributes == nil {
				span.Attributes = map[string]string{}
			}
			span.Attributes["looptrace.timeout_ms"] = "100"
			span.Attributes["looptrace.attempts"] = "2"
			if span.Kind == "tool" && random.IntN(2) == 0 {
				span.Status, span.ErrorType = runmodel.StatusError, "timeout"
			}
		}
		r := b.Read()
		edits := inventEdits(random, r)
		checked, err := edit.Check(r, edits, "edits")
		if err != nil {
			continue
		}
		set := string(recordedtest.Raw(t, edits[0].Set))
		plan, err := MakePlan(r, checked, Options{})
		require.NoError(t, err)
		attempt, err := Replay(t.Context(), r, checked, Options{}, nil)
		require.NoError(t, err)
		require.Equal(t, plan.Stop, attempt.Stop, "run %d, %s", n, set)
		for _, step := range attempt.Steps {
			require.GreaterOrEqual(t, step.Recorded, 0, "run %d, %s: the cassette makes no new calls", n, set)
			want := FateServed
			switch step.Source {
			case SourceCopied:
				want = FateCopied
			case SourceNotReached:
				want = FateUnknown
			case SourceDerived:
				if step.Kind == recorded.KindFrame && step.Outputs == "" && r.Steps[step.Recorded].Outputs != "" {
					want = FateUnknown
				}
			}
			fate := plan.Steps[step.Recorded].Fate
			require.Equal(t, want, fate, "run %d, %s of %v: step %d, a %s %s, is %s, differs %v: %+v, stop %+v", n, set, checked.Targets, step.Recorded, step.Kind, step.Name, step.Source, step.Differs, plan.Steps[step.Recorded], plan.Stop)
			seen[string(step.Source)+" "+string(step.Kind)]++
		}
		seen[string(plan.Stop.Reason)]++
		require.Zero(t, plan.Calls.Most.Calls)

		// With a model that answers as recorded, or not, what is said for certain holds.
		seed := random.Uint64()
		for _, model := range []ModelFunc{echo(t, r), wild(t, r, rand.New(rand.NewPCG(seed, 1)))} {
			options := Options{Executor: ExecutorServer, Tools: map[string]ToolPolicy{AnyTool: {OnMiss: MissFixed, Result: new("nothing")}}}
			plan, err := MakePlan(r, checked, options)
			require.NoError(t, err)
			attempt, err := Replay(t.Context(), r, checked, options, model)
			require.NoError(t, err)
			for _, step := range attempt.Steps {
				if step.Recorded < 0 || step.Kind == recorded.KindFrame {
					continue
				}
				planned := plan.Steps[step.Recorded]
				where := "run %d, %s: step %d, a %s, is planned %s (%s) and is %s; stop %+v, planned %+v"
				args := []any{n, set, step.Recorded, step.Kind, planned.Fate, planned.Note, step.Source, attempt.Stop, plan.Stop}
				seen["server "+string(planned.Fate)+" "+string(step.Source)]++
				switch {
				case step.Source == SourceNotReached:
					// The model may go another way.
					if planned.Fate == FateCopied || planned.Fate == FateServed {
						require.NotEqual(t, StopCompleted, attempt.Stop.Reason, append([]any{where}, args...)...)
					}
				case planned.Fate == FateCopied:
					require.Equal(t, SourceCopied, step.Source, append([]any{where}, args...)...)
				case planned.Fate == FateServed:
					require.NotContains(t, []Source{SourceCopied, SourceReissued}, step.Source, append([]any{where}, args...)...)
				case planned.Fate == FateLive:
					require.Equal(t, SourceReissued, step.Source, append([]any{where}, args...)...)
				}
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{
		"copied model", "copied tool", "copied frame", "served model", "served tool", "edited tool", "edited model", "derived frame", "derived tool",
		"server copied copied", "server live reissued", "server served edited", "server unknown served", "server unknown not_reached",
		string(StopCompleted), string(StopMiss), string(StopModelError), string(StopCensored),
	} {
		assert.Positive(t, seen[what], what)
	}
}
