package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/compare"
	"github.com/looptrace/looptrace/test/bench/loadgen"
)

// firstStored is how many spans go through ingest. The others are copies of stored spans.
const firstStored = 1_000_000

// copiesMergedWithin limits the wait for the merges of copies.
const copiesMergedWithin = 30 * time.Minute

const otherRun = "reinterpretAsUUID(sipHash128(run_id, %[1]d)) AS run_id, "

// copyDays has, for each table of the store, the expressions that turn a row into one of a different run some days
// earlier.
var copyDays = map[string]string{
	"spans":           otherRun + "start_time - toIntervalDay(%[1]d) AS start_time, end_time - toIntervalDay(%[1]d) AS end_time",
	"contents":        otherRun + "hour - toIntervalDay(%[1]d) AS hour",
	"shared_contents": "day - toIntervalDay(%[1]d) AS day",
	"run_bounds":      otherRun + "first_start - toIntervalDay(%[1]d) AS first_start, last_start - toIntervalDay(%[1]d) AS last_start",
	"runs":            otherRun + "start_time - toIntervalDay(%[1]d) AS start_time, end_time - toIntervalDay(%[1]d) AS end_time",
}

// growth measures the same feed while more and more is stored: BENCH_GROWTH lists the number of spans before each
// measurement, in millions. All of them are in the product's own tables, a day for each million.
func (b *ingestBench) growth(t *testing.T) {
	sizes := os.Getenv("BENCH_GROWTH")
	if sizes == "" {
		sizes = "1,10,60"
	}
	load, err := loadgen.Spans()
	require.NoError(t, err)
	r := newRig(t, b.dir)
	r.startClickHouse()
	r.startBroker()
	target := b.startOurs(r)
	conn := r.openClickHouse("looptrace")

	var rows growing
	rows.feed(t, conn, load, target, firstStored)
	for table := range copyDays {
		// The rows to copy, separate from later ones. They are never merged, because they come in one insert.
		require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE first_"+table+" ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM "+table))
	}
	name := func(size string) string { return size + " M" }
	first, _, _ := strings.Cut(sizes, ",")
	table := &compare.Table{Base: name(first), Title: fmt.Sprintf(
		"GROWTH: %d spans through ingest, queue and worker when so many are stored", b.spans)}
	b.tables = append(b.tables, table)
	days := 0
	for size := range strings.SplitSeq(sizes, ",") {
		millions, err := strconv.Atoi(size)
		require.NoError(t, err, "BENCH_GROWTH")
		for ; days < millions-1; days++ {
			rows.copy(t, conn, days+1)
		}
		b.awaitMerges(t, conn, copiesMergedWithin)
		// The memory of copying must not count as that of storing.
		r.restartClickHouse()
		conn = r.openClickHouse("looptrace")
		rows.feed(t, conn, load, target, warmUpSpans)
		for range b.rounds {
			table.Add(name(size), b.measureGrown(t, r, conn, &rows, load, target)...)
		}
	}
	assert.Equal(t, rows.spans, distinctSpans(t, conn), "spans stored")
}

// distinctSpans counts day by day: 60 million at once would exceed a statement's memory.
func distinctSpans(t *testing.T, conn driver.Conn) int {
	t.Helper()
	var days []struct {
		Day string `ch:"partition"`
	}
	require.NoError(t, conn.Select(t.Context(), &days,
		"SELECT DISTINCT partition FROM system.parts WHERE active AND database = currentDatabase() AND table = 'spans'"))
	spans := 0
	for _, day := range days {
		spans += count(t, conn, "SELECT uniqExact(project_id, run_id, span_id) FROM spans WHERE _partition_value.1 = "+day.Day)
	}
	return spans
}

// growing is the number of rows in the tables.
type growing struct{ spans, runs int }

// feed sends spans and waits until they are stored.
func (g *growing) feed(t *testing.T, conn driver.Conn, load *loadgen.Load, target loadgen.Target, spans int) loadgen.Sent {
	t.Helper()
	sent := load.Send(t.Context(), target, spans)
	assert.Empty(t, sent.Refused)
	g.spans, g.runs = g.spans+sent.Spans, g.runs+sent.Traces
	awaitStored(t, conn, ours("ours", nil), g.spans, g.runs)
	return sent
}

// copy stores the first spans again, as runs of n days earlier.
func (g *growing) copy(t *testing.T, conn driver.Conn, days int) {
	t.Helper()
	for table, replace := range copyDays {
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf(
			"INSERT INTO %s SELECT * REPLACE (%s) FROM first_%s SETTINGS max_insert_threads = 1",
			table, fmt.Sprintf(replace, days), table)))
	}
	g.spans += count(t, conn, "SELECT count() FROM first_spans")
	g.runs += count(t, conn, "SELECT count() FROM first_runs")
}

func (b *ingestBench) measureGrown(
	t *testing.T, r *rig, conn driver.Conn, rows *growing, load *loadgen.Load, target loadgen.Target,
) []compare.Figure {
	t.Helper()
	for _, process := range r.processes {
		require.NoError(t, process.ForgetPeakRSS())
	}
	before, begin := r.usage(), time.Now()
	sent := rows.feed(t, conn, load, target, b.spans)
	elapsed := time.Since(begin)
	b.awaitMerges(t, conn, mergedWithin)
	after := r.usage()
	figures := append([]compare.Figure{{Name: "stored spans/s", Value: float64(sent.Spans) / elapsed.Seconds()}},
		perMillion(before, after, sent.Spans)...)
	return append(figures, peaks(after)...)
}

func count(t *testing.T, conn driver.Conn, query string) int {
	t.Helper()
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
	return int(n)
}
