package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/test/product"
)

// tooLarge is more than ingest accepts in one body.
const tooLarge = 21 << 20

// TestRefusals sends what ingest must refuse, and checks that nothing of it is stored.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	const refused = "zzunseenzz by anybody"
	reader := p.mint(t, bearer(p.adminKey), "e2e reader", "runs:read").Key
	run := func(members string) string {
		return fmt.Sprintf(`{"runs":[{"run_id":%q,"name":%q,"start_time":"2026-01-01T00:00:00Z"}%s]}`, uuid.NewString(), refused, members)
	}
	trace := fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%x","spanId":"00000000000000f1","name":%q,`+
		`"startTimeUnixNano":"1760000000000000000"}]}]}]}`, uuid.New(), refused)
	padded := string(bytes.Repeat([]byte(" "), tooLarge))
	bomb := string(gzipped(t, bytes.Repeat([]byte(" "), 10*tooLarge)))
	const runs, traces = "/v1/runs", "/v1/traces"
	ingest := []string{p.product.Ports.URL(product.Ingest), p.web()}
	otlp := []string{p.product.Ports.URL(product.OTLPHTTP)}

	for _, c := range []struct {
		name         string
		endpoints    []string
		method, path string // POST where empty
		key          string // a valid one where empty
		contentType  string // JSON where empty
		encoding     string
		body         string
		want         int
		location     string // of the member that fails validation
	}{
		{name: "run in invalid JSON", endpoints: ingest, path: runs, body: run(",")[:40], want: 400},
		{name: "run after other bytes", endpoints: ingest, path: runs, body: "x" + run(""), want: 400},
		{name: "trace in invalid JSON", endpoints: append(ingest, otlp...), path: traces, body: trace[:60], want: 400},
		{name: "trace in invalid protobuf", endpoints: append(ingest, otlp...), path: traces, contentType: product.Protobuf, body: "\x0a\xff\x01" + refused, want: 400},
		{name: "invalid gzip", endpoints: append(ingest, otlp...), path: traces, encoding: "gzip", body: trace, want: 400},
		{name: "run without a name", endpoints: ingest, path: runs, body: run(`,{"run_id":"` + uuid.NewString() + `","start_time":"2026-01-01T00:00:00Z"}`), want: 422, location: "body.runs[1].name"},
		{name: "run with an invalid start time", endpoints: ingest, path: runs, body: run(`,{"run_id":"` + uuid.NewString() + `","name":"n","start_time":"soon"}`), want: 422, location: "body.runs[1].start_time"},
		{name: "run of an unknown media type", endpoints: ingest, path: runs, contentType: "text/plain", body: run(""), want: 415},
		{name: "trace of an unknown media type", endpoints: append(ingest, otlp...), path: traces, contentType: "text/plain", body: trace, want: 415},
		{name: "unknown encoding", endpoints: ingest, path: runs, encoding: "compress", body: run(""), want: 415},
		{name: "run that is too large", endpoints: ingest, path: runs, body: padded + run(""), want: 413},
		{name: "trace that is too large", endpoints: append(ingest, otlp...), path: traces, body: padded + trace, want: 413},
		{name: "trace that is too large when decompressed", endpoints: append(ingest, otlp...), path: traces, encoding: "gzip", body: bomb, want: 413},
		// By default SDKs send logs and metrics to the same address.
		{name: "invalid logs", endpoints: append(ingest[:1:1], otlp...), path: "/v1/logs", body: `{"resourceLogs":{}}`, want: 400},
		{name: "invalid metrics", endpoints: append(ingest[:1:1], otlp...), path: "/v1/metrics", body: `{"resourceMetrics":{}}`, want: 400},
		{name: "wrong method", endpoints: append(ingest[:1:1], otlp...), method: http.MethodGet, path: traces, want: 405},
		{name: "wrong method", endpoints: ingest, method: http.MethodPut, path: runs, body: run(""), want: 405},
		{name: "no key", endpoints: append(ingest, otlp...), path: traces, key: "none", body: trace, want: 401},
		{name: "no key", endpoints: ingest, path: runs, key: "none", body: run(""), want: 401},
		{name: "wrong key", endpoints: ingest, path: runs, key: "lt_0000000000000000." + p.ingestKey[20:], body: run(""), want: 401},
		{name: "changed key", endpoints: append(ingest, otlp...), path: traces, key: p.ingestKey[:len(p.ingestKey)-1], body: trace, want: 401},
		{name: "key without the scope", endpoints: append(ingest, otlp...), path: traces, key: reader, body: trace, want: 403},
		{name: "key without the scope", endpoints: ingest, path: runs, key: reader, body: run(""), want: 403},
	} {
		for _, base := range c.endpoints {
			request := c.name + ": " + base + c.path
			header := http.Header{"Content-Type": {product.JSON}, "Authorization": {"Bearer " + p.ingestKey}}
			if c.contentType != "" {
				header.Set("Content-Type", c.contentType)
			}
			if c.encoding != "" {
				header.Set("Content-Encoding", c.encoding)
			}
			if c.key != "" {
				header.Set("Authorization", "Bearer "+c.key)
			}
			if c.key == "none" {
				header.Del("Authorization")
			}
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			answer, err := product.Do(t.Context(), method, base+c.path, header, []byte(c.body))
			require.NoError(t, err, request)
			assert.Equal(t, c.want, answer.Status, "%s: %s", request, answer.Body)
			if c.path == runs {
				assertProblem(t, answer, c.location, request)
			}
		}
	}
	t.Run("gRPC", func(t *testing.T) { p.refusalsOverGRPC(t, refused, reader) })

	// A partition of the queue is stored in order. Sixteen later runs most likely reach all four partitions.
	yesterday := time.Now().Add(-24 * time.Hour)
	for range 16 {
		id := uuid.NewString()
		p.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{
			"run_id": id, "name": "sentinel", "start_time": yesterday, "end_time": yesterday.Add(time.Second),
		}}})
		p.awaitRun(t, id, ofSpans(1))
	}
	assert.Empty(t, p.runs(t, map[string][]string{"name": {refused}}), "no refused run is stored")
	assert.Empty(t, p.runs(t, map[string][]string{"search": {refused}}), "no refused run is stored")
}

