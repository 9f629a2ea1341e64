package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// The data for the read benchmarks: two databases in one engine, each with the product's tables and the stock
// exporter's, of the same spans. The small one is written by the product's writer. The large one consists of copies
// of it, as different runs on other days of the same 30.
const (
	smallReads   = "reads_small"
	largeReads   = "reads_large"
	readDays     = 30
	spansPerRun  = 20
	longRun      = 1000 // spans of each of 1,000 runs
	invoiceRuns  = 20   // runs that name the same invoice
	readDataDone = "built"
)

var readProject = uuid.MustParse("0199a1b2-c3d4-7e5f-8a9b-000000000001")

// newReadRig starts the engine on the data folder. It creates the data if it is missing, which takes minutes for each
// million spans.
func newReadRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, t.TempDir())
	r.dir = os.Getenv("BENCH_READ_DATA")
	if r.dir == "" {
		r.dir = r.built("bench-read")
	}
	require.NoError(t, os.MkdirAll(r.dir, 0o755))
	r.startClickHouse()
	small, large := smallSpans(t), setting(t, "BENCH_READ_SPANS", 10_000_000)
	done := filepath.Join(r.dir, readDataDone)
	size := fmt.Sprintf("%d %d", small, large)
	built, err := os.ReadFile(done)
	if errors.Is(err, fs.ErrNotExist) {
		r.buildReads(t, small, large)
		require.NoError(t, os.WriteFile(done, []byte(size), 0o644))
		return r
	}
	require.NoError(t, err)
	require.Equal(t, size, string(built), "the data in %s is of other sizes: remove it", r.dir)
	return r
}

func (r *rig) buildReads(t *testing.T, small, large int) {
	t.Helper()
	conn := r.openClickHouse("default")
	for _, database := range []string{smallReads, largeReads} {
		require.NoError(t, conn.Exec(t.Context(), "DROP DATABASE IF EXISTS "+database+" SYNC"))
		require.NoError(t, conn.Exec(t.Context(), "CREATE DATABASE "+database))
		require.NoError(t, clickhouse.Migrate(t.Context(), r.clickhouseURL(database)))
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf(stockTable, database)))
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf(stockLookup, database)))
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf(stockLookupView, database)))
	}
	begin := time.Now()
	r.fillSmall(t, small/spansPerRun)
	t.Logf("%d spans written in %s", small, time.Since(begin).Round(time.Second))
	// A text index is created by the first merge, which a small database may not have for long.
	for _, table := range []string{"spans", "contents", "shared_contents", "runs", "run_bounds", "otel_traces", "otel_traces_trace_id_ts"} {
		require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE "+smallReads+"."+table+" FINAL"))
	}
	for n := range large / small {
		copyReads(t, conn, n)
		t.Logf("copy %d of %d done after %s", n+1, large/small, time.Since(begin).Round(time.Second))
	}
	awaitNoMerges(t, conn, time.Hour)
	// Like days that were not written to for six hours.
	for _, table := range []string{"spans", "contents", "shared_contents", "runs"} {
		require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE "+largeReads+"."+table+" FINAL"))
	}
	t.Logf("built in %s", time.Since(begin).Round(time.Second))
}

func smallSpans(t *testing.T) int { return setting(t, "BENCH_READ_SMALL", 1_000_000) }

// awaitNoMerges waits until nothing is merged.
func awaitNoMerges(t *testing.T, conn driver.Conn, within time.Duration) {
	t.Helper()
	quiet := 0
	require.Eventually(t, func() bool {
		if quiet++; count(t, conn, "SELECT count() FROM system.merges WHERE database LIKE 'reads_%'") > 0 {
			quiet = 0
		}
		return quiet >= 5
	}, within, 2*time.Second)
}

