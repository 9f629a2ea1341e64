package store

import (
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

func said(text, reason string) map[string]any {
	call := modelCall("a", 1, 1)
	call[runmodel.KeyOutputMessages] = `[{"role":"assistant","parts":[{"type":"text","content":"` + text + `"}]}]`
	call[runmodel.KeyFinishReasons] = []any{reason}
	return call
}

func called(arguments, result string) map[string]any {
	return map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", runmodel.KeyToolCallArguments: arguments, runmodel.KeyToolCallResult: result}
}

// TestSignalsArriveInParts sends runs in one delivery or several, in any order and again, and reads the same signals.
func TestSignalsArriveInParts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	another := newExporter(t, s.url)
	for want, steps := range map[string][]map[string]any{
		"":                                 {said("The table is booked.", "stop")},
		"cut_answer":                       {said("The table is", "length")},
		"empty_answer":                     {said("", "stop")},
		"repeated_call":                    {called(`{"a":1,"b":2}`, "x"), called(`{"b":2,"a":1}`, "x"), called(`{"a":1, "b":2}`, "x"), said("The table is booked.", "stop")},
		"unused_error":                     {called(`{"a":1}`, `{"error":"no table"}`), said("The table is booked for you.", "stop")},
		"repeated_call cut_answer":         {called(`{}`, "Error: a"), called(`{}`, "Error: b"), called(`{}`, "Error: c"), said("I am sorry, the", "length")},
		"cut_answer empty_answer":          {said("", "max_tokens")},
		" an error that is told":           {called(`{"a":1}`, `{"error":"no table"}`), said("Sorry, there is no table.", "stop")},
		" a result that changes meanwhile": {called(`{}`, "1"), called(`{}`, "2"), called(`{}`, "3"), said("The table is booked.", "stop")},
	} {
		for _, backwards := range []bool{false, true} {
			id := uuid.New()
			var deliveries []ptrace.Traces
			deliveries = append(deliveries, s.delivery(base.Add(time.Minute), span(id, 1, 0, 0, time.Minute, map[string]any{"looptrace.kind": "agent", runmodel.KeyStatus: "ok"})))
			for n, step := range steps {
				at := time.Duration(n+1) * 2 * time.Second // across the end of an hour
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
			if strings.HasPrefix(want, " ") {
				want = ""
			}
			assert.Equal(t, want, strings.Join(run.Signals, " "))
			for _, signal := range runmodel.AllSignals {
				found := list(t, s, runs.ListQuery{Filter: runs.Filter{Signals: []string{signal}}})
				assert.Equal(t, slices.Contains(run.Signals, signal), slices.ContainsFunc(found, func(r runs.Run) bool { return r.RunID == id }), "%s of %s", signal, want)
			}
		}
	}
}

// TestSignalsOfOldRows reads rows as they were before runs had signals, and derives them again.
func TestSignalsOfOldRows(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := uuid.New()
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base,
		span(id, 1, 0, 0, time.Minute, map[string]any{"looptrace.kind": "agent", runmodel.KeyStatus: "ok"}),
		span(id, 2, 1, time.Second, 2*time.Second, called(`{"a":1}`, "x")),
		span(id, 3, 1, 2*time.Second, 3*time.Second, called(`{"a":1}`, "x")),
		span(id, 4, 1, 3*time.Second, 4*time.Second, called(`{"a":1}`, "x")),
		span(id, 5, 1, 4*time.Second, 5*time.Second, said("", "length")),
	)))
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	for _, statement := range []string{
		"ALTER TABLE runs DROP COLUMN signals, DROP COLUMN signal_span_ids, DROP COLUMN signal_kinds, DROP COLUMN signal_names, DROP COLUMN signal_effects, DROP COLUMN failing_effects, DROP COLUMN signal_fingerprints, DROP COLUMN signals_unknown, DROP COLUMN signals_version",
		"ALTER TABLE spans DROP COLUMN call_hash, DROP COLUMN result_hash, DROP COLUMN said, DROP COLUMN side_effects", "DELETE FROM schema_migrations WHERE version_id >= 18",
	} {
		require.NoError(t, conn.Exec(t.Context(), statement), statement)
	}
	require.NoError(t, clickhouse.Migrate(t.Context(), s.url))
	run, err := s.Get(t.Context(), s.projects, id)
	require.NoError(t, err)
	assert.Empty(t, run.Signals)
	assert.Zero(t, run.SignalsVersion)
	writer, err := clickhouse.NewWriter(t.Context(), s.url)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	n, err := clickhouse.DeriveStale(t.Context(), conn, writer, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	run, err = s.Get(t.Context(), s.projects, id)
	require.NoError(t, err)
	assert.Equal(t, []string{runmodel.SignalRepeatedCall, runmodel.SignalCutAnswer}, run.Signals)
	assert.Contains(t, run.SignalsUnknown, runmodel.SignalEmptyAnswer, "answers were not summed up then")
}
