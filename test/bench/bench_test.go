// Package bench measures the running product: how soon accepted runs are visible, its use of the machine while idle
// and under load, its start, and its throughput. A figure never fails the test. An error does.
package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// cpuTime is how long the idle product's processor time is counted.
	cpuTime = 30 * time.Second
	// floodTime is how long each endpoint is flooded.
	floodTime = 15 * time.Second
	// visibleWithin limits the wait for accepted runs.
	visibleWithin = 5 * time.Minute
)

// setting reads an integer from the environment.
func setting(t *testing.T, name string, standard int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return standard
	}
	n, err := strconv.Atoi(given)
	require.NoError(t, err, name)
	return n
}

// bench is one measured instance.
type bench struct {
	product *product.Product
	account *product.Account
	key     string
	reader  product.Reader
	report  *report
}

func TestBench(t *testing.T) {
	var (
		idle     = time.Duration(setting(t, "BENCH_IDLE_SECONDS", 60)) * time.Second
		duration = time.Duration(setting(t, "BENCH_SECONDS", 60)) * time.Second
		rate     = setting(t, "BENCH_SPANS_PER_SECOND", 100)
	)
	p, err := product.New(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := p.Down(); err != nil {
			t.Errorf("stop the product: %v", err)
		}
		if t.Failed() {
			t.Log(p.Logs())
		}
	})
	b := &bench{product: p, report: newReport()}
	t.Cleanup(func() { require.NoError(t, b.report.print(os.Stdout)) })

	b.start(t, "first start (fresh data folder)")
	t.Run("idle", func(t *testing.T) { b.idle(t, "idle, fresh", idle) })
	b.setUp(t)
	t.Run("latency", func(t *testing.T) { b.latency(t, rate, duration) })
	t.Run("flood", func(t *testing.T) {
		b.flood(t, load.TracesProtobuf)
		b.flood(t, load.OTLPProtobuf)
		b.idle(t, "idle, after the flood", idle)
	})
	t.Run("restart", func(t *testing.T) {
		require.NoError(t, p.Down())
		b.start(t, "next start (same data folder)")
		b.idle(t, "idle, restarted", idle)
	})
}

// start starts the product and measures the time until every part is ready.
func (b *bench) start(t *testing.T, what string) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, b.product.Up(t.Context()))
	b.report.add("start", what, figure{"ready_s", time.Since(begin).Seconds()})
}

// idle waits, counts the processor time of the last part of the wait, and measures memory at its end.
func (b *bench) idle(t *testing.T, what string, wait time.Duration) {
	t.Helper()
	pause(t.Context(), wait-min(cpuTime, wait))
	before, begin := b.usage(t), time.Now()
	pause(t.Context(), min(cpuTime, wait))
	after, passed := b.usage(t), time.Since(begin)
	var total product.Usage
	for _, u := range after {
		cpu := u.CPU - before.of(u.PID).CPU
		b.report.add(what, u.Name, memoryFigures(u.Usage, percent(cpu, passed))...)
		total.RSS, total.PSS, total.Anonymous = total.RSS+u.RSS, total.PSS+u.PSS, total.Anonymous+u.Anonymous
		total.CPU += cpu
	}
	b.report.add(what, "total", memoryFigures(total, percent(total.CPU, passed))...)
}

func percent(cpu, passed time.Duration) float64 { return 100 * cpu.Seconds() / passed.Seconds() }

func memoryFigures(u product.Usage, cpu float64) []figure {
	const megabyte = 1e6
	return []figure{
		{"rss_mb", float64(u.RSS) / megabyte},
		{"pss_mb", float64(u.PSS) / megabyte},
		{"anonymous_mb", float64(u.Anonymous) / megabyte},
		{"cpu_percent", cpu},
	}
}

// processUsage is the use of one process.
type processUsage struct {
	product.Process
	product.Usage
}

type usages []processUsage

func (u usages) of(pid int) product.Usage {
	for _, process := range u {
		if process.PID == pid {
			return process.Usage
		}
	}
	return product.Usage{}
}

// cpu adds up the processor time of a service's processes.
func (u usages) cpu(name string) time.Duration {
	var total time.Duration
	for _, process := range u {
		if process.Name == name {
			total += process.CPU
		}
	}
	return total
}

// usage reads the use of every process. It omits processes that have ended meanwhile.
func (b *bench) usage(t *testing.T) usages {
	t.Helper()
	processes, err := b.product.Processes()
	require.NoError(t, err)
	var all usages
	for _, process := range processes {
		if usage, err := process.Usage(); err == nil {
			all = append(all, processUsage{process, usage})
		}
	}
	return all
}

