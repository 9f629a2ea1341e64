package agentview

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/runmodel"
)

func TestWrites(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"cancel_pending_order", "bash", "send-email", "WriteFile", "orders.delete", "HTTPPost"} {
		assert.True(t, writes(tool), tool)
	}
	for _, tool := range []string{"get_order_details", "web_search", "Grep", "readFile", "orders.list", "fetchURL", "42", ""} {
		assert.False(t, writes(tool), tool)
	}
}

// acted is a run of an agent whose model calls these tools one after the other, each of which succeeds but the last.
func acted(tools ...string) *recorded {
	id := uuid.New()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := runmodel.Span{Status: runmodel.StatusError, ErrorMessage: "no such order"}
	root := runmodel.Span{
		RunID: id, SpanID: 1, Version: 1, Name: "agent", Kind: runmodel.KindAgent, StartTime: start, EndTime: start.Add(time.Hour), Status: failed.Status,
		ErrorMessage: failed.ErrorMessage,
	}
	spans := []runmodel.Span{root}
	r := &recorded{spans: map[uint64]runs.Span{1: {Span: root}}}
	for i, tool := range tools {
		at := start.Add(time.Duration(2*i) * time.Second)
		call := runmodel.Span{
			RunID: id, SpanID: uint64(2*i + 2), ParentSpanID: 1, Version: 1, Name: "chat", Kind: runmodel.KindLLM, StartTime: at, EndTime: at.Add(time.Second),
		}
		result := runmodel.Span{
			RunID: id, SpanID: uint64(2*i + 3), ParentSpanID: 1, Version: 1, Name: tool, ToolName: tool, Kind: runmodel.KindTool,
			StartTime: at.Add(time.Second), EndTime: at.Add(2 * time.Second),
		}
		if i == len(tools)-1 {
			result.Status, result.ErrorMessage = failed.Status, failed.ErrorMessage
		}
		spans = append(spans, call, result)
		r.spans[call.SpanID] = runs.Span{Span: call, OutputMessages: []json.RawMessage{
			fmt.Appendf(nil, `{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":%q,"arguments":{"order":"#W%d"}}]}`, tool, i),
		}}
		r.spans[result.SpanID] = runs.Span{Span: result}
	}
	r.outline = runs.Outline{Run: runmodel.Totals(spans), Spans: runmodel.Fold(spans)}
	return r
}

// TestSuspectsShown: a failed run names those of its model's calls that write before those that read, and none that began after the error.
func TestSuspectsShown(t *testing.T) {
	t.Parallel()
	r := acted("get_order", "cancel_order", "get_order", "get_order")
	late := r.spans[8].Span // the model's answer to the error
	late.SpanID, late.StartTime, late.EndTime = 10, late.EndTime.Add(time.Minute), late.EndTime.Add(2*time.Minute)
	r.outline.Spans = append(r.outline.Spans, late)
	r.spans[10] = runs.Span{Span: late, OutputMessages: r.spans[4].OutputMessages}
	var document Document
	require.NoError(t, json.Unmarshal(build(t, r, Options{Budget: 2000, Format: FormatJSON}).Body, &document))
	require.Len(t, document.Suspects, maxSuspects)
	assert.Equal(t, Suspect{StepRef{N: 4, SpanID: "0000000000000004", Name: "chat"}, whyWrites}, document.Suspects[0])
	assert.Equal(t, Suspect{StepRef{N: 2, SpanID: "0000000000000002", Name: "chat"}, whyNew}, document.Suspects[1])
	assert.Equal(t, whyLong, document.Suspects[2].Why)
	assert.Contains(t, string(build(t, r, Options{Budget: 2000, Format: FormatText}).Body),
		"## Suspects, the likeliest first\n- step 4 chat writes\n- step 2 chat new\n")

	for name, other := range map[string]*recorded{"no choice": acted("cancel_order"), "did not fail": acted("get_order", "cancel_order")} {
		if name == "did not fail" {
			other.outline.Run.Fingerprint = ""
		}
		assert.NotContains(t, string(build(t, other, Options{Budget: 2000, Format: FormatJSON}).Body), "suspects", name)
	}
}

// orders name the steps of a run that are looked at first, given those in which a model acted in the order of the view.
var orders = []struct {
	name string
	of   func(v *view, acting []int) []int
}{
	{"step with the error", func(v *view, _ []int) []int { return v.chain[:min(len(v.chain), 1)] }},
	{"suspects", func(v *view, acting []int) []int { return v.findSuspects(acting) }},
	{"order of the view", func(_ *view, acting []int) []int { return acting }},
	{"longest text", func(v *view, acting []int) []int {
		return slices.SortedStableFunc(slices.Values(acting), func(a, b int) int { return int(v.steps[b].estimate()) - int(v.steps[a].estimate()) })
	}},
	{"first", func(_ *view, acting []int) []int { return slices.Sorted(slices.Values(acting)) }},
	{"last", func(_ *view, acting []int) []int {
		return slices.SortedFunc(slices.Values(acting), func(a, b int) int { return b - a })
	}},
}

// hits has for each order and run whether the first step is faulty, and one of the first three.
type hits [][][2]bool

