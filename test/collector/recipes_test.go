package collector

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"google.golang.org/protobuf/proto"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// runSpans is the rate of spans of agents, beside 4,000 of a mixed client.
	runSpans = 1000
	// phase is how many items are acknowledged before, between and after the kills: four seconds of the load.
	phase = 16_000
)

// site is the product, another collector, and the backend behind it.
type site struct {
	product *product.Product
	account *product.Account
	reader  product.Reader
	key     string
	backend *backend

	theirs      *product.Child
	theirPorts  product.Ports
	startTheirs func() *product.Child
}

// TestCollectorRecipes runs the configurations of deploy/collector. Every field of generated requests reaches the backend
// unchanged. Then come services with stock SDKs and a load, during which it kills our collector and theirs. At the end what was
// acknowledged is here once, and there at least once.
func TestCollectorRecipes(t *testing.T) {
	services := buildServices(t)
	t.Run("front", func(t *testing.T) {
		s := newSite(t, nil, "front.yaml")
		s.run(t, services, load.Endpoints(), s.product.Ports)
	})
	t.Run("instead", func(t *testing.T) {
		s := newSite(t, nil, "front.yaml", "instead.yaml")
		s.key = "" // but for port 7080, to which no client sends here
		s.run(t, services, []load.Endpoint{load.OTLPProtobuf, load.GRPC}, s.product.Ports)
	})
	t.Run("behind", func(t *testing.T) {
		s := newSite(t, []string{"behind.yaml"})
		s.run(t, services, []load.Endpoint{load.OTLPProtobuf, load.GRPC}, s.theirPorts)
	})
	t.Run("beside", func(t *testing.T) {
		s := newSite(t, []string{"beside.yaml"})
		s.run(t, services, []load.Endpoint{load.OTLPProtobuf, load.GRPC}, s.theirPorts)
	})
}

// newSite starts everything. Our collector reads the files ours, and theirs reads the files theirs after its own.
func newSite(t *testing.T, theirs []string, ours ...string) *site {
	t.Helper()
	recipe := func(name string) string {
		path, err := filepath.Abs(filepath.Join("../../deploy/collector", name))
		require.NoError(t, err)
		return path
	}
	s := &site{backend: startBackend(t)}
	var err error
	s.theirPorts, err = product.FreePorts()
	require.NoError(t, err)
	s.product, err = product.New(t.TempDir())
	require.NoError(t, err)
	// The project of clients without a key is known once there is one.
	require.NoError(t, s.product.Up(t.Context()))
	t.Cleanup(func() {
		assert.NoError(t, s.product.Down())
		if t.Failed() {
			t.Log(s.product.Logs())
		}
	})
	s.account, err = s.product.Setup(t.Context())
	require.NoError(t, err)
	s.key, err = s.account.Key(t.Context(), "recipes", "ingest:write", "runs:read")
	require.NoError(t, err)
	s.reader = product.Reader{Base: s.product.Ports.URL(product.API), Key: s.key}
	if len(ours) > 0 {
		require.NoError(t, s.product.Down())
		for _, name := range ours {
			s.product.CollectorConfigs = append(s.product.CollectorConfigs, recipe(name))
		}
		s.product.Env = []string{"FORWARD_ENDPOINT=" + s.theirPorts.Addr(product.OTLPGRPC), "FORWARD_INSECURE=true", "PROJECT_ID=" + s.account.ProjectID}
		require.NoError(t, s.product.Up(t.Context()))
	}

	flags := []string{"--config", "testdata/theirs.yaml"}
	for _, name := range theirs {
		flags = append(flags, "--config", recipe(name))
	}
	folder := t.TempDir()
	s.startTheirs = func() *product.Child {
		child := startCollector(t, "collector-full/looptrace-collector-full", s.theirPorts, flags,
			"BACKEND="+s.backend.address, "COLLECTOR_DATA="+folder, "PROJECT_ID="+s.account.ProjectID,
			"LOOPTRACE_ENDPOINT="+s.product.Ports.URL(product.OTLPHTTP), "LOOPTRACE_KEY="+s.key,
			"CLICKHOUSE_URL="+product.ClickHouseURL(s.product.Ports, s.product.Password(t, "clickhouse"), "looptrace"))
		wait(t, func(ctx context.Context) error {
			if err := child.Ended(); err != nil {
				return product.Permanent(err)
			}
			_, err := product.Do(ctx, http.MethodGet, s.theirPorts.URL(product.OTLPHTTP), nil, nil)
			return err
		})
		return child
	}
	s.theirs = s.startTheirs()
	return s
}

