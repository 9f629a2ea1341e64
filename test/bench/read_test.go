package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/product"
)

// reading is one database with the control plane that reads it.
type reading struct {
	name, api string
	key       string
	conn      driver.Conn
	client    *http.Client
	runs      int
	// smallSpans is how many spans the small database was created with.
	smallSpans int
	// longRuns are runs of 1,000 spans, as both schemas name them.
	longRuns, longTraces []string
	// deep is a cursor of page 1,000, and deepAt its time.
	deep    string
	deepAt  time.Time
	deepKey string
}

// read is one kind of read, with its n-th variant. Both ways return how many rows they found.
type read struct {
	name string
	ours func(r *reading, n int) string
	// stock is a statement on the stock exporter's tables.
	stock       func(r *reading, n int) string
	bar, growth float64
}

const stockRun = `TraceId, Timestamp, SpanName, ServiceName, Duration, StatusCode, StatusMessage, ResourceAttributes, SpanAttributes`

// lastDays limits a statement on the stock tables to the time range of the data.
const lastDays = "Timestamp >= now() - toIntervalDay(30)"

// invoice returns an invoice that runs of the data name, a different one for each n while there are enough.
func invoice(smallSpans, n int) string {
	return fmt.Sprintf("INV-%06d", (37+n*61)%(smallSpans/spansPerRun/invoiceRuns))
}

func (d *reading) invoice(n int) string { return invoice(d.smallSpans, n) }

