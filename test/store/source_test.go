package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestSourceArrivesInParts sends a run whose root or whose step states its source in one delivery or several, in any order and again. In the
// end it is listed under its source only, and the attribute is as it was sent.
func TestSourceArrivesInParts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	another := newExporter(t, s.url)
	source := func(values map[string]any, source string) map[string]any {
		if source != "" {
			values[runmodel.KeySource] = source
		}
		return values
	}
	listed := func(source string) []uuid.UUID {
		var ids []uuid.UUID
		for _, run := range list(t, s, runs.ListQuery{Filter: runs.Filter{Source: source}}) {
			ids = append(ids, run.RunID)
		}
		return ids
	}
	for _, states := range []struct{ root, step string }{{runmodel.SourceReplay, ""}, {"", runmodel.SourceReplay}, {runmodel.SourceReplay, runmodel.SourceEvaluation}} {
		for _, order := range [][]int{{0, 1}, {1, 0}, {1, 0, 1}, {0, 1, 0, 1}} {
			id := uuid.New()
			deliveries := []ptrace.Traces{
				s.delivery(base.Add(time.Minute), span(id, 1, 0, 0, 3*time.Second, source(map[string]any{"looptrace.kind": "agent"}, states.root))),
				s.delivery(base.Add(2*time.Minute), span(id, 2, 1, time.Second, 2*time.Second, source(modelCall("q", 1, 2), states.step))),
			}
			for i, which := range order {
				to := s.exporter
				if i%2 == 1 {
					to = another
				}
				td := ptrace.NewTraces()
				deliveries[which].CopyTo(td)
				require.NoError(t, to.ConsumeTraces(t.Context(), td))
			}
			run, err := s.Get(t.Context(), s.projects, id)
			require.NoError(t, err)
			assert.Equal(t, runmodel.SourceReplay, run.Source, "%v %v", states, order)
			assert.NotContains(t, listed(""), id)
			assert.NotContains(t, listed(runmodel.SourceEvaluation), id)
			assert.Contains(t, listed(runmodel.SourceReplay), id)
			assert.Contains(t, listed(runs.SourceAll), id)
			root, err := s.Span(t.Context(), s.projects, id, "0000000000000001")
			require.NoError(t, err)
			if states.root == "" {
				assert.NotContains(t, root.Attributes, runmodel.KeySource)
			} else {
				assert.Equal(t, states.root, root.Attributes[runmodel.KeySource])
			}
		}
	}
}

// TestSourceOfOldRows reads a row as it was before runs had a source.
func TestSourceOfOldRows(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := uuid.New()
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, span(id, 1, 0, 0, time.Second, nil))))
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	for _, statement := range []string{
		"ALTER TABLE runs DROP COLUMN source", "ALTER TABLE spans DROP COLUMN source",
		"DELETE FROM schema_migrations WHERE version_id >= 10",
	} {
		require.NoError(t, conn.Exec(t.Context(), statement), statement)
	}
	require.NoError(t, clickhouse.Migrate(t.Context(), s.url))
	found := list(t, s, runs.ListQuery{})
	require.Len(t, found, 1)
	assert.Equal(t, id, found[0].RunID)
	assert.Equal(t, runmodel.SourceUser, found[0].Source)
	assert.Empty(t, list(t, s, runs.ListQuery{Filter: runs.Filter{Source: runmodel.SourceReplay}}))
}
