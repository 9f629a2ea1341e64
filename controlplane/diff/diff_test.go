package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// planned is a step of a run that is written with its own ids and times.
type planned struct {
	parent     int // -1 for none
	kind, name string
	at, took   int // milliseconds
	input      string
	output     string
	reply      string
	failed     bool
}

// write makes a run of a plan. In texts, ID becomes an id of the run's own, and TIME a time of its clock.
func write(plan []planned, random *rand.Rand, start time.Time) Run {
	newID := func() string {
		var id uuid.UUID
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		return id.String()
	}
	own := newID()
	fill := func(text string, at time.Time) string {
		out := ""
		for i := 0; i < len(text); i++ {
			switch {
			case len(text)-i >= 2 && text[i:i+2] == "ID":
				out += own
				i++
			case len(text)-i >= 4 && text[i:i+4] == "TIME":
				out += at.Format(time.RFC3339)
				i += 3
			default:
				out += string(text[i])
			}
		}
		return out
	}
	ids := make([]uint64, len(plan))
	for i := range ids {
		ids[i] = random.Uint64() | 1
	}
	spans := make([]runs.Span, len(plan))
	outline := runs.Outline{Run: runmodel.Run{StartTime: start}}
	for i, p := range plan {
		at := start.Add(time.Duration(p.at) * time.Millisecond)
		s := runs.Span{Span: runmodel.Span{
			SpanID: ids[i], Kind: p.kind, Name: p.name, StartTime: at, EndTime: at.Add(time.Duration(p.took) * time.Millisecond), Status: "ok",
		}}
		if p.parent >= 0 {
			s.ParentSpanID = ids[p.parent]
		} else {
			outline.Run.RootSpanID = ids[i]
		}
		if p.failed {
			s.Status, s.ErrorMessage = "error", "broke"
		}
		if text := fill(p.input, at); text != "" {
			s.Inputs = &text
		}
		if text := fill(p.output, at); text != "" {
			s.Outputs = &text
		}
		if p.reply != "" {
			s.OutputMessages = []json.RawMessage{json.RawMessage(`{"role":"assistant","parts":[{"type":"text","content":"` + fill(p.reply, at) + `"}]}`)}
		}
		spans[i] = s
	}
	for i := range spans {
		outline.Spans = append(outline.Spans, spans[i].Span)
	}
	return Run{Outline: outline, Spans: spans}
}

// agent is a plan of an agent that calls a model and tools in turn.
func agent(turns int, random *rand.Rand) []planned {
	plan := []planned{{parent: -1, kind: "agent", name: "agent", took: turns * 100}}
	for i := range turns {
		at := i * 100
		plan = append(plan,
			planned{parent: 0, kind: "llm", name: "chat", at: at, took: 50, reply: fmt.Sprintf("turn %d: we look up item %d of ID", i, random.IntN(1000))},
			planned{parent: 0, kind: "tool", name: fmt.Sprint("tool", random.IntN(3)), at: at + 50, took: 50, input: fmt.Sprintf(`{"n": %d, "q": "item %d", "request": "ID", "at": "TIME"}`, i, random.IntN(1000)), output: fmt.Sprintf("found %d", random.IntN(1000))},
		)
	}
	return plan
}

// edit changes, drops and adds some steps of a plan.
func edit(plan []planned, random *rand.Rand, share float64) []planned {
	out := []planned{plan[0]}
	for _, p := range plan[1:] {
		if random.Float64() < share {
			switch random.IntN(3) {
			case 0:
				continue
			case 1:
				p.output += " and more"
				p.input += " "
			default:
				extra := p
				extra.name += "-extra"
				out = append(out, extra)
			}
		}
		out = append(out, p)
	}
	return out
}