var reads = []read{
	{
		name: "first page of runs", bar: 0.3, growth: 1.5,
		ours: func(*reading, int) string { return "/v1/runs?limit=50" },
		stock: func(*reading, int) string {
			return "SELECT " + stockRun + " FROM otel_traces WHERE ParentSpanId = '' ORDER BY Timestamp DESC LIMIT 50"
		},
	},
	{
		name: "with three filters", bar: 0.3, growth: 1.5,
		ours: func(*reading, int) string {
			return "/v1/runs?limit=50&status=error&environment=production&model=gpt-5&window_seconds=2592000"
		},
		stock: func(*reading, int) string {
			return "SELECT " + stockRun + " FROM otel_traces WHERE ParentSpanId = '' AND " + lastDays + ` AND StatusCode = 'Error'
				AND ResourceAttributes['deployment.environment.name'] = 'production'
				AND TraceId IN (SELECT TraceId FROM otel_traces WHERE ` + lastDays + ` AND SpanAttributes['gen_ai.request.model'] = 'gpt-5')
				ORDER BY Timestamp DESC LIMIT 50`
		},
	},
	{
		name: "full-text search, rare", bar: 0.1, growth: 1.5,
		ours: func(r *reading, n int) string {
			return "/v1/runs?limit=50&window_seconds=2592000&search=" + r.invoice(n)
		},
		stock: func(r *reading, n int) string {
			return "SELECT " + stockRun + " FROM otel_traces WHERE ParentSpanId = '' AND " + lastDays + ` AND TraceId IN (
				SELECT TraceId FROM otel_traces WHERE ` + lastDays + ` AND (arrayExists(v -> v ILIKE '%` + r.invoice(n) + `%', mapValues(SpanAttributes))
					OR SpanName ILIKE '%` + r.invoice(n) + `%' OR StatusMessage ILIKE '%` + r.invoice(n) + `%'))
				ORDER BY Timestamp DESC LIMIT 50`
		},
	},
	{
		name: "full-text search, frequent", bar: 0.1, growth: 1.5,
		ours: func(*reading, int) string { return "/v1/runs?limit=50&window_seconds=2592000&search=quota+exceeded" },
		stock: func(*reading, int) string {
			return "SELECT " + stockRun + " FROM otel_traces WHERE ParentSpanId = '' AND " + lastDays + ` AND TraceId IN (
				SELECT TraceId FROM otel_traces WHERE ` + lastDays + ` AND (arrayExists(v -> v ILIKE '%quota exceeded%', mapValues(SpanAttributes))
					OR SpanName ILIKE '%quota exceeded%' OR StatusMessage ILIKE '%quota exceeded%'))
				ORDER BY Timestamp DESC LIMIT 50`
		},
	},
	{
		name: "page 1,000 by cursor", growth: 1.5,
		ours: func(r *reading, _ int) string { return "/v1/runs?limit=50&cursor=" + url.QueryEscape(r.deep) },
		stock: func(r *reading, _ int) string {
			return "SELECT " + stockRun + fmt.Sprintf(" FROM otel_traces WHERE ParentSpanId = '' AND (Timestamp, TraceId) < (fromUnixTimestamp64Nano(%d), '%s') ORDER BY Timestamp DESC, TraceId DESC LIMIT 50",
				r.deepAt.UnixNano(), strings.ReplaceAll(r.deepKey, "-", ""))
		},
	},
	{
		name: "run of 1,000 spans", bar: 0.5, growth: 1.5,
		ours: func(r *reading, n int) string {
			return "/v1/runs/" + r.longRuns[n%len(r.longRuns)] + "/spans?limit=1000"
		},
		stock: func(r *reading, n int) string {
			trace := "'" + r.longTraces[n%len(r.longTraces)] + "'"
			return `WITH (SELECT min(Start) FROM otel_traces_trace_id_ts WHERE TraceId = ` + trace + `) AS first,
				(SELECT max(End) + 1 FROM otel_traces_trace_id_ts WHERE TraceId = ` + trace + `) AS last
				SELECT * FROM otel_traces WHERE TraceId = ` + trace + ` AND Timestamp >= first AND Timestamp <= last ORDER BY Timestamp LIMIT 1000`
		},
	},
	{
		name: "stats over 30 days", bar: 0.2, growth: 1.5,
		ours: func(*reading, int) string { return "/v1/runs/stats?window_seconds=2592000&group_by=model" },
		stock: func(*reading, int) string {
			return `SELECT toStartOfInterval(start, toIntervalHour(12)) AS bucket, model, count(), countIf(failed), quantilesTDigest(0.5, 0.95, 0.99)(took), sum(input), sum(output), sum(cost)
				FROM (
					SELECT min(Timestamp) AS start, anyIf(Duration, ParentSpanId = '') AS took, countIf(ParentSpanId = '' AND StatusCode = 'Error') > 0 AS failed,
						anyIf(SpanAttributes['gen_ai.request.model'], SpanAttributes['gen_ai.request.model'] != '') AS model,
						sum(toInt64OrZero(SpanAttributes['gen_ai.usage.input_tokens'])) AS input, sum(toInt64OrZero(SpanAttributes['gen_ai.usage.output_tokens'])) AS output,
						sum(toFloat64OrZero(SpanAttributes['looptrace.cost_usd'])) AS cost
					FROM otel_traces WHERE ` + lastDays + ` GROUP BY TraceId
				) GROUP BY bucket, model`
		},
	},
	{
		name: "agent view of 1,000 spans", growth: 1.5,
		ours: func(r *reading, n int) string { return "/v1/runs/" + r.longRuns[n%len(r.longRuns)] + "/agent-view" },
	},
}

// TestRead is `make bench-read`, see docs/measurements/reading.md. A figure never fails it.
func TestRead(t *testing.T) {
	if os.Getenv("BENCH_READ_SPANS") == "" {
		t.Skip("see make bench-read")
	}
	rounds, stockRounds := setting(t, "BENCH_READ_ROUNDS", 40), setting(t, "BENCH_READ_STOCK_ROUNDS", 5)
	load := loadAverage()
	r := newReadRig(t)
	small, large := r.startReading(t, smallReads, 1), r.startReading(t, largeReads, 2)
	var lines []readLine
	for _, what := range reads {
		if only := os.Getenv("BENCH_READ_ONLY"); only != "" && !strings.Contains(what.name, only) {
			continue
		}
		line := readLine{Read: what.name, Bar: what.bar, Growth: what.growth}
		line.Small, line.Large, line.Stock = measureInTurn(t, what, small, large, rounds, stockRounds)
		lines = append(lines, line)
		t.Logf("%+v", line)
	}
	fmt.Printf("%d cores of %s, load before the start %s; %d and %d runs\n", runtime.NumCPU(), runtime.GOARCH, load, small.runs, large.runs)
	require.NoError(t, printReads(os.Stdout, lines))
	text, err := json.MarshalIndent(lines, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.built("bench-read.json"), text, 0o644))
}

