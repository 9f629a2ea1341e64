// Package cluster repeats test/faults for a product in several processes of ingest and store, with three Kafka
// brokers and ClickHouse behind a proxy: deploy/ingest.yaml and deploy/store.yaml, unchanged, twice each.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/faults/report"
	"github.com/looptrace/looptrace/test/kafka"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	topic = "looptrace.spans"
	group = "looptrace-store"

	// patience is how long the test waits for a part. Times are reported. Only a wait beyond patience fails.
	patience = 2 * time.Minute
	// visibleWithin is the time after a recovery by which everything must be readable, or counts as lost.
	visibleWithin = time.Minute
)

// scaled returns small in CI and full with FAULTS=full.
func scaled[T any](short, full T) T {
	if os.Getenv("FAULTS") == "full" {
		return full
	}
	return short
}

func TestCluster(t *testing.T) {
	s := newSite(t, kafka.StartCluster(t))
	t.Run("kill", s.testKill)
	t.Run("rebalance", s.testRebalance)
	t.Run("zombie", s.testZombie)
	t.Run("slow store", s.testSlowStore)
	t.Run("store killed in an insert", s.testKilledInsert)
	t.Run("rolling restart", s.testRollingRestart)
	t.Run("twice", s.testTwice)
	t.Run("stop without a queue", s.testStopWithoutQueue)
	t.Run("without PostgreSQL", s.testWithoutPostgres)
}

// site is the product in its parts.
type site struct {
	postgres   *engines.Server
	clickhouse *process
	// aborts is how often ClickHouse has ended by itself: its engine for one machine, libchdb 26.7, sometimes aborts
	// when a connection is reset. It is restarted then, like by `looptrace up`.
	aborts  atomic.Int64
	brokers []*kafka.Broker
	admin   *kadm.Client

	ingests []*process
	// workers are those of the store. The first one has an instance id, the second one has none.
	workers []*worker
	// spare is a worker that does not run at first.
	spare *worker

	account *product.Account
	api     string
}

// worker is a process of the store and its proxy to ClickHouse.
type worker struct {
	*process

	proxy *proxy
}

func newSite(t *testing.T, brokers []*kafka.Broker) *site {
	t.Helper()
	addresses := make([]string, len(brokers))
	for i, b := range brokers {
		addresses[i] = b.Address
	}
	s := newSiteOver(t, addresses)
	s.brokers = brokers
	return s
}

const storePassword = "test"

// newSiteOver starts everything but the queue.
func newSiteOver(t *testing.T, queue []string) *site {
	t.Helper()
	s := &site{}
	var databaseName string
	s.postgres, databaseName = engines.PostgresServer(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(queue...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.admin = kadm.NewClient(client)

	built, err := product.New(t.TempDir())
	require.NoError(t, err)
	logs := t.TempDir()
	brokersAre := "KAFKA_BROKERS=" + strings.Join(queue, ",")
	databaseIs := "DATABASE_URL=" + s.postgres.URL(databaseName)
	program := func(name string) string { return filepath.Join(built.Root, "_build", name) }
	prepare := func(name, program string, arguments []string, env ...string) *process {
		ports, err := product.FreePorts()
		require.NoError(t, err)
		p := &process{
			name: name, path: program, log: filepath.Join(logs, name+".log"), ports: ports,
			args: append([]string{filepath.Base(program)}, arguments...),
			env: append([]string{
				brokersAre,
				"INGEST_ADDR=" + ports.Addr(product.Ingest),
				"OTLP_GRPC_ADDR=" + ports.Addr(product.OTLPGRPC),
				"OTLP_HTTP_ADDR=" + ports.Addr(product.OTLPHTTP),
				"HEALTH_ADDR=" + ports.Addr(product.CollectorHealth),
				"METRICS_PORT=" + strings.TrimPrefix(ports.Addr(product.CollectorMetrics), "127.0.0.1:"),
				"API_ADDR=" + ports.Addr(product.API),
			}, env...),
		}
		t.Cleanup(func() { p.end(t) })
		return p
	}
	s.clickhouse = prepare("clickhouse", program("looptrace"), nil)
	s.clickhouse.args = append(s.clickhouse.args, "clickhouse", "--data", t.TempDir(),
		"--addr", s.clickhouse.ports.Addr(product.ClickHouse))
	s.clickhouse.env = append(s.clickhouse.env, "CLICKHOUSE_PASSWORD="+storePassword)
	s.startClickHouse(t)
	s.keepClickHouse(t)
	target := s.clickhouse.ports.Addr(product.ClickHouse)
	storeIs := "CLICKHOUSE_URL=" + product.ClickHouseURL(s.clickhouse.ports, storePassword, "looptrace")

	migrate := exec.CommandContext(t.Context(), program("looptrace"), "migrate")
	migrate.Env = append(os.Environ(), brokersAre, databaseIs, storeIs)
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "%s", out)

	configured := func(name string) []string { return []string{"--config", filepath.Join(built.Root, "deploy", name)} }
	for i := range 2 {
		name := fmt.Sprintf("ingest-%d", i+1)
		s.ingests = append(s.ingests, prepare(name, program("looptrace-collector"), configured("ingest.yaml"), databaseIs, "KAFKA_INSTANCE_ID="+name))
	}
	store := func(name, instance string) *worker {
		proxy := startProxy(t, target)
		return &worker{proxy: proxy, process: prepare(name, program("looptrace-collector"), configured("store.yaml"),
			"CLICKHOUSE_URL=clickhouse://looptrace:"+storePassword+"@"+proxy.address+"/looptrace", "KAFKA_INSTANCE_ID="+instance)}
	}
	s.workers = []*worker{store("store-1", "store-1"), store("store-2", "")}
	s.spare = store("store-3", "")
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	api := prepare("controlplane", program("looptrace-controlplane"), nil, databaseIs, storeIs, "SESSION_SECRET="+hex.EncodeToString(secret))
	s.api = api.ports.URL(product.API)

	api.start(t)
	s.startAll(t)
	wait(t, func(ctx context.Context) (err error) {
		s.account, err = product.Setup(ctx, s.api)
		return err
	})
	return s
}

// startAll starts everything that does not run and resets the proxies.
func (s *site) startAll(t *testing.T) {
	t.Helper()
	s.setStore(fault{})
	s.startClickHouse(t)
	s.postgres.Start(t)
	kafka.Resume(t, s.brokers...)
	for _, p := range s.ingests {
		p.start(t)
	}
	for _, w := range s.workers {
		w.start(t)
	}
}

// startClickHouse starts ClickHouse unless it runs, and waits until it answers.
func (s *site) startClickHouse(t *testing.T) {
	t.Helper()
	s.clickhouse.start(t)
	wait(t, func(ctx context.Context) error {
		conn, err := clickhouse.Open(product.ClickHouseURL(s.clickhouse.ports, storePassword, "looptrace"))
		if err != nil {
			return product.Permanent(err)
		}
		defer func() { _ = conn.Close() }() // nothing is pending
		return conn.Ping(ctx)
	})
}

// killClickHouse kills ClickHouse, which may just have ended by itself.
func (s *site) killClickHouse() {
	p := s.clickhouse
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child.Kill()
	p.child = nil
}

// keepClickHouse restarts ClickHouse when it has ended by itself, until the test ends.
func (s *site) keepClickHouse(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	keeping.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			again, err := s.clickhouse.again()
			if err != nil {
				t.Errorf("start ClickHouse again: %v", err)
				return
			}
			if again {
				s.aborts.Add(1)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		keeping.Wait()
	})
}