// run sends generated requests, what the services send, runs and the rest of a system to the ports, kills both collectors, and
// compares both ends with what was acknowledged.
func (s *site) run(t *testing.T, services []service, endpoints []load.Endpoint, to product.Ports) {
	t.Helper()
	s.compareGenerated(t, to)
	ids, ofServices := s.runServices(t, services, to)
	agents := &load.Client{
		Ports: []product.Ports{to}, Key: s.key, SpansPerSecond: runSpans, Endpoints: endpoints, Shape: load.Shape{Spans: 10, Parts: 2}, Ledger: &load.Ledger{},
	}
	rest := &mixedClient{ports: to, key: s.key}
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() { agents.Send(ctx) })
	sending.Go(func() { rest.send(ctx, t) })
	defer func() {
		stop()
		sending.Wait()
	}()

	rest.acknowledge(t, phase)
	pid, err := s.product.PID(product.CollectorProcess)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // `looptrace up` starts it again
	rest.acknowledge(t, phase)
	s.theirs.Kill()
	if to == s.product.Ports { // without theirs, ours goes on
		rest.acknowledge(t, phase/2)
	}
	s.theirs = s.startTheirs()
	rest.acknowledge(t, phase)
	stop()
	sending.Wait()
	require.NoError(t, agents.Close())
	require.Empty(t, agents.Ledger.Refusals())

	runs := agents.Ledger.Runs(0)
	require.NotEmpty(t, runs)
	t.Logf("acknowledged: %d runs, %d spans, log records and data points beside them", len(runs), len(rest.acknowledged))

	ids = append(ids, rest.acknowledged...)
	runs = append(runs, ofServices...)

	// There: at least once.
	spans := map[pcommon.TraceID]int64{}
	for _, run := range runs {
		spans[pcommon.TraceID(run.ID)] = run.Spans
	}
	wait(t, func(context.Context) error {
		if others, ofRuns := s.backend.missing(ids, spans); others+ofRuns > 0 {
			return fmt.Errorf("the backend lacks %d items, and %d spans of runs", others, ofRuns)
		}
		return nil
	})
	// Here: exactly once.
	require.NoError(t, load.Verify(t.Context(), s.reader, s.account.ProjectID, runs, patience))
	require.NoError(t, load.Verify(t.Context(), s.reader, s.account.ProjectID, ofServices, patience)) // each by its id
	store := s.product.ClickHouse(t)
	wait(t, func(ctx context.Context) error {
		var distinct, traces uint64
		if err := store.QueryRow(ctx, `SELECT uniqExact(run_id, span_id), uniqExact(run_id) FROM spans WHERE scope_name = 'io.opentelemetry.http'`).
			Scan(&distinct, &traces); err != nil {
			return err
		}
		if distinct < uint64(rest.spans) {
			return fmt.Errorf("the store has %d other spans of %d", distinct, rest.spans)
		}
		t.Logf("the store has %d other spans of %d acknowledged, in %d traces", distinct, rest.spans, traces)
		return nil
	})
}

// compareGenerated sends requests with every field to the ports. Batches on the way may join requests, so it compares items.
func (s *site) compareGenerated(t *testing.T, to product.Ports) {
	t.Helper()
	client := newGeneratedClient(t, to.Addr(product.OTLPGRPC), to.URL(product.OTLPHTTP), s.key)
	random := newRandom(t)
	type sent struct {
		what string
		item proto.Message
	}
	all := map[string]sent{}
	for _, way := range ways {
		for _, signal := range signals() {
			eachItem(generate(random, signal.request), func(item proto.Message, alone func() proto.Message) {
				id := uuid.NewString()
				setID(item, id)
				s.backend.keep(id)
				all[id] = sent{signal.path + " by " + way, alone()}
			})
			require.NoError(t, client.send(t.Context(), way, signal), "%s by %s", signal.path, way)
		}
	}
	ids := slices.Collect(maps.Keys(all))
	wait(t, func(context.Context) error {
		if n, _ := s.backend.missing(ids, nil); n > 0 {
			return fmt.Errorf("the backend lacks %d of %d generated items", n, len(ids))
		}
		return nil
	})
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	for id, sent := range all {
		if got := s.backend.kept[id]; !proto.Equal(sent.item, got) {
			t.Fatalf("%s: %s", sent.what, firstDifference(fmt.Sprint(sent.item), fmt.Sprint(got)))
		}
	}
}