// The stock exporter's tables, as clickhouseexporter v0.164 creates them.
const (
	stockTable = `CREATE TABLE %s.otel_traces (
		Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
		TraceId String CODEC(ZSTD(1)),
		SpanId String CODEC(ZSTD(1)),
		ParentSpanId String CODEC(ZSTD(1)),
		TraceState String CODEC(ZSTD(1)),
		SpanName LowCardinality(String) CODEC(ZSTD(1)),
		SpanKind LowCardinality(String) CODEC(ZSTD(1)),
		ServiceName LowCardinality(String) CODEC(ZSTD(1)),
		ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
		ScopeName String CODEC(ZSTD(1)),
		ScopeVersion String CODEC(ZSTD(1)),
		SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
		Duration UInt64 CODEC(ZSTD(1)),
		StatusCode LowCardinality(String) CODEC(ZSTD(1)),
		StatusMessage String CODEC(ZSTD(1)),
		Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
		Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
		INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
		INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
		INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
		INDEX idx_span_attr_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
		INDEX idx_span_attr_value mapValues(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
		INDEX idx_duration Duration TYPE minmax GRANULARITY 1
	) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
	SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1`
	stockLookup = `CREATE TABLE %s.otel_traces_trace_id_ts (
		TraceId String CODEC(ZSTD(1)),
		Start DateTime CODEC(Delta, ZSTD(1)),
		End DateTime CODEC(Delta, ZSTD(1)),
		INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1
	) ENGINE = MergeTree PARTITION BY toDate(Start) ORDER BY (TraceId, Start) SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1`
	stockLookupView = `CREATE MATERIALIZED VIEW %[1]s.otel_traces_trace_id_ts_mv TO %[1]s.otel_traces_trace_id_ts AS
		SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End FROM %[1]s.otel_traces WHERE TraceId != '' GROUP BY TraceId`
)

// readsEnd is the end of the data. Its text is always the same, and it refers to the time of creation.
func readsEnd() time.Time { return time.Now().UTC().Truncate(time.Hour) }

// fillSmall writes so many runs with the product's writer, and the same spans into the stock table.
func (r *rig) fillSmall(t *testing.T, runs int) {
	t.Helper()
	ctx := t.Context()
	writer, err := clickhouse.NewWriter(ctx, r.clickhouseURL(smallReads))
	require.NoError(t, err)
	defer writer.Close()
	conn := r.openClickHouse(smallReads)
	made := newReadMaker(readsEnd())
	const batchRuns = 1000
	shared := map[runpdata.SharedKey]runpdata.ShareState{}
	for from := 0; from < runs; from += batchRuns {
		td := ptrace.NewTraces()
		for i := from; i < min(from+batchRuns, runs); i++ {
			made.run(td, i, runs)
		}
		rows := runpdata.Rows{ShareState: func(key runpdata.SharedKey) runpdata.ShareState { return shared[key] }}
		require.NoError(t, rows.Add(td))
		_, more := rows.Added()
		for key, sharing := range more {
			shared[key] = sharing
		}
		batch := readyBatch{spans: rows.Spans, contents: rows.Contents, shared: rows.Shared}
		for key, spans := range runmodel.ByRun(rows.Spans) {
			first, last := spans[0].StartTime, spans[0].StartTime
			for _, span := range spans {
				if span.StartTime.Before(first) {
					first = span.StartTime
				}
				if span.StartTime.After(last) {
					last = span.StartTime
				}
			}
			batch.runs = append(batch.runs, runmodel.Totals(spans))
			batch.bounds = append(batch.bounds, clickhouse.Bounds{
				ProjectID: key.ProjectID, RunID: key.RunID, FirstStart: first, LastStart: last, FirstBatch: uint64(from + 1), LastBatch: uint64(from + 1),
				Absent: clickhouse.Absent(spans),
			})
		}
		group, groupContext := errgroup.WithContext(ctx)
		group.Go(func() error { return batch.insert(groupContext, writer) })
		group.Go(func() error { return insertStock(groupContext, conn, td) })
		require.NoError(t, group.Wait())
	}
}

// insertStock writes spans like the stock exporter.
func insertStock(ctx context.Context, conn driver.Conn, td ptrace.Traces) error {
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO otel_traces")
	if err != nil {
		return err
	}
	for _, rs := range td.ResourceSpans().All() {
		resource := texts(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				var times []time.Time
				var names []string
				var attributes []map[string]string
				for _, event := range span.Events().All() {
					times, names = append(times, event.Timestamp().AsTime()), append(names, event.Name())
					attributes = append(attributes, texts(event.Attributes()))
				}
				code := span.Status().Code().String()
				if err := batch.Append(span.StartTimestamp().AsTime(), span.TraceID().String(), span.SpanID().String(), parentOf(span), "",
					span.Name(), span.Kind().String(), resource[runmodel.KeyServiceName], resource, ss.Scope().Name(), ss.Scope().Version(),
					texts(span.Attributes()), uint64(span.EndTimestamp()-span.StartTimestamp()), code, span.Status().Message(),
					times, names, attributes, []string{}, []string{}, []string{}, []map[string]string{}); err != nil {
					return err
				}
			}
		}
	}
	return batch.Send()
}

func parentOf(span ptrace.Span) string {
	if span.ParentSpanID().IsEmpty() {
		return ""
	}
	return span.ParentSpanID().String()
}

func texts(attributes pcommon.Map) map[string]string {
	m := make(map[string]string, attributes.Len())
	for key, value := range attributes.All() {
		m[key] = value.AsString()
	}
	return m
}

