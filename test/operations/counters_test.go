package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
)

// Every stage counts what is sent once, and the stages agree.
func TestCountersAddUp(t *testing.T) {
	p := product.Start(t)
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	mint := func(scopes ...string) string {
		key, err := account.Key(t.Context(), "counters", scopes...)
		require.NoError(t, err)
		return key
	}
	key, reader := mint("ingest:write"), mint("runs:read")
	native, traces, standard := p.Ports.URL(product.Ingest)+"/v1/runs", p.Ports.URL(product.Ingest)+"/v1/traces", p.Ports.URL(product.OTLPHTTP)+"/v1/traces"
	post := func(want int, url, key string, body []byte) {
		t.Helper()
		answer, err := product.Post(t.Context(), url, key, product.JSON, body)
		require.NoError(t, err)
		require.Equal(t, want, answer.Status, "%s", answer.Body)
	}

	// Accepted: 6 native requests of 3 spans, one of them a repetition; 4 and 3 of OTLP over HTTP, 2 over gRPC, of 2
	// spans.
	const runs, spans, requests, poison = 5 + 4 + 3 + 2, 6*3 + 4*2 + 3*2 + 2*2, 6 + 4 + 3 + 2, 3
	var body []byte
	for range 5 {
		body = nativeRun(t)
		post(http.StatusAccepted, native, key, body)
	}
	post(http.StatusAccepted, native, key, body)
	for range 4 {
		post(http.StatusAccepted, traces, key, otlpRun(t))
	}
	for range 3 {
		post(http.StatusOK, standard, key, otlpRun(t))
	}
	for range 2 {
		require.NoError(t, export(t, p, key))
	}

	// Refused, each for one reason.
	post(http.StatusUnauthorized, native, "", body)
	post(http.StatusUnauthorized, standard, strings.Replace(key, "lt_", "lt-", 1), body)
	post(http.StatusUnauthorized, traces, "lt_0000000000000000.", body)
	post(http.StatusForbidden, native, reader, body)
	post(http.StatusBadRequest, native, key, []byte(`{"runs":`))
	post(http.StatusBadRequest, traces, key, []byte(`{"resourceSpans":`))
	post(http.StatusRequestEntityTooLarge, native, key, bytes.Repeat([]byte(" "), 21<<20))
	post(http.StatusUnprocessableEntity, native, key, []byte(`{"runs":[{"run_id":"`+uuid.NewString()+`"}]}`))
	require.Error(t, export(t, p, reader), "gRPC: no scope")
	pause(t, p, product.PostgresProcess)
	post(http.StatusServiceUnavailable, native, apikey.Mint().Reveal(), body)
	resume(t, p, product.PostgresProcess)

	// Records of an unknown producer.
	queue := p.Queue(t, kgo.DefaultProduceTopic("looptrace.spans"))
	for range poison {
		require.NoError(t, queue.ProduceSync(t.Context(), &kgo.Record{Value: []byte("this is no protobuf")}).FirstErr())
	}

	var collector []series
	until(t, func(ctx context.Context) error {
		collector = scrape(ctx, t, p.Ports.URL(product.CollectorMetrics))
		if done := sum(collector, "otelcol_kafkabatch_records", ""); done < requests+poison {
			return fmt.Errorf("%v of %d records are through", done, requests+poison)
		}
		return nil
	})

	assert.Equal(t, map[string]float64{"runs": 6*3 + 4*2, "runs/otlp": 3 * 2, "otlp": 2 * 2, "kafkabatch": spans},
		by(collector, "otelcol_receiver_accepted_spans", "receiver"), "accepted, by receiver, and passed to the store")
	assert.Equal(t, map[string]float64{"kafka": spans, "clickhouseruns": spans},
		by(collector, "otelcol_exporter_sent_spans", "exporter"), "acknowledged by the queue, and by the store")
	assert.InDelta(t, requests, sum(collector, "otelcol_kafka_exporter_records", "outcome", "success"), 0)
	assert.InDelta(t, spans, sum(collector, "otelcol_exporter_clickhouseruns_spans", ""), 0, "written, the repetition too")
	assert.Zero(t, sum(collector, "otelcol_exporter_clickhouseruns_spans_skipped", ""))
	assert.InDelta(t, requests+poison, sum(collector, "otelcol_kafkabatch_records", ""), 0, "queued = stored + dead letters")
	assert.Equal(t, map[string]float64{"undecodable": poison}, by(collector, "otelcol_kafkabatch_dead_letters", "reason"))
	assert.Zero(t, sum(collector, "otelcol_kafkabatch_dead_letter_spans", ""), "none of what was accepted")
	assert.InDelta(t, requests, sum(collector, "otelcol_kafkabatch_delivery_delay_count", ""), 0)
	assert.Equal(t, map[string]float64{
		"runs queued": 6, "traces queued": 4 + 3,
		"runs unauthenticated": 1, "traces unauthenticated": 2, "runs scope_missing": 1,
		"runs malformed": 1, "traces malformed": 1, "runs body_too_large": 1, "runs invalid": 1,
		"runs key_store_unavailable": 1,
	}, by(collector, "otelcol_receiver_runs_requests", "route", "outcome"))
	assert.Equal(t, map[string]float64{
		"ok": requests + 4, "missing": 1, "malformed": 2, "scope_missing": 2, "unavailable": 1,
	}, by(collector, "otelcol_apikeyauth_requests", "result"))

	listed, err := product.Reader{Base: p.Ports.URL(product.API), Key: reader}.Runs(t.Context(), account.ProjectID, time.Now().AddDate(-2, 0, 0))
	require.NoError(t, err)
	assert.Len(t, listed, runs, "the repetition is no run")

	// A limit of one request.
	limited, err := product.Do(t.Context(), http.MethodPut, p.Ports.URL(product.API)+"/v1/projects/"+account.ProjectID+"/limits",
		http.Header{"Authorization": {"Bearer " + mint("admin")}, "Content-Type": {product.JSON}},
		[]byte(`{"key":{"requests":{"rate":0.001,"burst":1}}}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, limited.Status, "%s", limited.Body)
	until(t, func(ctx context.Context) error {
		answer, err := product.Post(ctx, native, key, product.JSON, body)
		if err == nil && answer.Status != http.StatusTooManyRequests {
			err = fmt.Errorf("it answers %d", answer.Status)
		}
		return err
	})
	collector = scrape(t.Context(), t, p.Ports.URL(product.CollectorMetrics))
	assert.Equal(t, map[string]float64{"key requests": 1}, by(collector, "otelcol_ratelimit_refusals", "subject", "measure"))
	assert.InDelta(t, 1, sum(collector, "otelcol_receiver_runs_requests", "outcome", "rate_limited"), 0)

	assertNamesExist(t, p, collector)
}

func nativeRun(t *testing.T) []byte {
	t.Helper()
	id := uuid.NewString()
	span := func(n int) map[string]any {
		return map[string]any{
			"run_id": id, "span_id": fmt.Sprintf("%016x", n), "name": "step", "kind": "tool",
			"start_time": "2026-11-20T12:00:00Z", "end_time": "2026-11-20T12:00:01Z",
		}
	}
	body, err := json.Marshal(map[string]any{
		"runs":  []any{map[string]any{"run_id": id, "name": "counted", "start_time": "2026-11-20T12:00:00Z", "end_time": "2026-11-20T12:00:02Z"}},
		"spans": []any{span(1), span(2)},
	})
	require.NoError(t, err)
	return body
}

func otlpRun(t *testing.T) []byte {
	t.Helper()
	trace := strings.ReplaceAll(uuid.NewString(), "-", "")
	return fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[
		{"traceId":%[1]q,"spanId":"00000000000000a1","name":"root","startTimeUnixNano":"1763640000000000000","endTimeUnixNano":"1763640001000000000"},
		{"traceId":%[1]q,"spanId":"00000000000000a2","parentSpanId":"00000000000000a1","name":"step","startTimeUnixNano":"1763640000000000000","endTimeUnixNano":"1763640001000000000"}
	]}]}]}`, trace)
}

// export sends a run over gRPC.
func export(t *testing.T, p *product.Product, key string) error {
	t.Helper()
	request := ptraceotlp.NewExportRequest()
	require.NoError(t, request.UnmarshalJSON(otlpRun(t)))
	connection, err := grpc.NewClient(p.Ports.Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }() // the answer was received
	_, err = ptraceotlp.NewGRPCClient(connection).Export(
		metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key), request)
	return err
}