// TestSuspects prints how often the steps that a reader is shown are the faulty ones of annotated runs. The error of a run is at its root,
// because none of their steps has one.
func TestSuspects(t *testing.T) {
	t.Parallel()
	sets := []struct {
		name string
		runs []annotated
		// atLeast is how many runs have a faulty step as first suspect, and as one of three.
		atLeast [2]int
	}{
		{"AG2", failureRuns(t, "ag2.jsonl"), [2]int{26, 79}},
		{"Magentic-One", failureRuns(t, "magentic-one.jsonl"), [2]int{3, 4}}, //nolint:misspell // its name
		{"tau-bench retail", annotatedRuns(t), [2]int{7, 16}},
	}
	table := "| at 1, at 3 [95%] |"
	const both = 2 // sets whose runs have one fault each are counted together, too
	of := make([]hits, len(sets))
	random := "| random |"
	sum := [2]float64{}
	for at, set := range sets {
		table += fmt.Sprintf(" %s, %d runs |", set.name, len(set.runs))
		of[at] = make(hits, len(orders))
		chance := [2]float64{}
		for i := range set.runs {
			v, acting := ranked(t, set.runs[i].run)
			faulty := func(step int) bool {
				return slices.ContainsFunc(set.runs[i].faults, func(fault int) bool { return set.runs[i].steps[fault].span == v.steps[step].span.SpanID })
			}
			none := [2]float64{1, 1} // that none of k random steps is faulty
			for k := range min(maxSuspects, len(acting)) {
				good := 0
				for _, step := range acting {
					good += one(!faulty(step))
				}
				none[1] *= float64(good-k) / float64(len(acting)-k)
				if k == 0 {
					none[0] = none[1]
				}
			}
			chance[0], chance[1] = chance[0]+1-none[0], chance[1]+1-none[1]
			for j, order := range orders {
				first := order.of(v, acting)
				first = first[:min(len(first), maxSuspects)]
				of[at][j] = append(of[at][j], [2]bool{len(first) > 0 && faulty(first[0]), slices.ContainsFunc(first, faulty)})
			}
		}
		n := float64(len(set.runs))
		if at < both {
			sum[0], sum[1] = sum[0]+chance[0], sum[1]+chance[1]
		}
		random += fmt.Sprintf(" %.1f, %.1f |", 100*chance[0]/n, 100*chance[1]/n)
		for k, least := range set.atLeast {
			assert.GreaterOrEqual(t, counted(of[at][1])[k], least, set.name)
		}
	}
	row := func(name string, of func(set int) [][2]bool) {
		var all [][2]bool
		table += "\n| " + name + " |"
		for at := range sets {
			table += cell(of(at))
			if at < both {
				all = append(all, of(at)...)
			}
		}
		table += cell(all)
	}
	table += " the first two |"
	for j, order := range orders {
		row(order.name, func(set int) [][2]bool { return of[set][j] })
	}
	row("chosen without the run", func(set int) [][2]bool { return chosenWithout(of, set) })
	n := float64(len(sets[0].runs) + len(sets[1].runs))
	t.Logf("\n%s\n%s %.1f, %.1f |\n", table, random, 100*sum[0]/n, 100*sum[1]/n)
}

// ranked returns the view of a run whose root failed, and the steps in which a model acted in its order.
func ranked(t *testing.T, r *recorded) (*view, []int) {
	t.Helper()
	outline := r.outline
	outline.Spans = slices.Clone(outline.Spans)
	root := &outline.Spans[outline.Root()]
	root.Status, root.ErrorMessage = runmodel.StatusError, "the task failed"
	outline.Run = runmodel.Totals(slices.Clone(outline.Spans))
	v := &view{
		outline: outline, steps: stepsOf(outline), shown: map[int]string{}, last: -1, read: r.read,
		chain: runmodel.ErrorChain(outline.Spans, outline.Run.FailingSpanID),
	}
	require.NotEmpty(t, v.chain)
	acting, _, err := v.rank(-1)
	require.NoError(t, err)
	return v, acting
}

func counted(of [][2]bool) (n [2]int) {
	for _, hit := range of {
		n[0], n[1] = n[0]+one(hit[0]), n[1]+one(hit[1])
	}
	return n
}

func cell(of [][2]bool) string {
	text := ""
	for _, x := range counted(of) {
		ci := stats.Wilson(float64(x), float64(len(of)), .05)
		text += fmt.Sprintf(", %.1f [%.1f, %.1f]", 100*float64(x)/float64(len(of)), 100*ci[0], 100*ci[1])
	}
	return text[1:] + " |"
}

// chosenWithout returns what each run of a set has with the order that does best in the other runs of all sets, which count the same.
func chosenWithout(of []hits, set int) [][2]bool {
	var all [][2]bool
	for i := range of[set][0] {
		best, bestScore := 0, -1.
		for j := range orders {
			score := 0.
			for at := range of {
				n, runs := counted(of[at][j]), len(of[at][j])
				if at == set {
					n[0], n[1], runs = n[0]-one(of[at][j][i][0]), n[1]-one(of[at][j][i][1]), runs-1
				}
				score += float64(n[0]+n[1]) / float64(runs)
			}
			if score > bestScore {
				best, bestScore = j, score
			}
		}
		all = append(all, of[set][best][i])
	}
	return all
}
