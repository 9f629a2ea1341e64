package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/kafka"
	"github.com/looptrace/looptrace/test/product"
)

const (
	// readyWithin limits the start of a process.
	readyWithin = time.Minute
	// endWithin limits its orderly stop.
	endWithin = 30 * time.Second
)

// Names of collectors that do one part of the work.
const (
	ingestProcess = "ingest"
	storeProcess  = "store"
)

// rig is the processes of one trial, with their own folders and ports. They are new for every trial, so that each has
// the same initial state.
type rig struct {
	t         *testing.T
	root, dir string
	ports     product.Ports
	// profiles is a folder for profiles of the collectors that store, or empty.
	profiles string

	processes  []product.Process
	clickhouse *product.Child
	brokers    string
	// login is KAFKA_SASL.
	login string
}

// password is the password of every store of a rig.
const password = "bench"

// newRig returns a rig whose processes keep their data in a folder within parent. Remove the data of trials only
// after the last one: ext4 does not reuse inodes for some minutes and scans removed ones whenever a file is created,
// which ClickHouse does for every part.
func newRig(t *testing.T, parent string) *rig {
	t.Helper()
	ports, err := product.FreePorts()
	require.NoError(t, err)
	root, err := checkout.Root()
	require.NoError(t, err)
	dir, err := os.MkdirTemp(parent, "trial") //nolint:usetesting // it outlives the trial
	require.NoError(t, err)
	return &rig{t: t, root: root, dir: dir, ports: ports, profiles: os.Getenv("BENCH_PROFILE")}
}

func (r *rig) built(parts ...string) string {
	return filepath.Join(append([]string{r.root, "_build"}, parts...)...)
}

// run starts a process that ends with the trial.
func (r *rig) run(name string, env []string, program string, args ...string) *product.Child {
	r.t.Helper()
	child, err := product.StartChild(
		&exec.Cmd{Path: program, Args: append([]string{program}, args...), Env: append(os.Environ(), env...), Dir: r.dir},
		name, filepath.Join(r.dir, name+".log"))
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			log, _ := os.ReadFile(filepath.Join(r.dir, name+".log"))
			r.t.Logf("--- %s\n%s", name, log[max(0, len(log)-4<<10):])
		}
		require.NoError(r.t, child.Stop(endWithin))
	})
	r.processes = append(r.processes, child.Process())
	return child
}

// await waits until a process is ready.
func (r *rig) await(child *product.Child, ready func(context.Context) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), readyWithin)
	defer cancel()
	require.NoError(r.t, product.Wait(ctx, func(ctx context.Context) error {
		if err := child.Ended(); err != nil {
			return product.Permanent(err)
		}
		return ready(ctx)
	}))
}

// answers requests an address until it answers 200.
func answers(method, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := product.Do(ctx, method, url, http.Header{"Content-Type": {product.Protobuf}}, nil)
		if err == nil && answer.Status != http.StatusOK {
			err = fmt.Errorf("%s answers %d: %s", url, answer.Status, answer.Body)
		}
		return err
	}
}

// startClickHouse starts the engine like `looptrace up`.
func (r *rig) startClickHouse() {
	r.t.Helper()
	r.clickhouse = r.run(product.ClickHouseProcess, []string{"GOMEMLIMIT=64MiB", "CLICKHOUSE_PASSWORD=" + password}, r.built("looptrace"), "clickhouse",
		"--data", filepath.Join(r.dir, "clickhouse"),
		"--addr", r.ports.Addr(product.ClickHouse), "--database", "*")
	r.await(r.clickhouse, func(ctx context.Context) error {
		return r.openClickHouse("default").Ping(ctx)
	})
}

// restartClickHouse restarts the engine on its data, with more memory.
func (r *rig) restartClickHouse() {
	r.t.Helper()
	require.NoError(r.t, r.clickhouse.Stop(endWithin))
	stopped := r.clickhouse.Process()
	r.processes = slices.DeleteFunc(r.processes, func(p product.Process) bool { return p.PID == stopped.PID })
	r.startClickHouse()
}