func (b *bench) setUp(t *testing.T) {
	t.Helper()
	var err error
	b.account, err = b.product.Setup(t.Context())
	require.NoError(t, err)
	b.key, err = b.account.Key(t.Context(), "bench", "ingest:write", "runs:read")
	require.NoError(t, err)
	b.reader = product.Reader{Base: b.product.Ports.URL(product.Web), Key: b.key}
}

// latency offers runs at a steady rate and measures, for each, the time from its acknowledgement until the list first
// shows it completely.
func (b *bench) latency(t *testing.T, rate int, duration time.Duration) {
	t.Helper()
	const spansPerRun = 5
	client := &load.Client{
		Ports: []product.Ports{b.product.Ports}, Key: b.key, SpansPerSecond: rate, Shape: load.Shape{Spans: spansPerRun}, Ledger: &load.Ledger{},
	}
	defer func() { require.NoError(t, client.Close()) }()
	sending, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	before, begin := b.usage(t), time.Now()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		client.Send(sending)
	}()
	watch := watch{reader: b.reader, projectID: b.account.ProjectID, ledger: client.Ledger}
	require.NoError(t, watch.run(t.Context(), sent))
	after, passed := b.usage(t), time.Since(begin)

	runs := client.Ledger.Runs(0)
	require.NotEmpty(t, runs)
	require.Empty(t, client.Ledger.Refusals())
	what := fmt.Sprintf("%d spans/s for %s", rate, duration)
	b.report.add("accepted to visible", what, append(quantiles(watch.delays),
		figure{"runs", float64(len(runs))}, figure{"poll_interval_ms_p50", median(watch.intervals)})...)
	var answers []time.Duration
	for _, attempt := range client.Ledger.Attempts(begin, time.Now()) {
		require.NoError(t, attempt.Err)
		answers = append(answers, attempt.End.Sub(attempt.Begin))
	}
	b.report.add("time to 202", what, quantiles(answers)...)
	var cpu []figure
	for _, name := range services {
		cpu = append(cpu, figure{name, percent(after.cpu(name)-before.cpu(name), passed)})
	}
	b.report.add("cpu percent, reads included", what, cpu...)
	require.NoError(t, load.Verify(t.Context(), b.reader, b.account.ProjectID, runs, visibleWithin))
}

// services are the processes whose processor time is reported.
var services = []string{
	product.CollectorProcess, product.ClickHouseProcess, product.BrokerProcess, product.ControlPlaneProcess,
	product.WebProcess, product.PostgresProcess, product.LauncherProcess,
}

// flood sends to one endpoint as fast as it answers, waits until all is stored, and checks that all is there.
func (b *bench) flood(t *testing.T, endpoint load.Endpoint) {
	t.Helper()
	flood := &load.Flood{
		Ports: b.product.Ports, Key: b.key, Endpoint: endpoint, Connections: 4, RunsPerRequest: 4, SpansPerRun: 25,
	}
	sending, stop := context.WithTimeout(t.Context(), floodTime)
	defer stop()
	before, begin := b.usage(t), time.Now()
	runs, failures := flood.Send(sending)
	accepted := time.Since(begin)
	require.NotEmpty(t, runs)
	require.NoError(t, awaitVisible(t.Context(), b.reader, runs))
	stored := time.Since(begin)
	after := b.usage(t)

	spans := float64(len(runs) * flood.SpansPerRun)
	b.report.add("flood", endpoint.String(),
		figure{"accepted_spans_per_s", spans / accepted.Seconds()},
		figure{"stored_spans_per_s", spans / stored.Seconds()},
		figure{"visible_after_end_s", (stored - accepted).Seconds()},
		figure{"spans", spans},
		figure{"failed_requests", float64(len(failures))},
	)
	var cpu []figure
	for _, name := range services {
		cpu = append(cpu, figure{name, (after.cpu(name) - before.cpu(name)).Seconds() / spans * 1e6})
	}
	b.report.add("cpu s per 1M spans", endpoint.String(), cpu...)
	b.report.add("rss_mb after the flood", endpoint.String(), rssFigures(after)...)
	require.NoError(t, load.VerifyListed(t.Context(), b.reader, b.account.ProjectID, runs, visibleWithin))
}

func rssFigures(u usages) []figure {
	var figures []figure
	for _, name := range services {
		var rss int64
		for _, process := range u {
			if process.Name == name {
				rss += process.RSS
			}
		}
		figures = append(figures, figure{name, float64(rss) / 1e6})
	}
	return figures
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