// pause halts a service and its child processes, like a machine that hangs.
func pause(t *testing.T, p *product.Product, name string) { send(t, p, name, syscall.SIGSTOP) }

func resume(t *testing.T, p *product.Product, name string) { send(t, p, name, syscall.SIGCONT) }

func send(t *testing.T, p *product.Product, name string, signal syscall.Signal) {
	t.Helper()
	processes, err := p.Processes()
	require.NoError(t, err)
	sent := 0
	for _, process := range processes {
		if process.Name == name || strings.HasPrefix(process.Name, name+": ") {
			require.NoError(t, syscall.Kill(process.PID, signal), process.Name)
			sent++
		}
	}
	require.NotZero(t, sent, name)
}

var metricName = regexp.MustCompile(`\b(?:otelcol|looptrace|process)_[a-z0-9_]+\b`)

// assertNamesExist checks that the names in alerts, dashboard and documentation exist in a running product. Our own
// counters that are still 0 are not exported yet: they must be in their component's documentation.
func assertNamesExist(t *testing.T, p *product.Product, collector []series) {
	t.Helper()
	exist := map[string]bool{}
	for _, one := range collector {
		exist[one.name] = true
	}
	for _, port := range []int{product.API, product.BrokerMetrics, product.Web} {
		for _, one := range scrape(t.Context(), t, p.Ports.URL(port)) {
			exist[one.name] = true
		}
	}
	documents, err := filepath.Glob(filepath.Join(p.Root, "components", "*", "documentation.md"))
	require.NoError(t, err)
	for _, path := range append(documents, filepath.Join(p.Root, "cmd", "looptrace", "internal", "probe", "metrics.go")) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?m)(?:^### |Name: +")([a-z0-9_]+)`).FindAllStringSubmatch(string(text), -1) {
			exist[name[1]] = true
		}
	}
	for _, file := range []string{"deploy/alerts.yaml", "deploy/dashboard.json", "docs/operations/metrics.md", "docs/operations/alerts.md"} {
		text, err := os.ReadFile(filepath.Join(p.Root, file))
		require.NoError(t, err)
		for _, name := range metricName.FindAllString(string(text), -1) {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			assert.True(t, exist[name] || exist[base] || exist[name+"_count"], "%s names %s, which nothing shows", file, name)
		}
	}
}