// copyReads stores the small database's rows in the large one, as different runs: the n-th copy begins 3n days
// earlier, and what would be before the 30 days is moved to their end.
func copyReads(t *testing.T, conn driver.Conn, n int) {
	t.Helper()
	const moved = `toIntervalDay(if(toDate(%[2]s) - %[1]d < toDate((SELECT min(start_time) FROM reads_small.runs)), %[1]d - 30, %[1]d))`
	shift := func(column string) string { return fmt.Sprintf(moved, 3*n, column) }
	const run = "reinterpretAsUUID(sipHash128(run_id, %d)) AS run_id"
	otherRun := fmt.Sprintf(run, n)
	for table, replace := range map[string]string{
		"spans":           otherRun + ", start_time - " + shift("start_time") + " AS start_time, end_time - " + shift("start_time") + " AS end_time",
		"contents":        otherRun + ", hour - " + shift("hour") + " AS hour",
		"shared_contents": "day - " + shift("day") + " AS day",
		"run_bounds":      otherRun + ", first_start - " + shift("first_start") + " AS first_start, last_start - " + shift("first_start") + " AS last_start",
		"runs":            otherRun + ", start_time - " + shift("start_time") + " AS start_time, end_time - " + shift("start_time") + " AS end_time",
		"otel_traces":     fmt.Sprintf("lower(hex(sipHash128(TraceId, %d))) AS TraceId, Timestamp - ", n) + shift("Timestamp") + " AS Timestamp",
	} {
		replace = renameSource(replace)
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf(
			"INSERT INTO %s.%s SELECT * REPLACE (%s) FROM %s.%s AS small SETTINGS max_insert_threads = 1, max_threads = 1, max_partitions_per_insert_block = 100, min_insert_block_size_rows = 200000, min_insert_block_size_bytes = 0, max_block_size = 65536",
			largeReads, table, replace, smallReads, table)), table)
	}
}

// renameSource makes the expressions read the source's columns and not each other's results.
func renameSource(replace string) string {
	for _, column := range []string{"start_time", "end_time", "hour", "day", "first_start", "last_start", "Timestamp"} {
		replace = strings.ReplaceAll(replace, "toDate("+column+")", "toDate(small."+column+")")
		replace = strings.ReplaceAll(replace, ", "+column+" - ", ", small."+column+" - ")
	}
	return replace
}

// readMaker generates spans of agents that answer customers: model calls and tool calls in turn.
type readMaker struct {
	random *rand.Rand
	zipf   *rand.Zipf
	words  []string
	end    time.Time
}

func newReadMaker(end time.Time) *readMaker {
	random := rand.New(rand.NewPCG(1, 2))
	const words = 30_000
	syllables := strings.Fields("ba be bi bo bu da de di do du fa fe ga ge ka ke ki ko la le li lo ma me mi mo na ne no ra re ri ro sa se si so ta te ti to va ve")
	m := &readMaker{random: random, zipf: rand.NewZipf(random, 1.1, 8, words-1), words: make([]string, words), end: end}
	for i := range m.words {
		n := i + len(syllables)
		for n > 0 {
			m.words[i] += syllables[n%len(syllables)]
			n /= len(syllables)
		}
	}
	return m
}

func (m *readMaker) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(m.words[m.zipf.Uint64()])
	}
	return b.String()
}

func pick[T any](m *readMaker, values ...T) T { return values[m.random.IntN(len(values))] }