// readLine is the measurement of one read, in milliseconds.
type readLine struct {
	Read                string
	Small, Large, Stock percentiles
	Bar, Growth         float64
}

type percentiles struct{ P50, P95 float64 }

func percentilesOf(times []time.Duration) percentiles {
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[min(len(times)-1, int(q*float64(len(times))))]) / float64(time.Millisecond)
	}
	return percentiles{at(0.5), at(0.95)}
}

func printReads(out io.Writer, lines []readLine) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "read\tours p50\tp95 ms\tsmall p50\tp95 ms\tgrowth (p95)\tstock p50\tp95 ms\tof stock (p95)") // Flush reports
	for _, l := range lines {
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f (≤ %.1f)\t", l.Read, l.Large.P50, l.Large.P95, l.Small.P50, l.Small.P95, l.Large.P95/l.Small.P95, l.Growth)
		if l.Stock.P95 > 0 {
			_, _ = fmt.Fprintf(table, "%.0f\t%.0f\t%.3f", l.Stock.P50, l.Stock.P95, l.Large.P95/l.Stock.P95)
		}
		if l.Bar > 0 {
			_, _ = fmt.Fprintf(table, " (≤ %.1f)", l.Bar)
		}
		_, _ = fmt.Fprintln(table)
	}
	return table.Flush()
}

// startReading starts a control plane on one of the databases, with a key of the data's project.
func (r *rig) startReading(t *testing.T, database string, place int) *reading {
	t.Helper()
	ctx := t.Context()
	databaseURL := engines.Postgres(t)
	pool, err := postgres.Open(ctx, databaseURL)
	require.NoError(t, err)
	key := apikey.Mint()
	hash := key.Hash()
	_, err = pool.Exec(ctx, `
		WITH o AS (INSERT INTO organizations (name) VALUES ('bench') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'bench' FROM o RETURNING id),
		p AS (INSERT INTO projects (id, workspace_id, name) SELECT $4, id, 'bench' FROM w RETURNING id)
		INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) SELECT id, 'bench', $1, $2, $3 FROM p`,
		key.PublicID(), hash[:], []string{apikey.ScopeRunsRead}, readProject)
	require.NoError(t, err)
	pool.Close()

	addr := r.ports.Addr(product.API)
	if place > 1 {
		addr = r.ports.Addr(product.Web) // not running here
	}
	r.startControlPlane(database, addr, databaseURL)
	d := &reading{name: database, api: "http://" + addr, key: key.Reveal(), conn: r.openClickHouse(database), client: &http.Client{Timeout: time.Minute}}
	d.runs = count(t, d.conn, "SELECT count() FROM runs")
	d.smallSpans = smallSpans(t)

	var rows []struct {
		Run   string `ch:"run"`
		Trace string `ch:"trace"`
	}
	require.NoError(t, d.conn.Select(ctx, &rows, `SELECT toString(run_id) AS run, '' AS trace FROM runs WHERE span_count = 1000 ORDER BY start_time DESC LIMIT 40`))
	for _, row := range rows {
		d.longRuns = append(d.longRuns, row.Run)
	}
	rows = nil
	require.NoError(t, d.conn.Select(ctx, &rows, `SELECT '' AS run, TraceId AS trace FROM otel_traces GROUP BY TraceId HAVING count() = 1000 ORDER BY max(Timestamp) DESC LIMIT 40`))
	for _, row := range rows {
		d.longTraces = append(d.longTraces, row.Trace)
	}
	require.NotEmpty(t, d.longRuns)
	require.NotEmpty(t, d.longTraces)

	const pages, page = 99, 500 // as many runs as 990 pages of 50: the small database has 1,000
	for range min(pages, d.runs/page-1) {
		var list struct {
			Data []struct {
				RunID     string    `json:"run_id"`
				StartTime time.Time `json:"start_time"`
			}
			NextCursor string `json:"next_cursor"`
		}
		require.NoError(t, json.Unmarshal(d.get(t, "/v1/runs?limit=500&cursor="+url.QueryEscape(d.deep)), &list))
		d.deep = list.NextCursor
		last := list.Data[len(list.Data)-1]
		d.deepAt, d.deepKey = last.StartTime, last.RunID
	}
	return d
}