// startBroker starts a broker with the product's topics: the embedded one like `looptrace up`, or Apache Kafka.
func (r *rig) startBroker() {
	r.t.Helper()
	if os.Getenv("BENCH_BROKER") == "kafka" {
		broker := kafka.Start(r.t)
		r.brokers, r.login = broker.Address, "null"
		r.processes = append(r.processes, product.Process{PID: broker.PID(), Name: product.BrokerProcess})
		require.NoError(r.t, r.migrate(r.t.Context(), "KAFKA_BROKERS="+r.brokers))
		return
	}
	r.brokers, r.login = r.ports.Addr(product.Broker), product.QueueLogin(password)
	// Like `looptrace up`, with twice the memory, because the stock chain's fetches do not fit in 128 MiB, and space
	// for what is accepted while nothing is stored.
	child := r.run(product.BrokerProcess, []string{"GOMEMLIMIT=256MiB", "GOGC=300", "QUEUE_PASSWORD=" + password}, r.built("looptrace"), "broker",
		"--data", filepath.Join(r.dir, "queue"), "--addr", r.brokers, "--metrics-addr", r.ports.Addr(product.BrokerMetrics),
		"--max-bytes", strconv.Itoa(32<<30))
	r.await(child, func(ctx context.Context) error { return r.migrate(ctx, "KAFKA_BROKERS="+r.brokers) })
}

// migrate migrates a store, whose address is in an environment variable.
func (r *rig) migrate(ctx context.Context, store string, args ...string) error {
	cmd := exec.CommandContext(ctx, r.built("looptrace"), append([]string{"migrate"}, args...)...)
	cmd.Env = append(os.Environ(), store, "KAFKA_SASL="+r.login)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, out)
	}
	return nil
}

func (r *rig) migrateClickHouse(args ...string) {
	r.t.Helper()
	require.NoError(r.t, r.migrate(r.t.Context(), "CLICKHOUSE_URL="+r.clickhouseURL("looptrace"), args...))
}

func (r *rig) clickhouseURL(database string) string {
	return product.ClickHouseURL(r.ports, password, database)
}

// openClickHouse connects with the stock client: clickhouse.Open gives up a statement that is silent for long, as
// OPTIMIZE is.
func (r *rig) openClickHouse(database string) driver.Conn {
	r.t.Helper()
	options, err := ch.ParseDSN(r.clickhouseURL(database))
	require.NoError(r.t, err)
	options.ReadTimeout = time.Hour
	conn, err := ch.Open(options)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, conn.Close()) })
	return conn
}

// startCollector starts the product's collector with one of its configurations and waits until it is ready. Each has
// its own ports, shifted by place.
func (r *rig) startCollector(name string, place int, config string, env ...string) {
	r.t.Helper()
	health := r.ports.Addr(product.CollectorHealth)
	metrics := product.CollectorMetrics
	if place > 0 { // the ports of processes that do not run here
		health, metrics = r.ports.Addr(product.Web), product.API
	}
	program := r.built("looptrace-collector")
	stores := name != ingestProcess
	if stores && r.profiles != "" {
		program = r.buildWithSymbols()
	}
	child := r.run(name, append([]string{
		"INGEST_ADDR=" + r.ports.Addr(product.Ingest),
		"OTLP_GRPC_ADDR=" + r.ports.Addr(product.OTLPGRPC),
		"OTLP_HTTP_ADDR=" + r.ports.Addr(product.OTLPHTTP),
		"HEALTH_ADDR=" + health,
		"METRICS_PORT=" + fmt.Sprint(metrics+r.ports.Offset),
		"KAFKA_BROKERS=" + r.brokers,
		"KAFKA_SASL=" + r.login,
	}, env...), program, "--config", filepath.Join(r.root, config))
	r.await(child, answers(http.MethodGet, "http://"+health+"/readyz"))
	if stores && r.profiles != "" {
		r.profile(child)
	}
}

// whilePaused stops a process while do runs, which must take less than the session timeout of its consumer group.
func (r *rig) whilePaused(name string, do func()) {
	r.t.Helper()
	at := slices.IndexFunc(r.processes, func(p product.Process) bool { return p.Name == name })
	pid := r.processes[at].PID
	require.NoError(r.t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(r.t, syscall.Kill(pid, syscall.SIGCONT)) }()
	do()
}