// compared is the difference of two runs.
func compared(tb testing.TB, base, other Run) *Diff {
	tb.Helper()
	d, err := Compare(tb.Context(), base, other)
	require.NoError(tb, err)
	return d
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestDistanceIsAMeasure(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		plan := agent(3+random.IntN(60), random)
		changed := edit(plan, random, .2)
		a, b := write(plan, random, noon), write(changed, random, noon.Add(48*time.Hour))
		again := write(plan, random, noon.Add(1000*time.Hour))
		same := compared(t, a, again)
		require.Zero(t, same.Distance, "other ids and times are no difference")
		require.Equal(t, -1, same.FirstDivergence)
		require.Equal(t, len(plan), same.Counts[Same])
		there, back := compared(t, a, b), compared(t, b, a)
		require.InDelta(t, there.Distance, back.Distance, 1e-12, "seed %d", seed)
		require.Equal(t, there.Counts[Changed], back.Counts[Changed])
		require.Equal(t, there.Counts[Added], back.Counts[Removed])
		require.LessOrEqual(t, there.Distance, 1.)
		require.InDelta(t, there.Distance, compared(t, again, write(changed, random, noon)).Distance, 1e-12, "the distance is that of what was done")
		// Every step of both runs is listed once.
		seenA, seenB := map[int]bool{}, map[int]bool{}
		for _, s := range there.Steps {
			if s.Base >= 0 {
				require.False(t, seenA[s.Base])
				seenA[s.Base] = true
			}
			if s.Other >= 0 {
				require.False(t, seenB[s.Other])
				seenB[s.Other] = true
			}
		}
		require.Len(t, seenA, len(plan))
		require.Len(t, seenB, len(changed))
	}
}

func states(d *Diff) (list []State) {
	for _, s := range d.Steps {
		list = append(list, s.State)
	}
	return list
}

func TestCompare(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	tool := func(name, input string, at int) planned {
		return planned{kind: "tool", name: name, at: at, took: 10, input: input, output: "done"}
	}
	root := planned{parent: -1, kind: "agent", name: "agent", took: 1000}
	compare := func(a, b []planned) *Diff { return compared(t, write(a, random, noon), write(b, random, noon)) }
	t.Run("concurrent steps have no order", func(t *testing.T) {
		a := []planned{root, tool("x", "1", 0), tool("y", "2", 1), tool("z", "3", 2)}
		b := []planned{root, tool("z", "3", 0), tool("x", "1", 1), tool("y", "2", 2)}
		assert.Zero(t, compare(a, b).Distance)
	})
	t.Run("one after the other they have", func(t *testing.T) {
		a := []planned{root, tool("x", "1", 0), tool("y", "2", 20), tool("z", "3", 40)}
		b := []planned{root, tool("z", "3", 0), tool("x", "1", 20), tool("y", "2", 40)}
		d := compare(a, b)
		assert.Equal(t, []State{Same, Moved, Same, Same}, states(d))
		assert.Equal(t, [2]int{3, 1}, [2]int{d.Steps[1].Base, d.Steps[1].Other})
		assert.InDelta(t, 2./8, d.Distance, 1e-12)
	})
	t.Run("one after the other by clocks that round", func(t *testing.T) {
		a := []planned{root, tool("x", "1", 0), tool("y", "2", 9), tool("z", "3", 18)}
		b := []planned{root, tool("z", "3", 0), tool("x", "1", 9), tool("y", "2", 18)}
		assert.Equal(t, []State{Same, Moved, Same, Same}, states(compare(a, b)))
	})
	t.Run("an id stands for one id", func(t *testing.T) {
		const one, two = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"
		const three, four = "650e8400-e29b-41d4-a716-446655440000", "650e8400-e29b-41d4-a716-446655440001"
		a := []planned{root, tool("make", one, 0), tool("make", two, 20), tool("use", two, 40)}
		b := []planned{root, tool("make", three, 0), tool("make", four, 20), tool("use", three, 40)}
		assert.Equal(t, []State{Same, Same, Same, Changed}, states(compare(a, b)), "another of them is used")
		b[3] = tool("use", four, 40)
		assert.Zero(t, compare(a, b).Distance)
	})
	t.Run("roots belong together", func(t *testing.T) {
		other := root
		other.name = "agent of another name"
		d := compare([]planned{root, tool("x", "1", 0)}, []planned{other, tool("x", "1", 0)})
		assert.Equal(t, []State{Changed, Same}, states(d))
		assert.Equal(t, "name", d.Steps[0].Changes[0].Field)
	})
	t.Run("what was given and came is another step", func(t *testing.T) {
		a := planned{kind: "tool", name: "x", took: 10, input: "abcdefgh", output: "12345678"}
		b := planned{kind: "tool", name: "x", took: 10, input: "ZYXWVUTS", output: "qwertzui"}
		assert.Equal(t, []State{Same, Removed, Added}, states(compare([]planned{root, a}, []planned{root, b})))
	})
	t.Run("nothing", func(t *testing.T) {
		assert.Zero(t, compared(t, Run{}, Run{}).Distance)
		assert.InDelta(t, 1, compared(t, Run{}, write([]planned{root}, random, noon)).Distance, 1e-12)
	})
}

