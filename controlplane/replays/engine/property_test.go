package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
)

// inventRun makes a run of several agents: loops of several turns, parallel and repeated calls, agents as tools, agents that get the
// answer of the one before.
func inventRun(tb testing.TB, random *rand.Rand) *recordedtest.Builder {
	tb.Helper()
	b := recordedtest.New(tb)
	b.Effect["read_0"], b.Effect["read_1"], b.Effect["write_0"] = "read", "read", "write"
	root := b.Frame("workflow", "root", -1)
	input := "Begin with the first thing."
	for n := range 1 + random.IntN(3) {
		agent := b.Frame("agent", fmt.Sprintf("agent_%d", n), root)
		answer := inventLoop(b, random, agent, input, 2)
		b.Close(agent)
		b.Spans[agent].Outputs = answer
		if random.IntN(2) == 0 {
			input = answer
		} else {
			input = fmt.Sprintf("Another thing, number %d.", random.IntN(5))
		}
	}
	b.Spans[root].Outputs = input
	b.Close(root)
	return b
}

func inventLoop(b *recordedtest.Builder, random *rand.Rand, agent int, input string, depth int) (answer string) {
	system := ""
	if random.IntN(2) == 0 {
		system = "You are an agent."
	}
	d := b.Dialogue(agent, system, input, "read_0", "read_1", "write_0", "expert")
	for turn := range 1 + random.IntN(2) {
		if turn > 0 {
			d.User(fmt.Sprintf("Go on with %d.", random.IntN(9)))
		}
		for range random.IntN(4) {
			if depth > 0 && random.IntN(4) == 0 {
				askExpert(d, random, depth)
				continue
			}
			var calls []recordedtest.Call
			for range 1 + random.IntN(3) {
				name := []string{"read_0", "read_1", "write_0"}[random.IntN(3)]
				calls = append(calls, recordedtest.Call{Name: name, Arguments: fmt.Sprintf(`{"k":%d}`, random.IntN(3)), Result: fmt.Sprintf(`{"value":%d}`, random.IntN(4))})
			}
			d.Ask(calls...)
		}
		answer = fmt.Sprintf("The answer to this part is %d.", random.IntN(1000))
		d.Say(answer)
	}
	return answer
}

// askExpert calls an agent as a tool.
func askExpert(d *recordedtest.Dialogue, random *rand.Rand, depth int) {
	d.Wrote++
	id := fmt.Sprintf("call_%08d", d.Wrote)
	question := fmt.Sprintf("What is the number %d?", random.IntN(100))
	c := recordedtest.Call{Name: "expert", Arguments: fmt.Sprintf(`{"question":%q}`, question)}
	d.Respond(recordedtest.Assistant(d.Tb, "", []recordedtest.Call{c}, []string{id}))
	tool := d.Open("tool", "expert", d.Parent)
	agent := d.Frame("agent", "expert", tool)
	c.Result = inventLoop(d.Builder, random, agent, question, depth-1)
	d.Close(agent)
	d.Close(tool)
	d.Fill(tool, c, id)
}

