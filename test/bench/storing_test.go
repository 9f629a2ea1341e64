package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/compare"
	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/product"
)

const (
	// agentsShare is the share of spans of the heavier load of real agents.
	agentsShare = 5
	// warmUpSpans are stored before the measurement, so that joining, connecting and allocating is done.
	warmUpSpans = 5000
	// storedWithin limits the wait for accepted spans.
	storedWithin = 10 * time.Minute
	// lookEvery is the interval of counting stored spans, which reads only the list of parts.
	lookEvery = 100 * time.Millisecond
	// mergedWithin limits the wait for merges.
	mergedWithin = time.Minute
)

// chain is a system from ingest to ClickHouse.
type chain struct {
	name string
	// start starts it on a rig whose engines run, and returns where it accepts spans.
	start func(*rig) loadgen.Target
	// database has table, in which a row is a span. distinct counts distinct spans.
	database, table, distinct string
	// runs is a table with a row per run that is written last, if there is one.
	runs string
	// queued accepts all spans before the first is stored: then the worker is measured, emptying the queue.
	queued bool
}

// chains are the systems whose storing is measured.
func (b *ingestBench) chains() []chain {
	chains := []chain{
		{
			name: "stock", start: (*rig).startStock, database: "anchor", table: "otel_traces",
			distinct: "SELECT uniqExact(TraceId, SpanId) FROM otel_traces",
		},
		ours("ours", b.startOurs),
		ours("no index", func(r *rig) loadgen.Target {
			target := b.startOurs(r)
			r.migrateClickHouse("--text-index=off")
			return target
		}),
		ours("one process", func(r *rig) loadgen.Target {
			r.migrateClickHouse()
			r.startCollector(product.CollectorProcess, 0, "otelcol-config.yaml", "GOMEMLIMIT=350MiB",
				"DATABASE_URL="+b.databaseURL, "CLICKHOUSE_URL="+r.clickhouseURL("looptrace"))
			return r.tracesEndpoint(b.header)
		}),
	}
	if b.onlyOurs {
		return chains[1:]
	}
	return chains
}

// ours is a way of storing by the product.
func ours(name string, start func(*rig) loadgen.Target) chain {
	return chain{
		name: name, start: start, database: "looptrace", table: "spans",
		distinct: "SELECT uniqExact(project_id, run_id, span_id) FROM spans", runs: "runs",
	}
}

// startOurs starts the product's two collectors as on several machines, with the settings that their configurations
// recommend, which corresponds to the stock chain.
func (b *ingestBench) startOurs(r *rig) loadgen.Target {
	r.t.Helper()
	r.migrateClickHouse()
	r.startIngest(b.databaseURL)
	r.startCollector(storeProcess, 1, "deploy/store.yaml", "CLICKHOUSE_URL="+r.clickhouseURL("looptrace"), "GOGC=200", "GOMEMLIMIT=640MiB")
	return r.tracesEndpoint(b.header)
}

// startStock starts two collectors of stock parts.
func (r *rig) startStock() loadgen.Target {
	r.t.Helper()
	endpoint := r.tracesEndpoint(nil)
	r.await(r.startAnchor(ingestProcess, "kafka.yaml"), answers(http.MethodPost, endpoint.URL))
	r.startAnchor(storeProcess, "kafka-clickhouse.yaml", "CLICKHOUSE_URL="+r.clickhouseURL("anchor"))
	return endpoint
}

// store measures storing from end to end: spans are sent as fast as they are accepted, until all of them are in
// ClickHouse.
func (b *ingestBench) store(t *testing.T) {
	for _, newLoad := range loads(t) {
		load, err := newLoad()
		require.NoError(t, err)
		if only := os.Getenv("BENCH_LOAD"); only != "" && only != load.Name {
			continue
		}
		spans := b.spans
		if load.Name == "agents" {
			spans /= agentsShare
		}
		table := &compare.Table{Base: "stock", Title: fmt.Sprintf(
			"STORE, %s: %d spans, until stored; CPU until %s after and all is merged; bytes after OPTIMIZE FINAL", load.Name, spans, b.settle)}
		b.tables = append(b.tables, table)
		for round := range b.rounds {
			for _, chain := range b.chains() {
				t.Run(fmt.Sprintf("%s/%d/%s", load.Name, round+1, chain.name), func(t *testing.T) {
					table.Add(chain.name, b.measureStoring(t, chain, load, spans)...)
				})
			}
		}
	}
}

