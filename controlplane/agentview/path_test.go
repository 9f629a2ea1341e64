package agentview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// span is a span of a test: from and to are in seconds.
type span struct {
	id, parent uint64
	from, to   int
	status     string
	name       string
}

func stepsOfTest(spans []span) []step {
	var outline runs.Outline
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	for _, s := range spans {
		outline.Spans = append(outline.Spans, runmodel.Span{
			SpanID: s.id, ParentSpanID: s.parent, StartTime: at(s.from), EndTime: at(s.to), Status: s.status, Name: s.name,
		})
	}
	return stepsOf(outline)
}

// TestCriticalPath has Jaeger's cases (jaeger-ui, CriticalPath) but the one of producers and consumers, which a run does
// not tell apart, and calls that follow each other without a gap.
func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []span
		want  map[uint64]int // seconds of each span on the path
	}{
		"two children, one after the other":   {[]span{{id: 3, from: 1, to: 101}, {id: 4, parent: 3, from: 20, to: 40}, {id: 5, parent: 3, from: 50, to: 60}}, map[uint64]int{3: 70, 5: 10, 4: 20}},
		"two children that overlap":           {[]span{{id: 1, from: 1, to: 101}, {id: 2, parent: 1, from: 10, to: 50}, {id: 3, parent: 1, from: 20, to: 60}}, map[uint64]int{1: 60, 3: 40}},
		"a child after its parent":            {[]span{{id: 1, from: 100, to: 140}, {id: 2, parent: 1, from: 200, to: 500}}, map[uint64]int{1: 40}},
		"a child that ends after its parent":  {[]span{{id: 1, from: 1, to: 30}, {id: 3, parent: 2, from: 10, to: 25}, {id: 2, parent: 1, from: 15, to: 35}}, map[uint64]int{2: 5, 3: 10, 1: 14}},
		"a child on both sides of its parent": {[]span{{id: 1, from: 10, to: 30}, {id: 2, parent: 1, from: 5, to: 35}}, map[uint64]int{2: 20}},
		"a child before its parent":           {[]span{{id: 1, from: 10, to: 30}, {id: 2, parent: 1, from: 1, to: 5}}, map[uint64]int{1: 20}},
		"back to back":                        {[]span{{id: 1, from: 0, to: 30}, {id: 2, parent: 1, from: 0, to: 10}, {id: 3, parent: 1, from: 10, to: 20}, {id: 4, parent: 1, from: 20, to: 30}}, map[uint64]int{2: 10, 3: 10, 4: 10}},
		"a circle below the root":             {[]span{{id: 1, from: 0, to: 10}, {id: 2, parent: 3, from: 0, to: 10}, {id: 3, parent: 2, from: 0, to: 10}}, map[uint64]int{1: 10}},
		"no time at all":                      {[]span{{id: 1, from: 5, to: 5}}, map[uint64]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := stepsOfTest(test.spans)
			got := map[uint64]int{}
			for _, s := range criticalPath(steps, 0) {
				got[steps[s.step].span.SpanID] = int(s.self.Seconds())
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestCriticalPathIsAsLongAsTheRoot, whatever lies below it.
func TestCriticalPathIsAsLongAsTheRoot(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := generate(seed)
		steps := stepsOf(r.outline)
		root := steps[0].span
		if runmodel.IsAbsent(root.EndTime) {
			continue
		}
		var sum time.Duration
		for _, s := range criticalPath(steps, 0) {
			sum += s.self
		}
		assert.Equal(t, root.EndTime.Sub(root.StartTime), sum, seed)
	}
}

func TestErrorChain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []span
		want  []int
	}{
		"nothing failed":              {[]span{{id: 1, to: 9, status: "ok"}}, nil},
		"up to the root":              {[]span{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 8, status: "error"}, {id: 3, parent: 2, from: 2, to: 3, status: "error"}}, []int{2, 1, 0}},
		"the first of two":            {[]span{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "error", name: "b"}}, []int{1, 0}},
		"not the one made good":       {[]span{{id: 1, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "a"}, {id: 4, parent: 1, from: 5, to: 6, status: "error", name: "b"}}, []int{3, 0}},
		"made good, and the only one": {[]span{{id: 1, to: 9, status: "ok"}, {id: 2, parent: 1, from: 1, to: 2, status: "error", name: "a"}, {id: 3, parent: 1, from: 3, to: 4, status: "ok", name: "a"}}, []int{1, 0}},
		"a circle":                    {[]span{{id: 1, parent: 2, to: 9, status: "error"}, {id: 2, parent: 1, from: 1, to: 2, status: "ok"}}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, errorChain(stepsOfTest(test.spans)))
		})
	}
}
