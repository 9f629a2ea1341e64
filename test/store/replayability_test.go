package store

import (
	"fmt"
	"slices"
	"strings"
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

// asked is a model call that is asked the messages.
func asked(messages ...string) map[string]any {
	call := modelCall("", 1, 1)
	parts := make([]string, len(messages))
	for i, message := range messages {
		parts[i] = fmt.Sprintf(`{"role":"user","parts":[{"type":"text","content":%q}]}`, message)
	}
	call[runmodel.KeyInputMessages] = "[" + strings.Join(parts, ",") + "]"
	return call
}

// withTool gives a model call the definition of the tool look.
func withTool(call map[string]any) map[string]any {
	call[runmodel.KeyToolDefinitions] = `[{"type":"function","name":"look"}]`
	return call
}

// TestReplayabilityArrivesInParts sends runs in one delivery or several, in any order and again, through two writers.
func TestReplayabilityArrivesInParts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	another := newExporter(t, s.url)
	tool := func(result string) map[string]any {
		call := map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", runmodel.KeyToolCallArguments: `{"a":1}`}
		if result != "" {
			call[runmodel.KeyToolCallResult] = result
		}
		return call
	}
	without := map[string]any{"gen_ai.operation.name": "chat"}
	for want, steps := range map[string][]map[string]any{
		runmodel.ReplayNone:      {},
		runmodel.ReplayStructure: {asked("a"), without},
		runmodel.ReplayLLM:       {asked("a", "b"), tool("1"), asked("a", "c")},
		"llm, without a result":  {withTool(asked("a")), tool("")},
		runmodel.ReplayFull:      {asked("a"), tool("1"), asked("a", "b")},
		"full, of many":          {asked(slices.Repeat([]string{"a", "b"}, 50)...), tool("1"), asked(append(slices.Repeat([]string{"a", "b"}, 50), "c")...)},
		"llm, of many":           {asked(slices.Repeat([]string{"a", "b"}, 50)...), tool("1"), asked(append(append([]string{"a", "d"}, slices.Repeat([]string{"a", "b"}, 49)...), "c")...)},
	} {
		want, _, _ = strings.Cut(want, ",")
		for _, backwards := range []bool{false, true} {
			id := uuid.New()
			deliveries := []ptrace.Traces{s.delivery(base.Add(time.Minute), span(id, 1, 0, 0, time.Minute, map[string]any{"looptrace.kind": "agent"}))}
			for n, step := range steps {
				at := time.Duration(n+1) * 700 * time.Millisecond // across the end of an hour
				deliveries = append(deliveries, s.delivery(base.Add(time.Hour), span(id, uint64(n+2), 1, at, at+time.Second, step)))
			}
			if backwards {
				slices.Reverse(deliveries)
				deliveries = append(deliveries, deliveries[0])
			}
			for i, td := range deliveries {
				to := s.exporter
				if i%2 == 1 {
					to = another
				}
				require.NoError(t, to.ConsumeTraces(t.Context(), copyOf(td)))
			}
			run, err := s.Get(t.Context(), s.projects, id)
			require.NoError(t, err)
			assert.Equal(t, want, run.Replayability)
			for _, level := range runmodel.Replayabilities {
				found := list(t, s, runs.ListQuery{Filter: runs.Filter{Replayability: []string{level}}})
				assert.Equal(t, level == want, slices.ContainsFunc(found, func(r runs.Run) bool { return r.RunID == id }), "%s of %s", level, want)
			}
		}
	}
}

// TestReplayabilityOfOldRows reads rows as they were before runs had a replayability, and derives them again.
func TestReplayabilityOfOldRows(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := uuid.New()
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base,
		span(id, 1, 0, 0, time.Minute, map[string]any{"looptrace.kind": "agent"}),
		span(id, 2, 1, time.Second, 2*time.Second, asked("a")),
		span(id, 3, 1, 2*time.Second, 3*time.Second, map[string]any{"gen_ai.operation.name": "execute_tool", runmodel.KeyToolCallResult: "1"}),
	)))
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	for _, statement := range []string{
		"ALTER TABLE runs DROP COLUMN replayability", "ALTER TABLE spans DROP COLUMN has_tool_result",
		"DELETE FROM schema_migrations WHERE version_id >= 11",
	} {
		require.NoError(t, conn.Exec(t.Context(), statement), statement)
	}
	require.NoError(t, clickhouse.Migrate(t.Context(), s.url))
	levels := func() []string {
		var levels []string
		for _, run := range list(t, s, runs.ListQuery{}) {
			levels = append(levels, run.Replayability)
		}
		return levels
	}
	assert.Equal(t, []string{""}, levels(), "unknown")
	assert.Empty(t, list(t, s, runs.ListQuery{Filter: runs.Filter{Replayability: runmodel.Replayabilities}}))
	writer, err := clickhouse.NewWriter(t.Context(), s.url)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	n, err := clickhouse.DeriveStale(t.Context(), conn, writer, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, []string{runmodel.ReplayFull}, levels())
}