// assertProblem checks that the body of a refusal follows RFC 9457.
func assertProblem(t *testing.T, answer product.Answer, location, request string) {
	t.Helper()
	var problem struct {
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
		Errors    []struct {
			Location string `json:"location"`
		} `json:"errors"`
	}
	assert.Contains(t, answer.Header.Get("Content-Type"), "application/problem+json", request)
	require.NoError(t, json.Unmarshal(answer.Body, &problem), "%s: %s", request, answer.Body)
	assert.Equal(t, answer.Status, problem.Status, request)
	assert.NotEmpty(t, problem.Title, request)
	assert.NotEmpty(t, problem.Code, request)
	assert.NotEmpty(t, problem.RequestID, request)
	if location != "" && assert.NotEmpty(t, problem.Errors, request) {
		assert.Equal(t, location, problem.Errors[0].Location, request)
	}
}

func (p *project) refusalsOverGRPC(t *testing.T, name, reader string) {
	t.Helper()
	connection, err := grpc.NewClient(p.product.Ports.Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	traces := ptrace.NewTraces()
	span := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName(name)
	span.SetTraceID([16]byte(uuid.New()))
	span.SetSpanID([8]byte{1})
	request := ptraceotlp.NewExportRequestFromTraces(traces)
	for key, want := range map[string]codes.Code{
		"": codes.Unauthenticated, "lt_none": codes.Unauthenticated, reader: codes.PermissionDenied,
	} {
		ctx := t.Context()
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
		}
		_, err := ptraceotlp.NewGRPCClient(connection).Export(ctx, request)
		assert.Equal(t, want, status.Code(err), "key %q: %v", key, err)
	}
}