func (b *ingestBench) measureStoring(t *testing.T, chain chain, load *loadgen.Load, spans int) []compare.Figure {
	t.Helper()
	r := newRig(t, b.dir)
	r.startClickHouse()
	r.startBroker()
	target := chain.start(r)
	conn := r.openClickHouse(chain.database)
	require.NoError(t, r.openClickHouse("default").QueryRow(t.Context(), "SELECT version()").Scan(&b.clickhouse))

	total := load.Send(t.Context(), target, warmUpSpans)
	awaitStored(t, conn, chain, total.Spans, total.Traces)
	before, begin := r.usage(), time.Now()
	var sent loadgen.Sent
	if chain.queued {
		r.whilePaused(storeProcess, func() { sent = load.Send(t.Context(), target, spans) })
		before, begin = r.usage(), time.Now()
	} else {
		sent = load.Send(t.Context(), target, spans)
	}
	assert.Empty(t, sent.Refused)
	awaitStored(t, conn, chain, total.Spans+sent.Spans, total.Traces+sent.Traces)
	elapsed := time.Since(begin)
	b.awaitMerges(t, conn, mergedWithin)
	after := r.usage()

	assert.Equal(t, total.Spans+sent.Spans, count(t, conn, chain.distinct), "spans stored")

	figures := []compare.Figure{
		{Name: "stored spans/s", Value: float64(sent.Spans) / elapsed.Seconds()},
		{Name: "accepted spans/s", Value: float64(sent.Spans) / sent.Elapsed.Seconds()},
	}
	figures = append(figures, perMillion(before, after, sent.Spans)...)
	figures = append(figures, peaks(after)...)
	figures = append(figures, bytesOnDisk(t, conn, total.Spans+sent.Spans)...)
	merged := perMillion(before, r.usage(), sent.Spans)
	return append(figures,
		// Includes the work of later merges.
		compare.Figure{Name: "CPU-s/M total, OPTIMIZE FINAL included", Value: merged[len(merged)-1].Value},
		compare.Figure{Name: "bytes/span sent", Value: float64(sent.Bytes) / float64(sent.Spans)})
}

// awaitStored waits until as many spans and runs are stored.
func awaitStored(t *testing.T, conn driver.Conn, chain chain, spans, runs int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storedWithin)
	defer cancel()
	awaitRows(ctx, t, conn, chain.table, spans)
	if chain.runs != "" {
		awaitRows(ctx, t, conn, chain.runs, runs)
	}
}

func awaitRows(ctx context.Context, t *testing.T, conn driver.Conn, table string, rows int) {
	t.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var count uint64
		err := conn.QueryRow(ctx, "SELECT count() FROM "+table).Scan(&count) // the anchor creates its table itself
		if err == nil && count >= uint64(rows) {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, "not all is stored", "%d of %d rows of %s: %v", count, rows, table, err)
		case <-tick.C:
		}
	}
}

// awaitMerges waits for a while, and longer until nothing is merged: merges are part of the cost of storing.
func (b *ingestBench) awaitMerges(t *testing.T, conn driver.Conn, within time.Duration) {
	t.Helper()
	pause(t.Context(), b.settle)
	for end := time.Now().Add(within); time.Now().Before(end); pause(t.Context(), time.Second) {
		var merges uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.merges").Scan(&merges))
		if merges == 0 {
			return
		}
	}
}

// bytesOnDisk returns the bytes per span after all merges.
func bytesOnDisk(t *testing.T, conn driver.Conn, spans int) []compare.Figure {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT DISTINCT table FROM system.parts WHERE active AND database = currentDatabase()")
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var table string
		require.NoError(t, rows.Scan(&table))
		tables = append(tables, table)
	}
	require.NoError(t, rows.Err())
	for _, table := range tables {
		require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE "+table+" FINAL"))
	}
	var total, indexes uint64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(bytes_on_disk), sum(secondary_indices_compressed_bytes)
		FROM system.parts WHERE active AND database = currentDatabase()`).Scan(&total, &indexes))
	return []compare.Figure{
		{Name: "bytes/span on disk", Value: float64(total) / float64(spans)},
		{Name: "bytes/span of indexes", Value: float64(indexes) / float64(spans)},
	}
}