// run adds the i-th of n runs, in the order of their starts.
func (m *readMaker) run(td ptrace.Traces, i, n int) {
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr(runmodel.KeyProjectID, readProject.String())
	resource.PutInt(runmodel.KeyReceivedAt, int64(i+1)*10_000)
	resource.PutStr(runmodel.KeyServiceName, fmt.Sprintf("service-%d", i%5))
	resource.PutStr(runmodel.KeyServiceVersion, fmt.Sprintf("1.%d.0", i*8/n))
	resource.PutStr(runmodel.KeyEnvironment, []string{"production", "production", "production", "staging", "development"}[i%5])
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("bench")
	spans := spansPerRun - 1
	if i%1000 == 7 {
		spans = longRun
	}
	length := readDays * 24 * time.Hour
	start := m.end.Add(-length).Add(time.Duration(float64(length) * (float64(i) + m.random.Float64()) / float64(n)))
	var trace pcommon.TraceID
	binary.BigEndian.PutUint64(trace[:8], m.random.Uint64())
	binary.BigEndian.PutUint64(trace[8:], m.random.Uint64()|1)
	spanID := func(k int) (id pcommon.SpanID) {
		binary.BigEndian.PutUint64(id[:], uint64(i+1)<<20|uint64(k+1))
		return id
	}
	add := func(k int, name string, at time.Time, took time.Duration) ptrace.Span {
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(trace)
		span.SetSpanID(spanID(k))
		if k > 0 {
			span.SetParentSpanID(spanID(0))
		}
		span.SetName(name)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(took)))
		return span
	}
	agent := fmt.Sprintf("agent-%d", m.random.IntN(12))
	root := add(0, "invoke_agent "+agent, start, 0)
	attributes := root.Attributes()
	attributes.PutStr(runmodel.KeyOperationName, "invoke_agent")
	attributes.PutStr(runmodel.KeyAgentName, agent)
	attributes.PutStr(runmodel.KeySessionID, fmt.Sprintf("session-%d", i/4))
	attributes.PutStr(runmodel.KeyUserID, fmt.Sprintf("user-%d", m.random.IntN(5000)))
	attributes.PutStr(runmodel.KeyMetadataPrefix+"tier", pick(m, "free", "pro", "enterprise"))
	attributes.PutStr(runmodel.KeyMetadataPrefix+"region", pick(m, "eu", "us", "ap"))
	tags := attributes.PutEmptySlice(runmodel.KeyTags)
	tags.AppendEmpty().SetStr(pick(m, "chat", "batch", "voice"))
	attributes.PutStr(runmodel.KeyPromptName, "support")
	attributes.PutStr(runmodel.KeyPromptVersion, fmt.Sprint(1+m.random.IntN(9)))
	model := pick(m, "gpt-5", "gpt-5-mini", "claude-sonnet-4-5", "claude-haiku-4-5", "gemini-2.5-pro")
	question := m.text(30) + fmt.Sprintf(" invoice INV-%06d ", i/invoiceRuns) + m.text(10)
	message := func(role, text string) string {
		return fmt.Sprintf(`{"role":%q,"parts":[{"type":"text","content":%q}]}`, role, text)
	}
	history := []string{message("user", question)}
	at := start.Add(time.Millisecond)
	for k := 1; k < spans; k++ {
		took := time.Duration((0.05 + m.random.ExpFloat64()) * float64(time.Second))
		if k%2 == 1 {
			span := add(k, "chat "+model, at, took)
			a := span.Attributes()
			a.PutStr(runmodel.KeyOperationName, "chat")
			a.PutStr(runmodel.KeyProviderName, "openai")
			a.PutStr(runmodel.KeyRequestModel, model)
			a.PutInt(runmodel.KeyInputTokens, int64(200+40*min(k, 100)+m.random.IntN(100)))
			a.PutInt(runmodel.KeyOutputTokens, int64(20+m.random.IntN(300)))
			if i%7 > 0 {
				a.PutDouble(runmodel.KeyCostUSD, float64(1+m.random.IntN(400))/100_000)
			}
			a.PutStr(runmodel.KeySystemInstructions, `[{"type":"text","content":"You are a support agent of service `+agent+`. Answer briefly and look things up before you answer."}]`)
			a.PutStr(runmodel.KeyInputMessages, "["+strings.Join(history[max(0, len(history)-4):], ",")+"]")
			answer := message("assistant", m.text(25))
			a.PutStr(runmodel.KeyOutputMessages, "["+answer+"]")
			history = append(history, answer)
		} else {
			tool := pick(m, "search", "get_invoice", "refund", "send_mail", "get_user", "update_order")
			span := add(k, "execute_tool "+tool, at, took/4)
			a := span.Attributes()
			a.PutStr(runmodel.KeyOperationName, "execute_tool")
			a.PutStr(runmodel.KeyToolName, tool)
			a.PutStr(runmodel.KeyToolCallID, fmt.Sprintf("call_%d_%d", i, k))
			a.PutStr(runmodel.KeyToolCallArguments, fmt.Sprintf(`{"query":%q}`, m.text(5)))
			result := m.text(30)
			a.PutStr(runmodel.KeyToolCallResult, result)
			history = append(history, message("tool", result))
			if m.random.IntN(60) == 0 {
				span.Status().SetCode(ptrace.StatusCodeError)
				span.Status().SetMessage("quota exceeded for " + m.text(2))
				a.PutStr(runmodel.KeyErrorType, pick(m, "Timeout", "RateLimit", "BadRequest"))
			}
		}
		at = at.Add(took)
	}
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
	if m.random.IntN(12) == 0 {
		root.Status().SetCode(ptrace.StatusCodeError)
		root.Status().SetMessage("gave up after " + m.text(3))
		attributes.PutStr(runmodel.KeyErrorType, pick(m, "Timeout", "RateLimit", "ValidationError"))
	}
}