// setStore sets the fault of every worker's proxy to ClickHouse.
func (s *site) setStore(f fault) {
	for _, w := range append(s.workers[:len(s.workers):len(s.workers)], s.spare) {
		w.proxy.set(f)
	}
}

// processes returns the running processes of ingest and store.
func (s *site) processes() ([]product.Process, error) {
	var running []product.Process
	for _, p := range append(s.ingests[:len(s.ingests):len(s.ingests)], s.workers[0].process, s.workers[1].process, s.spare.process) {
		if child := p.running(); child != nil {
			running = append(running, child.Process())
		}
	}
	return running, nil
}

// awaitStored waits until the group has stored everything that is in the topic now: its offsets are committed. It
// waits as long as there is progress, because reading an hour again takes a while.
func (s *site) awaitStored(t *testing.T) {
	t.Helper()
	var ends kadm.ListedOffsets
	wait(t, func(ctx context.Context) (err error) {
		ends, err = s.admin.ListEndOffsets(ctx, topic)
		if err == nil {
			err = ends.Error()
		}
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	standstill := time.AfterFunc(patience, cancel)
	defer standstill.Stop()
	stored := int64(-1)
	require.NoError(t, product.Wait(ctx, func(ctx context.Context) error {
		committed, err := s.admin.FetchOffsets(ctx, group)
		if err != nil {
			return err
		}
		sum := int64(0)
		var missing error
		for partition, end := range ends[topic] {
			at, _ := committed.Lookup(topic, partition)
			sum += at.At
			if at.At < end.Offset {
				missing = fmt.Errorf("partition %d is stored to %d of %d", partition, at.At, end.Offset)
			}
		}
		if sum > stored {
			stored = sum
			standstill.Reset(patience)
		}
		return missing
	}))
}

// process is one that the test starts, stops, kills and restarts, like an orchestrator.
type process struct {
	name, path, log string
	args, env       []string
	ports           product.Ports

	mu    sync.Mutex
	child *product.Child
}

// running returns the child, nil if there is none.
func (p *process) running() *product.Child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child
}

// start starts the process unless it runs. It does not wait.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.child.Ended() != nil {
		require.NoError(t, p.launch())
	}
}

// again restarts a process that has ended by itself, and reports whether it had.
func (p *process) again() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.child.Ended() == nil {
		return false, nil
	}
	return true, p.launch()
}

