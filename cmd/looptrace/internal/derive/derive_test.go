package derive

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestDerive runs the command twice over a store with two failed runs of an earlier version's fingerprints, a successful run, and one of
// which nobody knows how far it can be replayed. It must update all but the third, once.
func TestDerive(t *testing.T) {
	address := engines.ClickHouse(t)
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	defer writer.Close()
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	want := map[uuid.UUID]runmodel.Run{}
	for _, earlier := range []runmodel.Failure{
		{Fingerprint: "fp:v1:fedcba9876543210"}, {Fingerprint: "fp:v1:0123456789abcdef", Class: "error", FailingTemplate: "seat <id> is taken"}, {}, {},
	} {
		status := "error"
		if len(want) >= 2 {
			status = "ok"
		}
		spans := []runmodel.Span{{
			ProjectID: uuid.New(), RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: at, EndTime: at.Add(time.Second),
			Name: "agent", Kind: "agent", Status: status, ErrorMessage: map[string]string{"error": "seat 7 is taken"}[status],
		}}
		now := runmodel.Totals(spans)
		want[now.RunID] = now
		before := now
		before.Failure = earlier
		if len(want) == 4 {
			before.Replayability = ""
		}
		require.NoError(t, writer.InsertSpans(t.Context(), spans))
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: now.ProjectID, RunID: now.RunID, FirstStart: at, LastStart: at, FirstBatch: 1, LastBatch: 1,
		}}))
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{before}))
	}
	run := func() (string, error) {
		var out bytes.Buffer
		command := New()
		command.SetArgs([]string{})
		command.SetOut(&out)
		command.SetErr(&bytes.Buffer{})
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	t.Setenv("CLICKHOUSE_URL", "")
	_, err = run()
	require.ErrorContains(t, err, "CLICKHOUSE_URL is not set")

	t.Setenv("CLICKHOUSE_URL", address)
	for _, printed := range []string{"3 runs updated\n", "0 runs updated\n"} {
		out, err := run()
		require.NoError(t, err)
		assert.Equal(t, printed, out)
		var rows []struct {
			RunID         uuid.UUID `ch:"run_id"`
			Fingerprint   string    `ch:"fingerprint"`
			Template      string    `ch:"failing_template"`
			Replayability string    `ch:"replayability"`
		}
		require.NoError(t, conn.Select(t.Context(), &rows, "SELECT run_id, fingerprint, failing_template, replayability FROM runs FINAL"))
		require.Len(t, rows, 4)
		for _, row := range rows {
			assert.Equal(t, runmodel.ReplayNone, row.Replayability)
			assert.Equal(t, want[row.RunID].Fingerprint, row.Fingerprint)
			assert.Equal(t, want[row.RunID].Status == "error", row.Fingerprint != "")
			assert.Equal(t, map[bool]string{true: "seat <int> is taken", false: ""}[row.Fingerprint != ""], row.Template)
		}
	}
}
