package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestRecorded reads a run whose requests begin with one another, branch, and come from two agents at once, as Spans reads it in full.
func TestRecorded(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := uuid.New()
	spans := []func(ptrace.Span){
		span(id, 1, 0, 0, time.Hour, map[string]any{"looptrace.kind": "agent"}), span(id, 2, 1, 0, time.Hour, map[string]any{"looptrace.kind": "agent"}),
	}
	const calls = 300 // more than are read at a time
	messages := [2][]string{{"Begin."}, {"Begin."}}
	for n := range calls {
		agent := n % 2
		at := time.Duration(n+1) * time.Second
		call := asked(messages[agent]...)
		call[runmodel.KeySystemInstructions] = `[{"type":"text","content":"Be brief."}]`
		call["inputs"] = fmt.Sprintf("of %d", n)
		spans = append(spans, span(id, uint64(n+3), uint64(agent+1), at, at+time.Second/2, call))
		messages[agent] = append(messages[agent], fmt.Sprintf("message %d", n))
		if n%50 > 47 { // another way on
			messages[agent] = append(messages[agent][:len(messages[agent])/2], "instead")
		}
	}
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, spans...)))
	var want []runs.Span
	query := runs.SpansQuery{Full: true, Limit: 100}
	for {
		page, err := s.Spans(t.Context(), s.projects, id, query)
		require.NoError(t, err)
		want = append(want, page.Spans...)
		if !page.HasMore {
			break
		}
		query.Cursor = page.NextCursor
	}
	require.Len(t, want, calls+2)
	size := 0
	for i := range want {
		want[i].InputMessageIDs = nil
		size = max(size, len(want[i].InputMessages))
	}
	require.Greater(t, size, 40)
	got, err := s.Recorded(t.Context(), s.projects, id, 1000, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, want, got.Spans)
	assert.Equal(t, calls+2, got.SpanCount)
	assert.False(t, got.TooLarge)

	for name, limits := range map[string][2]int{"spans": {calls + 1, 1 << 20}, "bytes": {1000, got.Bytes - 1}} {
		less, err := s.Recorded(t.Context(), s.projects, id, limits[0], limits[1])
		require.NoError(t, err)
		assert.True(t, less.TooLarge, name)
		assert.Equal(t, calls+2, less.SpanCount)
	}
	_, err = s.Recorded(t.Context(), s.projects, uuid.New(), 1000, 1<<20)
	require.ErrorIs(t, err, runs.ErrNotFound)
}