func TestHunks(t *testing.T) {
	t.Parallel()
	change := func(a, b string) Change {
		r := newStepReader(Run{}, nil)
		return Change{base: r.value("input", a), other: r.value("input", b)}
	}
	c := change(`{"city":"Paris","days":[1,2],"id":"550e8400-e29b-41d4-a716-446655440000"}`, `{"days":[1,3],"city":"Paris in spring","id":"650e8400-e29b-41d4-a716-446655440000","x/y":true}`)
	hunks, complete := c.Hunks()
	assert.True(t, complete)
	assert.Equal(t, []Hunk{
		{Path: "/city", Op: OpSame, Text: "Paris"},
		{Path: "/city", Op: OpAdded, Text: " in spring"},
		{Path: "/days/1", Op: OpRemoved, Text: "2"},
		{Path: "/days/1", Op: OpAdded, Text: "3"},
		{Path: "/x~1y", Op: OpAdded, Text: "true"},
	}, hunks)
	c = change("we fly to Rome on Monday", "we drive to Rome on Friday")
	hunks, _ = c.Hunks()
	assert.Equal(t, []Hunk{
		{Op: OpSame, Text: "we "},
		{Op: OpRemoved, Text: "fly"},
		{Op: OpAdded, Text: "drive"},
		{Op: OpSame, Text: " to Rome on "},
		{Op: OpRemoved, Text: "Monday"},
		{Op: OpAdded, Text: "Friday"},
	}, hunks)
	c = change("claude-sonnet-4-5", "gpt-4o-mini")
	hunks, _ = c.Hunks()
	assert.Equal(t, []Hunk{{Op: OpRemoved, Text: "claude-sonnet-4-5"}, {Op: OpAdded, Text: "gpt-4o-mini"}}, hunks)
	c = change("text that was cut"+runs.TextEnd+"0123456789ABCDEF", "text that was cut"+runs.TextEnd+"0123456789ABCDEE")
	_, complete = c.Hunks()
	assert.False(t, complete)
	assert.NotEqual(t, c.base.hash, c.other.hash, "texts that were cut are compared by their hashes")
}

// TestCompareEnds is a comparison that nobody waits for.
func TestCompareEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	cancel(gone)
	_, err := Compare(ctx, Run{}, Run{})
	require.ErrorIs(t, err, gone)
}

// BenchmarkCompare aligns runs in which a tenth of the steps differ, and runs that have only the names of their steps in common.
func BenchmarkCompare(b *testing.B) {
	for _, turns := range []int{500, 5000} {
		random := rand.New(rand.NewPCG(3, 4))
		plan := agent(turns, random)
		x, y := write(plan, random, noon), write(edit(plan, random, .1), random, noon)
		z := write(agent(turns, random), random, noon)
		b.Run(fmt.Sprintf("spans=%d/tenth", 2*turns+1), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compared(b, x, y)
			}
		})
		b.Run(fmt.Sprintf("spans=%d/unlike", 2*turns+1), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compared(b, x, z)
			}
		})
	}
}