// startControlPlane starts a control plane on one of the databases, after migrating it.
func (r *rig) startControlPlane(database, addr, databaseURL string) {
	r.t.Helper()
	require.NoError(r.t, clickhouse.Migrate(r.t.Context(), r.clickhouseURL(database)))
	child := r.run("api-"+database, []string{
		"API_ADDR=" + addr, "DATABASE_URL=" + databaseURL, "CLICKHOUSE_URL=" + r.clickhouseURL(database) + "?compress=none",
		"SESSION_SECRET=" + strings.Repeat("07", 32), "API_BYTES_PER_SECOND=0", "API_REQUESTS_PER_SECOND=0",
		"GOMEMLIMIT=320MiB", "GOGC=300", // like `looptrace up`
	}, r.built("looptrace-controlplane"))
	r.await(child, answers(http.MethodGet, "http://"+addr+"/readyz"))
}

func (d *reading) get(t *testing.T, path string) []byte {
	t.Helper()
	path = strings.TrimSuffix(path, "&cursor=")
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.api+path+separator+"project_id="+readProject.String(), http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+d.key)
	resp, err := d.client.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", path, body)
	return body
}

// warmUp reads for three seconds, at least once, before the measurement, because a new engine is slow at first.
func warmUp(read func(n int)) {
	for n, start := 0, time.Now(); n == 0 || time.Since(start) < 3*time.Second; n++ {
		read(n)
	}
}

// measureInTurn alternates between the small and the large database and the stock tables, so that other load on the
// machine affects all of them. The stock tables are read at least leastStock times, and no more after ten seconds.
func measureInTurn(t *testing.T, what read, small, large *reading, rounds, leastStock int) (inSmall, inLarge, inStock percentiles) {
	t.Helper()
	asksStock := what.stock != nil && leastStock > 0
	small.warmUp(t, what, rounds)
	large.warmUp(t, what, rounds)
	if asksStock {
		warmUp(func(n int) { large.askStock(t, what, n) })
	}
	var smallTimes, largeTimes, stockTimes []time.Duration
	var stockTime time.Duration
	for n := range rounds {
		smallTimes = append(smallTimes, took(func() { small.get(t, what.ours(small, n)) }))
		largeTimes = append(largeTimes, took(func() { large.get(t, what.ours(large, n)) }))
		if asksStock && (len(stockTimes) < leastStock || stockTime < 10*time.Second) {
			stockTimes = append(stockTimes, took(func() { large.askStock(t, what, n) }))
			stockTime += stockTimes[len(stockTimes)-1]
		}
	}
	if asksStock {
		inStock = percentilesOf(stockTimes)
	}
	return percentilesOf(smallTimes), percentilesOf(largeTimes), inStock
}

func took(do func()) time.Duration {
	begin := time.Now()
	do()
	return time.Since(begin)
}

func (d *reading) warmUp(t *testing.T, what read, rounds int) {
	t.Helper()
	warmUp(func(n int) {
		body := string(d.get(t, what.ours(d, rounds+n)))
		if n == 0 {
			assert.NotContains(t, body, `"partial":true`, what.name)
			assert.NotContains(t, body, `"data":[],`, what.name)
		}
	})
}

func (d *reading) askStock(t *testing.T, what read, n int) {
	t.Helper()
	found, err := drain(t.Context(), d.conn, what.stock(d, n))
	require.NoError(t, err, what.name)
	require.Positive(t, found, what.name)
}

// drain reads and discards a statement's result.
func drain(ctx context.Context, conn driver.Conn, statement string) (rows int, err error) {
	found, err := conn.Query(ctx, statement)
	if err != nil {
		return 0, err
	}
	defer func() { _ = found.Close() }() // read to its end
	for found.Next() {
		rows++
	}
	return rows, found.Err()
}