// TestProperties replays made-up runs from each of their steps.
func TestProperties(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const runs = 25
	var copied, served, live int
	for n := range runs {
		b := inventRun(t, random)
		r := b.Read()
		require.Equal(t, recorded.LevelFull, r.Replayability.Level, "run %d: %+v", n, r.Replayability)
		null, err := edit.Check(r, nil, "edits")
		require.NoError(t, err)
		for i := range r.Steps {
			if r.Steps[i].Kind == recorded.KindFrame || random.IntN(3) > 0 {
				continue
			}
			fork := Options{ForkSpanID: r.Steps[i].SpanID}
			attempt, err := Replay(t.Context(), r, null, fork, nil)
			require.NoError(t, err)
			require.Equal(t, StopCompleted, attempt.Stop.Reason, "run %d from %d: %+v", n, i, attempt.Stop)
			if !assertSame(t, fmt.Sprintf("run %d from %d", n, i), b.Spans, r, attempt) {
				return
			}
			fork.Executor = ExecutorServer
			again, err := Replay(t.Context(), r, null, fork, echo(t, r))
			require.NoError(t, err)
			require.Equal(t, StopCompleted, again.Stop.Reason, "run %d from %d: %+v", n, i, again.Stop)
			require.Equal(t, -1, again.FirstDivergence, "run %d from %d", n, i)
			require.Equal(t, *r.Duration, *again.Duration, "run %d from %d", n, i)

			plan, err := MakePlan(r, null, fork)
			require.NoError(t, err)
			downstream := r.Downstream([]int{i})
			for _, step := range again.Steps {
				if step.Kind == recorded.KindFrame {
					continue
				}
				fate := plan.Steps[step.Recorded].Fate
				switch step.Source {
				case SourceCopied:
					copied++
				case SourceReissued:
					live++
					require.NotEqual(t, FateCopied, fate, "run %d from %d: step %d is called", n, i, step.Recorded)
				default:
					served++
				}
				if !downstream[step.Recorded] {
					require.Equal(t, SourceCopied, step.Source, "run %d from %d: step %d is not downstream", n, i, step.Recorded)
					require.Equal(t, FateCopied, fate, "run %d from %d: step %d is not downstream", n, i, step.Recorded)
				}
				switch fate {
				case FateCopied:
					require.Equal(t, SourceCopied, step.Source, "run %d from %d: step %d", n, i, step.Recorded)
				case FateLive:
					require.Equal(t, SourceReissued, step.Source, "run %d from %d: step %d", n, i, step.Recorded)
				}
			}
			require.LessOrEqual(t, plan.Calls.Least.Calls, again.Spent.Calls)
			require.GreaterOrEqual(t, plan.Calls.Most.Calls, again.Spent.Calls)
		}
	}
	assert.Greater(t, copied, 500)
	assert.Greater(t, served, 200)
	assert.Greater(t, live, 200)
}

// wild answers at random: as recorded, with another text, or with other calls.
func wild(tb testing.TB, r *recorded.Recording, random *rand.Rand) ModelFunc {
	tb.Helper()
	was := echo(tb, r)
	n := 0
	return func(ctx context.Context, c Call) (Answer, error) {
		n++
		if c.Recorded >= 0 && random.IntN(2) == 0 {
			return was(ctx, c)
		}
		if random.IntN(3) > 0 {
			return Answer{Response: recorded.Response{Message: recordedtest.Assistant(tb, fmt.Sprintf("Quite another answer, %d.", n), nil, nil)}, Duration: time.Millisecond}, nil
		}
		return Answer{Response: recorded.Response{Message: recordedtest.Assistant(tb, "", []recordedtest.Call{
			{Name: "read_0", Arguments: fmt.Sprintf(`{"k":%d}`, random.IntN(4))}, {Name: "write_0", Arguments: fmt.Sprintf(`{"k":%d}`, random.IntN(4))},
		}, []string{fmt.Sprintf("w%d_0", n), fmt.Sprintf("w%d_1", n)})}, Duration: time.Millisecond}, nil
	}
}

