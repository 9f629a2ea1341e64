package runs

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// TestCriticalPath has Jaeger's cases (jaeger-ui, CriticalPath) except that of producers and consumers, which runs do
// not distinguish, and calls that follow each other without a gap.
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

// TestCriticalPathOfRoundedTimes has steps that begin when the one before ends, by clocks that round.
func TestCriticalPathOfRoundedTimes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, unit := range []time.Duration{time.Nanosecond, 240 * time.Nanosecond, time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
		for range 200 {
			const steps = 20
			begin := time.Unix(1000, int64(random.IntN(1e9)))
			at := begin
			spans := make([]runmodel.Span, 1, steps+1)
			for i := range steps {
				end := at.Add(unit*4 + time.Duration(random.Int64N(int64(50*unit))))
				spans = append(spans, runmodel.Span{
					SpanID: uint64(i + 2), ParentSpanID: 1,
					StartTime: at.Truncate(unit), EndTime: end.Add(unit - 1).Truncate(unit), // the largest possible overlap
				})
				at = end
			}
			spans[0] = runmodel.Span{SpanID: 1, StartTime: begin.Truncate(unit), EndTime: at.Add(unit - 1).Truncate(unit)}
			var sum time.Duration
			var order []uint64
			for _, s := range CriticalPath(spans, 0) {
				sum += s.To.Sub(s.From)
				order = append(order, spans[s.Span].SpanID)
			}
			require.Len(t, order, steps, unit)
			require.True(t, slices.IsSortedFunc(order, func(a, b uint64) int { return cmp.Compare(b, a) }), unit)
			require.Equal(t, spans[0].EndTime.Sub(spans[0].StartTime), sum, unit)
		}
	}
}

// TestCriticalPathOfShortParallelSpans has two spans that ran at the same time. One of them is on the path.
func TestCriticalPathOfShortParallelSpans(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }
	for _, length := range []time.Duration{10, 10 * time.Microsecond, 800 * time.Microsecond, 3 * time.Millisecond, time.Second} {
		for _, later := range []time.Duration{0, length / 10, length / 2, length * 7 / 10} {
			spans := []runmodel.Span{
				{SpanID: 1, StartTime: at(0), EndTime: at(2 * length)},
				{SpanID: 2, ParentSpanID: 1, StartTime: at(0), EndTime: at(length)},
				{SpanID: 3, ParentSpanID: 1, StartTime: at(later), EndTime: at(later + length)},
			}
			got := map[uint64]time.Duration{}
			for _, s := range CriticalPath(spans, 0) {
				got[spans[s.Span].SpanID] += s.To.Sub(s.From)
			}
			require.Equal(t, map[uint64]time.Duration{1: length, 3: length}, got, "%s, %s later", length, later)
		}
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
