package runs

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestPromptUsageOfSettledDays compares answers that are made of cached days with read ones, before and after a day changes.
func TestPromptUsageOfSettledDays(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	now := time.Now().UTC()
	reading, caching := NewService(conn, nil, nil, slog.New(slog.DiscardHandler)), NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	reading.now = func() time.Time { return now }
	caching.now = func() time.Time { return now.Add(time.Hour) } // an hour after the last write
	project := uuid.New()
	projects := accesstest.Projects(t, project)
	store := func(i int) {
		cents := float64(i%5) / 100
		start := now.Add(-time.Duration(i)*2*time.Hour - time.Minute)
		spans := []runmodel.Span{
			{SpanID: 1, Kind: runmodel.KindAgent, EndTime: start.Add(time.Duration(i) * time.Millisecond)},
			{SpanID: 2, ParentSpanID: 1, Kind: runmodel.KindLLM, EndTime: start.Add(time.Duration(i%9) * time.Millisecond), CostUSD: &cents, CostSource: runmodel.CostSent},
		}
		if spans[1].InstructionsTextID = uint64(i % 4); i%3 > 0 {
			spans[1].PromptName, spans[1].PromptVersion = "triage", fmt.Sprint(i%3)
		}
		run := uuid.New()
		for j := range spans {
			spans[j].ProjectID, spans[j].RunID, spans[j].Version, spans[j].StartTime = project, run, 1, start
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(spans)}))
	}
	for i := range 60 {
		store(i)
	}
	usage := func(s *Service) PromptUsage {
		t.Helper()
		answer, err := s.PromptUsage(t.Context(), projects, PromptUsageQuery{
			ProjectID: project, Name: "triage", TextIDs: map[string][]uint64{"2": {2}, "3": {3}}, StartAfter: now.Add(-10 * 24 * time.Hour), StartBefore: now,
		})
		require.NoError(t, err)
		return answer
	}
	want := usage(reading)
	require.Len(t, want.Versions, 3)
	assert.EqualValues(t, 40, want.Versions[0].Calls.Count+want.Versions[1].Calls.Count)
	same := func() {
		t.Helper()
		for range 2 {
			want, got := usage(reading), usage(caching)
			require.Len(t, got.Versions, len(want.Versions))
			for i := range want.Versions {
				// A sum of floating-point numbers depends on their order.
				a, b := &want.Versions[i], &got.Versions[i]
				for _, cost := range [][2]**float64{{&a.Runs.CostUSD, &b.Runs.CostUSD}, {&a.Calls.CostUSD, &b.Calls.CostUSD}} {
					if assert.Equal(t, *cost[0] == nil, *cost[1] == nil) && *cost[0] != nil {
						assert.InDelta(t, **cost[0], **cost[1], 1e-9)
					}
					*cost[0], *cost[1] = nil, nil
				}
				a.Series, b.Series = nil, nil
				assert.InDeltaSlice(t, a.Runs.DurationsMs, b.Runs.DurationsMs, 1)
				a.Runs.DurationsMs, b.Runs.DurationsMs = nil, nil
				if a.Calls.DurationsMs != nil {
					assert.InDeltaSlice(t, a.Calls.DurationsMs, b.Calls.DurationsMs, 1)
				}
				a.Calls.DurationsMs, b.Calls.DurationsMs = nil, nil
				assert.Equal(t, a, b)
			}
		}
	}
	same()
	assert.Greater(t, caching.cache.rows.Len(), 2, "the days are cached")
	store(31) // a call of a day that is cached
	same()
	assert.Equal(t, want.Total.Count+1, usage(caching).Total.Count)
}