// TestWildAnswers: what differs is downstream of the edit; no recorded step stands twice; an attempt that is resumed at any step is the same.
func TestWildAnswers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	policies := map[string]ToolPolicy{AnyTool: {OnMiss: MissFixed, Result: new("nothing")}}
	stops := map[StopReason]int{}
	const runs = 80
	for n := range runs {
		b := inventRun(t, random)
		r := b.Read()
		var edits []edit.Edit
		var from []int
		i := random.IntN(len(r.Steps))
		for r.Steps[i].Kind == recorded.KindFrame {
			i = (i + 1) % len(r.Steps)
		}
		from = append(from, i)
		set := edit.Set{Model: new("other")}
		if r.Steps[i].Kind == recorded.KindTool {
			set = edit.Set{ToolResult: json.RawMessage(`"changed entirely"`)}
		}
		edits = append(edits, edit.Edit{Target: edit.Target{SpanID: r.Steps[i].SpanID}, Set: set})
		checked, err := edit.Check(r, edits, "edits")
		require.NoError(t, err)
		seed := random.Uint64()
		options := Options{Executor: ExecutorServer, Tools: policies}
		var stored []AttemptStep
		options.Store = func(_ context.Context, step AttemptStep) error {
			stored = append(stored, step)
			return nil
		}
		attempt, err := Replay(t.Context(), r, checked, options, wild(t, r, rand.New(rand.NewPCG(seed, 1))))
		require.NoError(t, err)
		require.Equal(t, stored, attempt.Steps)
		stops[attempt.Stop.Reason]++
		downstream := r.Downstream(from)
		stands := map[int]bool{}
		for _, step := range attempt.Steps {
			if step.Kind == recorded.KindFrame && step.Source != SourceNotReached {
				require.Equal(t, step.Differs, step.Source == SourceDerived, "run %d: frame %d is %s", n, step.Recorded, step.Source)
			}
			require.False(t, step.Differs && step.Source == SourceCopied, "run %d: step %d differs and is copied", n, step.Recorded)
			if step.Recorded < 0 {
				require.True(t, step.Parent < 0 || downstream[step.Parent], "run %d: a new step is downstream", n)
				continue
			}
			require.False(t, stands[step.Recorded], "run %d: step %d stands twice", n, step.Recorded)
			stands[step.Recorded] = true
			if step.Differs && attempt.Stop.Reason == StopCompleted {
				require.True(t, downstream[step.Recorded], "run %d: step %d differs without being downstream", n, step.Recorded)
			}
		}
		require.Len(t, stands, len(r.Steps), "run %d: every recorded step is accounted for", n)
		write(t, r, attempt)

		cut := random.IntN(len(stored))
		text, err := json.Marshal(stored[:cut])
		require.NoError(t, err)
		var done []AttemptStep
		require.NoError(t, json.Unmarshal(text, &done))
		made := 0
		for _, step := range done {
			if step.Source == SourceReissued {
				made++
			}
		}
		model, skipped := wild(t, r, rand.New(rand.NewPCG(seed, 1))), 0
		options.Done = done
		options.Store = func(context.Context, AttemptStep) error { return nil }
		resumed, err := Replay(t.Context(), r, checked, options, func(ctx context.Context, c Call) (Answer, error) {
			for ; skipped < made; skipped++ { // the same random numbers as the attempt that was interrupted
				var before Call
				for at, step := range done {
					if step.Source == SourceReissued && before.Key == "" && countReissued(done[:at]) == skipped {
						before = Call{Key: fmt.Sprintf("step-%d", step.Index), Recorded: step.Recorded, Request: *step.Request}
					}
				}
				if _, err := model(ctx, before); err != nil {
					var refused *CallError
					require.ErrorAs(t, err, &refused)
				}
			}
			return model(ctx, c)
		})
		require.NoError(t, err)
		require.JSONEq(t, string(recordedtest.Raw(t, attempt)), string(recordedtest.Raw(t, resumed)), "run %d resumed after %d steps", n, cut)
	}
	assert.Greater(t, stops[StopCompleted], runs/4, stops)
}

func countReissued(steps []AttemptStep) (n int) {
	for _, step := range steps {
		if step.Source == SourceReissued {
			n++
		}
	}
	return n
}

// TestConcurrentAttempts: attempts share a recording.
func TestConcurrentAttempts(t *testing.T) {
	t.Parallel()
	b := inventRun(t, rand.New(rand.NewPCG(9, 9)))
	r := b.Read()
	want := r.Steps
	var group errgroup.Group
	for n := range uint64(8) {
		group.Go(func() error {
			edits, err := edit.Check(r, []edit.Edit{{Target: edit.Target{All: true}, Set: edit.Set{Input: new(fmt.Sprintf("Another input, number %d.", n))}}}, "edits")
			if err != nil {
				return err
			}
			attempt, err := Replay(context.Background(), r, edits, Options{Executor: ExecutorServer}, wild(t, r, rand.New(rand.NewPCG(n, 1))))
			if err != nil {
				return err
			}
			writer := NewSpanWriter(r)
			for _, step := range attempt.Steps {
				if _, err := writer.Form(step); err != nil {
					return err
				}
			}
			_, err = MakePlan(r, edits, Options{Executor: ExecutorServer})
			return err
		})
	}
	require.NoError(t, group.Wait())
	assert.Equal(t, want, b.Read().Steps)
}