func (p *process) launch() (err error) {
	cmd := &exec.Cmd{Path: p.path, Args: p.args, Env: append(os.Environ(), p.env...)}
	p.child, err = product.StartChild(cmd, p.name, p.log)
	return err
}

// kill kills the process, which must run: one that has ended by itself has failed.
func (p *process) kill(t *testing.T) { t.Helper(); p.take(t).Kill() }

// stop ends the process in order and returns how long that took.
func (p *process) stop(t *testing.T) time.Duration {
	t.Helper()
	child := p.take(t)
	begin := time.Now()
	require.NoError(t, child.Stop(patience))
	return time.Since(begin)
}

func (p *process) take(t *testing.T) *product.Child {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotNil(t, p.child, "%s does not run", p.name)
	require.NoError(t, p.child.Ended())
	child := p.child
	p.child = nil
	return child
}

func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	child := p.running()
	require.NoError(t, child.Ended())
	require.NoError(t, syscall.Kill(child.Process().PID, signal))
}

// end ends the process with the test. A failed test prints the end of its log.
func (p *process) end(t *testing.T) {
	if child := p.running(); child != nil {
		child.Kill()
	}
	if !t.Failed() {
		return
	}
	const most = 8 << 10
	log, err := os.ReadFile(p.log)
	t.Logf("--- %s: %v\n%s", p.name, err, log[max(0, len(log)-most):])
}

// row is a row of the report in progress, with its own project and load.
type row struct {
	report.Row

	site    *site
	client  *load.Client
	account *product.Account
	reader  product.Reader

	stopSending func()
	stopWatch   func() product.Memory
	aborts      int64 // before the row
}

// newRow begins a row: clients begin to send, and memory is watched.
func (s *site) newRow(t *testing.T, name, injected string, change ...func(*load.Client)) *row {
	t.Helper()
	s.startAll(t) // a failed row may have left something stopped
	r := &row{Row: report.Row{Name: name, Injected: injected}, site: s, aborts: s.aborts.Load()}
	var err error
	r.account, err = s.account.NewProject(t.Context(), rand.Text())
	require.NoError(t, err)
	key, err := r.account.Key(t.Context(), "faults", "ingest:write", "runs:read")
	require.NoError(t, err)
	r.client = &load.Client{
		Ports: []product.Ports{s.ingests[0].ports, s.ingests[1].ports}, Key: key,
		SpansPerSecond: scaled(500, 5000), Shape: load.Shape{Spans: 25, Parts: 2}, Ledger: &load.Ledger{},
	}
	t.Cleanup(func() { require.NoError(t, r.client.Close()) })
	for _, c := range change {
		c(r.client)
	}
	r.reader = product.Reader{Base: s.api, Key: key}
	r.awaitAccepting(t) // each endpoint has verified the key once

	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() { r.client.Send(ctx) })
	r.stopSending = func() {
		cancel()
		sending.Wait()
	}
	r.stopWatch = sync.OnceValue(product.WatchMemory(s.processes))
	t.Cleanup(func() {
		r.stopSending()
		r.stopWatch()
	})
	return r
}

// awaitAccepting waits until every endpoint of every ingest accepts.
func (r *row) awaitAccepting(t *testing.T) {
	t.Helper()
	for _, p := range r.site.ingests {
		one := &load.Client{Ports: []product.Ports{p.ports}, Key: r.client.Key, Shape: r.client.Shape, Ledger: r.client.Ledger}
		for _, endpoint := range load.Endpoints() {
			wait(t, func(ctx context.Context) error { return one.One(ctx, endpoint) })
		}
		require.NoError(t, one.Close())
	}
}

// awaitBack records how long after begin every endpoint accepts, and how long after that everything accepted until
// then is stored.
func (r *row) awaitBack(t *testing.T, begin time.Time) {
	t.Helper()
	r.awaitAccepting(t)
	r.Accepts = append(r.Accepts, time.Since(begin))
	r.site.awaitStored(t)
	r.Visible = append(r.Visible, time.Since(begin))
}

// verify ends the load, reads back all acknowledged runs, and prints the row.
func (r *row) verify(t *testing.T) {
	t.Helper()
	r.stopSending()
	r.site.awaitStored(t)
	memory := r.stopWatch()
	r.PeakRSS = memory.Sum
	for _, name := range slices.Sorted(maps.Keys(memory.Most)) {
		r.Note("%s %d MB", name, memory.Most[name]/1e6)
	}
	if aborts := r.site.aborts.Load() - r.aborts; aborts > 0 {
		r.Note("ClickHouse (libchdb) aborted by itself %d times", aborts)
	}
	runs := r.client.Ledger.Runs(0)
	r.Acknowledge(runs)
	err := r.Differ(load.Verify(t.Context(), r.reader, r.account.ProjectID, runs, visibleWithin))
	r.Print(t)
	require.NotEmpty(t, runs, "nothing was acknowledged")
	require.NoError(t, err)
	require.Empty(t, r.client.Ledger.Refusals(), "a valid request was refused for good")
}

// wait waits for a condition with patience.
func wait(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}

// pause lets the load continue for a while.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
