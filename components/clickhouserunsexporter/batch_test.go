package clickhouserunsexporter

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestManyRunsInABatch stores a full batch in which every span is a separate run: new runs, known runs whose start
// moves to a different hour, and deleted runs.
func TestManyRunsInABatch(t *testing.T) {
	t.Parallel()
	const many = 20_000 // max_batch_spans
	url := engines.ClickHouse(t)
	conn := opened(t, url)
	e := started(t, url)
	project, runs := uuid.New(), make([]uuid.UUID, many)
	for i := range runs {
		runs[i] = uuid.New()
	}
	start := time.Now().Truncate(time.Hour)
	send := func(receivedAt int64, span byte, start time.Time) {
		t.Helper()
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, receivedAt)
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for _, run := range runs {
			s := spans.AppendEmpty()
			s.SetTraceID(pcommon.TraceID(run))
			s.SetSpanID(pcommon.SpanID{span})
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
		}
		require.NoError(t, e.ConsumeTraces(t.Context(), td))
	}
	stored := func() (rows, spans uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(), sum(span_count) FROM runs FINAL").Scan(&rows, &spans))
		return rows, spans
	}

	send(1_000_000, 1, start)
	rows, spans := stored()
	assert.Equal(t, []uint64{many, many}, []uint64{rows, spans}, "new")

	send(2_000_000, 2, start.Add(-time.Hour))
	rows, spans = stored()
	assert.Equal(t, []uint64{many, 2 * many}, []uint64{rows, spans}, "known")

	for len(runs) > many-clickhouse.MaxDeleted {
		require.NoError(t, clickhouse.DeleteRuns(t.Context(), conn, project, runs[len(runs)-clickhouse.MaxDeleted:], time.Unix(0, 3_000_000)))
		runs = runs[:len(runs)-clickhouse.MaxDeleted]
	}
	runs = runs[:many]
	send(2_000_000, 2, start.Add(-time.Hour))
	rows, spans = stored()
	assert.Equal(t, []uint64{many - clickhouse.MaxDeleted, 2 * (many - clickhouse.MaxDeleted)}, []uint64{rows, spans}, "deleted")
}