// startIngest starts ingest alone, with the settings that its configuration recommends.
func (r *rig) startIngest(databaseURL string) {
	r.t.Helper()
	r.startCollector(ingestProcess, 0, "deploy/ingest.yaml", "DATABASE_URL="+databaseURL, "GOGC=200", "GOMEMLIMIT=512MiB")
}

// startAnchor starts the collector of stock parts.
func (r *rig) startAnchor(name, config string, env ...string) *product.Child {
	r.t.Helper()
	return r.run(name, append([]string{
		"OTLP_HTTP_ADDR=" + r.ports.Addr(product.OTLPHTTP),
		"KAFKA_BROKERS=" + r.brokers,
		"KAFKA_SASL=" + r.login,
	}, env...), r.built("anchor", "otelcol-anchor"), "--config", filepath.Join(r.root, "test", "bench", "anchor", config))
}

// buildWithSymbols builds the collector with function names for profiles.
func (r *rig) buildWithSymbols() string {
	r.t.Helper()
	program := r.built("looptrace-collector-symbols")
	cmd := exec.CommandContext(r.t.Context(), "go", "build", "-o", program, "./_build/collector")
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return program
}

// profile records where a process spends its time until the trial ends, and writes it as text too.
func (r *rig) profile(child *product.Child) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(r.profiles, 0o755))
	process := child.Process()
	file, err := filepath.Abs(filepath.Join(r.profiles, strings.ReplaceAll(r.t.Name(), "/", "-")+".perf"))
	require.NoError(r.t, err)
	perf := exec.Command("perf", "record", "-e", "cpu-clock", "-F", "499", "-g", "-o", file, "-p", fmt.Sprint(process.PID))
	require.NoError(r.t, perf.Start(), "profiles need perf")
	r.t.Cleanup(func() {
		require.NoError(r.t, perf.Process.Signal(syscall.SIGINT))
		_ = perf.Wait() // it ends by our signal
		report, err := exec.Command("perf", "report", "--stdio", "--no-children", "-g", "caller,0.5,callee", "-i", file).Output()
		require.NoError(r.t, err)
		require.NoError(r.t, os.WriteFile(file+".txt", report, 0o644))
	})
}

// taken is what a process has used so far: processor time and peak memory.
type taken struct {
	cpu  time.Duration
	peak int64
}

// usage returns what each process has used, by its name.
func (r *rig) usage() map[string]taken {
	r.t.Helper()
	all := map[string]taken{}
	for _, process := range r.processes {
		usage, err := process.Usage()
		require.NoError(r.t, err)
		peak, err := process.PeakRSS()
		require.NoError(r.t, err)
		all[process.Name] = taken{usage.CPU, peak}
	}
	return all
}

// newKey creates a project with a key in a real PostgreSQL, and returns the database's address and the header with
// the key.
func newKey(t *testing.T) (databaseURL string, header http.Header) {
	t.Helper()
	databaseURL = engines.Postgres(t)
	pool, err := postgres.Open(t.Context(), databaseURL)
	require.NoError(t, err)
	defer pool.Close()
	key := apikey.Mint()
	hash := key.Hash()
	_, err = pool.Exec(t.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ('bench') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'bench' FROM o RETURNING id),
		p AS (INSERT INTO projects (workspace_id, name) SELECT id, 'bench' FROM w RETURNING id)
		INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) SELECT id, 'bench', $1, $2, $3 FROM p`,
		key.PublicID(), hash[:], []string{apikey.ScopeIngestWrite})
	require.NoError(t, err)
	return databaseURL, http.Header{"Authorization": {"Bearer " + key.Reveal()}}
}

// tracesEndpoint returns where a rig's ingest accepts traces: the receiver with the API's contract, or the anchor's only
// one.
func (r *rig) tracesEndpoint(header http.Header) loadgen.Target {
	port := product.OTLPHTTP
	if header != nil {
		port = product.Ingest
	}
	return loadgen.Target{URL: r.ports.URL(port) + "/v1/traces", Header: header}
}
