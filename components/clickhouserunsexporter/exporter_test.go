package clickhouserunsexporter

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
	"github.com/looptrace/looptrace/test/engines"
)

func started(t *testing.T, url string) exporter.Traces {
	t.Helper()
	factory := NewFactory()
	config := factory.CreateDefaultConfig().(*Config)
	config.URL = configopaque.String(url)
	e, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, e.Shutdown(t.Context())) })
	return e
}

// opened returns a connection to the database of an exporter.
func opened(t *testing.T, url string) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func oneSpan(project string) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	if project != "" {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project)
	}
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID(uuid.New()))
	span.SetSpanID(pcommon.SpanID{1})
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	return td
}

func TestWithoutProjectIsPermanent(t *testing.T) {
	t.Parallel()
	e := started(t, "clickhouse://127.0.0.1:1/none")
	for _, project := range []string{"", "not a uuid"} {
		err := e.ConsumeTraces(t.Context(), oneSpan(project))
		require.ErrorIs(t, err, runpdata.ErrNoProject)
		assert.True(t, consumererror.IsPermanent(err))
	}
}

// TestStoreAway stops ClickHouse under a running exporter: a batch fails with a retryable error, and the same
// exporter stores it when ClickHouse is back.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t)
	url := server.URL(database)
	e := started(t, url)
	require.NoError(t, e.ConsumeTraces(t.Context(), oneSpan(uuid.NewString())))

	server.Stop(t)
	project := uuid.NewString()
	err := e.ConsumeTraces(t.Context(), oneSpan(project))
	require.Error(t, err)
	assert.False(t, consumererror.IsPermanent(err), "%v", err)

	server.Start(t)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NoError(c, e.ConsumeTraces(t.Context(), oneSpan(project)))
	}, 2*time.Minute, 50*time.Millisecond)
	conn := opened(t, url)
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM runs FINAL").Scan(&n))
	assert.Equal(t, uint64(2), n)
}

// TestScores checks that the scores of a span are written once, and that a deleted score stays deleted when the span
// is delivered again.
func TestScores(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	e := started(t, url)
	conn := opened(t, url)
	stored := func() (scores []runmodel.Score) {
		require.NoError(t, conn.Select(t.Context(), &scores, "SELECT * FROM scores FINAL ORDER BY name"))
		return scores
	}
	td := oneSpan(uuid.NewString())
	deliver := func() {
		delivery := ptrace.NewTraces() // the exporter consumes its input
		td.CopyTo(delivery)
		require.NoError(t, e.ConsumeTraces(t.Context(), delivery))
	}
	resource := td.ResourceSpans().At(0)
	resource.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, 1000)
	scores := resource.ScopeSpans().At(0).Spans().At(0).Attributes().PutEmptySlice(runmodel.KeyScores)
	scores.AppendEmpty().SetStr(`{"name":"relevance","value":0.5}`)
	scores.AppendEmpty().SetStr(`{"name":"tone","label":"kind"}`)
	for range 2 {
		deliver()
		require.Len(t, stored(), 2)
	}
	gone := stored()[0]
	gone.Deleted, gone.Version = 1, gone.Version+1
	require.NoError(t, clickhouse.InsertScores(t.Context(), conn, []runmodel.Score{gone}))
	deliver()
	left := stored()
	require.Len(t, left, 1)
	assert.Equal(t, "kind", left[0].Value())
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err       error
		permanent bool
	}{
		"a type mismatch":   {fmt.Errorf("insert: %w", &ch.Exception{Code: proto.ErrTypeMismatch}), true},
		"out of memory":     {&ch.Exception{Code: proto.ErrMemoryLimitExceeded}, false},
		"no such table yet": {&ch.Exception{Code: proto.ErrUnknownTable}, false},
		"connection lost":   {errors.New("EOF"), false},
	} {
		assert.Equal(t, test.permanent, consumererror.IsPermanent(classify(test.err)), name)
	}
}
