package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/compare"
	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/product"
)

// ingestBench compares the product's ingest with a collector of stock parts, in alternating trials.
type ingestBench struct {
	rounds, spans      int
	acceptTime, settle time.Duration
	// onlyOurs omits the stock parts.
	onlyOurs    bool
	databaseURL string
	header      http.Header
	// dir holds the files of the trials.
	dir string
	// clickhouse is the version of the engine, once one was started.
	clickhouse string
	tables     []*compare.Table
}

// TestIngest is `make bench-ingest`, whose documentation describes its settings. It fails on an error, such as a lost
// span, never on a figure.
func TestIngest(t *testing.T) {
	chosen := strings.Split(os.Getenv("BENCH_PARTS"), ",")
	b := &ingestBench{
		rounds: setting(t, "BENCH_ROUNDS", 3), spans: setting(t, "BENCH_SPANS", 300_000),
		acceptTime: time.Duration(setting(t, "BENCH_SECONDS", 10)) * time.Second,
		settle:     time.Duration(setting(t, "BENCH_SETTLE_SECONDS", 10)) * time.Second,
		onlyOurs:   os.Getenv("BENCH_ONLY") == "ours",
		dir:        t.TempDir(),
	}
	b.databaseURL, b.header = newKey(t)
	begin, load := time.Now(), loadAverage()
	parts := []struct {
		name string
		run  func(*testing.T)
	}{
		{"accept", b.accept},
		{"store", b.store},
		{"limit", b.limit},
		{"growth", b.growth},
	}
	for _, part := range parts {
		if slices.Contains(chosen, part.name) {
			t.Run(part.name, part.run)
		}
	}
	require.NotEmpty(t, b.tables, "BENCH_PARTS names none of the parts")
	b.print(t, fmt.Sprintf("%s, ClickHouse %s, %d cores, load average %s before and %s after, %d rounds, broker %s, %s",
		versions(t), cmp.Or(b.clickhouse, "not measured"), runtime.NumCPU(), load, loadAverage(), b.rounds, brokerName(), time.Since(begin).Round(time.Second)))
}

// print prints the tables, and writes them to _build/bench-ingest.json for programs.
func (b *ingestBench) print(t *testing.T, conditions string) {
	t.Helper()
	fmt.Printf("\n%s\n", conditions)
	for _, table := range b.tables {
		fmt.Println()
		require.NoError(t, table.Print(os.Stdout))
	}
	text, err := json.MarshalIndent(map[string]any{"conditions": conditions, "tables": b.tables}, "", "  ")
	require.NoError(t, err)
	root, err := checkout.Root()
	require.NoError(t, err)
	file := filepath.Join(root, "_build", "bench-ingest.json")
	require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
	fmt.Printf("\nwritten to %s\n", filepath.Join("_build", filepath.Base(file)))
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

func brokerName() string {
	if os.Getenv("BENCH_BROKER") == "kafka" {
		return "Apache Kafka"
	}
	return "embedded"
}

// versions describes what is measured.
func versions(t *testing.T) string {
	t.Helper()
	revision, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		revision = []byte("unknown") // not a checkout
	}
	root, err := checkout.Root()
	require.NoError(t, err)
	anchor, err := exec.Command(filepath.Join(root, "_build", "anchor", "otelcol-anchor"), "--version").Output()
	require.NoError(t, err)
	return fmt.Sprintf("looptrace %s, %s, %s", strings.TrimSpace(string(revision)), runtime.Version(), strings.TrimSpace(string(anchor)))
}

// perMillion returns the processor seconds of each process, and of all, for a million spans.
func perMillion(before, after map[string]taken, spans int) []compare.Figure {
	var figures []compare.Figure
	total := 0.0
	for _, name := range roles {
		now, ok := after[name]
		if !ok {
			continue
		}
		seconds := (now.cpu - before[name].cpu).Seconds() / float64(spans) * 1e6
		total += seconds
		figures = append(figures, compare.Figure{Name: "CPU-s/M " + name, Value: seconds})
	}
	return append(figures, compare.Figure{Name: "CPU-s/M total", Value: total})
}

// peaks returns the peak memory of each process, and the sum.
func peaks(after map[string]taken) []compare.Figure {
	var figures []compare.Figure
	total := 0.0
	for _, name := range roles {
		usage, ok := after[name]
		if !ok {
			continue
		}
		megabytes := float64(usage.peak) / 1e6
		total += megabytes
		figures = append(figures, compare.Figure{Name: "peak MB " + name, Value: megabytes})
	}
	return append(figures, compare.Figure{Name: "peak MB total", Value: total})
}

// roles are the measured processes, in the order in which a span passes them.
var roles = []string{
	ingestProcess, product.CollectorProcess, product.BrokerProcess, storeProcess, product.ClickHouseProcess,
}

// loads returns the loads for the chains. Without recorded runs the second one is omitted.
func loads(t *testing.T) []func() (*loadgen.Load, error) {
	t.Helper()
	all := []func() (*loadgen.Load, error){loadgen.Spans}
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Log("the load of real agents is left out: LOOPTRACE_REALDATA names the folder of real traces")
		return all
	}
	return append(all, func() (*loadgen.Load, error) {
		return loadgen.Agents(filepath.Join(folder, "tau-bench-airline", "otlp"))
	})
}
