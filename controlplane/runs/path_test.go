package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// timed is a span of a test: from and to are in seconds.
type timed struct {
	id, parent uint64
	from, to   int
	status     string
	name       string
}

func spansOf(times []timed) []runmodel.Span {
	spans := make([]runmodel.Span, len(times))
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	for i, s := range times {
		spans[i] = runmodel.Span{
			SpanID: s.id, ParentSpanID: s.parent, StartTime: at(s.from), EndTime: at(s.to), Status: s.status, Name: s.name,
		}
	}
	return spans
}

// TestCriticalPath has Jaeger's cases (jaeger-ui, CriticalPath) but the one of producers and consumers, which a run does
// not tell apart, and calls that follow each other without a gap.
func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []timed
		want  map[uint64]int // seconds of each span on the path
	}{
		"two children, one after the other":   {[]timed{{id: 3, from: 1, to: 101}, {id: 4, parent: 3, from: 20, to: 40}, {id: 5, parent: 3, from: 50, to: 60}}, map[uint64]int{3: 70, 5: 10, 4: 20}},
		"two children that overlap":           {[]timed{{id: 1, from: 1, to: 101}, {id: 2, parent: 1, from: 10, to: 50}, {id: 3, parent: 1, from: 20, to: 60}}, map[uint64]int{1: 60, 3: 40}},
		"a child after its parent":            {[]timed{{id: 1, from: 100, to: 140}, {id: 2, parent: 1, from: 200, to: 500}}, map[uint64]int{1: 40}},
		"a child that ends after its parent":  {[]timed{{id: 1, from: 1, to: 30}, {id: 3, parent: 2, from: 10, to: 25}, {id: 2, parent: 1, from: 15, to: 35}}, map[uint64]int{2: 5, 3: 10, 1: 14}},
		"a child on both sides of its parent": {[]timed{{id: 1, from: 10, to: 30}, {id: 2, parent: 1, from: 5, to: 35}}, map[uint64]int{2: 20}},
		"a child before its parent":           {[]timed{{id: 1, from: 10, to: 30}, {id: 2, parent: 1, from: 1, to: 5}}, map[uint64]int{1: 20}},
		"back to back":                        {[]timed{{id: 1, from: 0, to: 30}, {id: 2, parent: 1, from: 0, to: 10}, {id: 3, parent: 1, from: 10, to: 20}, {id: 4, parent: 1, from: 20, to: 30}}, map[uint64]int{2: 10, 3: 10, 4: 10}},
		"a circle below the root":             {[]timed{{id: 1, from: 0, to: 10}, {id: 2, parent: 3, from: 0, to: 10}, {id: 3, parent: 2, from: 0, to: 10}}, map[uint64]int{1: 10}},
		"no time at all":                      {[]timed{{id: 1, from: 5, to: 5}}, map[uint64]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spans := spansOf(test.spans)
			got := map[uint64]int{}
			for _, s := range CriticalPath(spans, 0) {
				got[spans[s.Span].SpanID] += int(s.To.Sub(s.From).Seconds())
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spans []timed
		want  []Node
	}{
		"nothing":                        {nil, []Node{}},
		"children in start order":        {[]timed{{id: 1}, {id: 2, parent: 1}, {id: 3, parent: 2}, {id: 4, parent: 1}}, []Node{{0, -1}, {1, 0}, {2, 1}, {3, 0}}},
		"a subtree before its next":      {[]timed{{id: 1}, {id: 2, parent: 1}, {id: 4, parent: 1}, {id: 3, parent: 2}}, []Node{{0, -1}, {1, 0}, {3, 1}, {2, 0}}},
		"a child before its parent":      {[]timed{{id: 2, parent: 1}, {id: 1}}, []Node{{1, -1}, {0, 0}}},
		"a parent that has not arrived":  {[]timed{{id: 2, parent: 9}, {id: 1}}, []Node{{0, -1}, {1, -1}}},
		"its own parent":                 {[]timed{{id: 1, parent: 1}}, []Node{{0, -1}}},
		"a circle, cut where it starts":  {[]timed{{id: 1, parent: 2}, {id: 2, parent: 1}, {id: 3, parent: 2}}, []Node{{0, -1}, {1, 0}, {2, 1}}},
		"a circle behind a root of none": {[]timed{{id: 9}, {id: 1, parent: 2}, {id: 2, parent: 1}}, []Node{{0, -1}, {1, -1}, {2, 1}}},
	} {
		assert.Equal(t, test.want, Outline{Spans: spansOf(test.spans)}.Tree(), name)
	}
}

func TestTreeOfALongChain(t *testing.T) {
	t.Parallel()
	spans := make([]runmodel.Span, 200_000)
	for i := range spans {
		spans[i] = runmodel.Span{SpanID: uint64(i + 1), ParentSpanID: uint64(i)}
	}
	tree := Outline{Spans: spans}.Tree()
	assert.Equal(t, Node{len(spans) - 1, len(spans) - 2}, tree[len(tree)-1])
}
