package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// tooLarge is more than ingest takes in one body.
const tooLarge = 21 << 20

// refusals sends what must not be taken, and then sees that nothing of it was.
func (s *story) refusals(t *testing.T) {
	const refused = "zzunseenzz by anybody"
	reader := s.mint(t, nil, "e2e reader", "runs:read").Key
	run := func(members string) string {
		return fmt.Sprintf(`{"runs":[{"run_id":%q,"name":%q,"start_time":"2026-01-01T00:00:00Z"}%s]}`, uuid.NewString(), refused, members)
	}
	trace := fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%x","spanId":"00000000000000f1","name":%q,`+
		`"startTimeUnixNano":"1760000000000000000"}]}]}]}`, uuid.New(), refused)
	padded := string(bytes.Repeat([]byte(" "), tooLarge))
	bomb := string(gzipped(t, bytes.Repeat([]byte(" "), 10*tooLarge)))
	const runs, traces = "/v1/runs", "/v1/traces"
	ingest := []string{s.product.Ports.URL(product.Ingest), s.web()}
	standard := []string{s.product.Ports.URL(product.OTLPHTTP)}

	for _, c := range []struct {
		name         string
		doors        []string
		method, path string // POST where empty
		key          string // a valid one where empty
		contentType  string // JSON where empty
		encoding     string
		body         string
		want         int
		location     string // of what fails validation
	}{
		{name: "run that is no JSON", doors: ingest, path: runs, body: run(",")[:40], want: 400},
		{name: "run after rubbish", doors: ingest, path: runs, body: "x" + run(""), want: 400},
		{name: "trace that is no JSON", doors: append(ingest, standard...), path: traces, body: trace[:60], want: 400},
		{name: "trace that is no protobuf", doors: append(ingest, standard...), path: traces, contentType: product.Protobuf, body: "\x0a\xff\x01" + refused, want: 400},
		{name: "gzip that is none", doors: append(ingest, standard...), path: traces, encoding: "gzip", body: trace, want: 400},
		{name: "run without a name", doors: ingest, path: runs, body: run(`,{"run_id":"` + uuid.NewString() + `","start_time":"2026-01-01T00:00:00Z"}`), want: 422, location: "body.runs[1].name"},
		{name: "run that starts never", doors: ingest, path: runs, body: run(`,{"run_id":"` + uuid.NewString() + `","name":"n","start_time":"soon"}`), want: 422, location: "body.runs[1].start_time"},
		{name: "run of an unknown type", doors: ingest, path: runs, contentType: "text/plain", body: run(""), want: 415},
		{name: "trace of an unknown type", doors: append(ingest, standard...), path: traces, contentType: "text/plain", body: trace, want: 415},
		{name: "unknown encoding", doors: ingest, path: runs, encoding: "compress", body: run(""), want: 415},
		{name: "run that is too large", doors: ingest, path: runs, body: padded + run(""), want: 413},
		{name: "trace that is too large", doors: append(ingest, standard...), path: traces, body: padded + trace, want: 413},
		{name: "trace that inflates", doors: append(ingest, standard...), path: traces, encoding: "gzip", body: bomb, want: 413},
		// SDKs send them to the same address by default.
		{name: "logs that are none", doors: append(ingest[:1:1], standard...), path: "/v1/logs", body: `{"resourceLogs":{}}`, want: 400},
		{name: "metrics", doors: append(ingest[:1:1], standard...), path: "/v1/metrics", body: `{"resourceMetrics":[]}`, want: 404},
		{name: "wrong method", doors: append(ingest[:1:1], standard...), method: http.MethodGet, path: traces, want: 405},
		{name: "wrong method", doors: ingest, method: http.MethodPut, path: runs, body: run(""), want: 405},
		{name: "no key", doors: append(ingest, standard...), path: traces, key: "none", body: trace, want: 401},
		{name: "no key", doors: ingest, path: runs, key: "none", body: run(""), want: 401},
		{name: "wrong key", doors: ingest, path: runs, key: "lt_0000000000000000." + s.ingestKey[20:], body: run(""), want: 401},
		{name: "changed key", doors: append(ingest, standard...), path: traces, key: s.ingestKey[:len(s.ingestKey)-1], body: trace, want: 401},
		{name: "key without the scope", doors: append(ingest, standard...), path: traces, key: reader, body: trace, want: 403},
		{name: "key without the scope", doors: ingest, path: runs, key: reader, body: run(""), want: 403},
	} {
		for _, door := range c.doors {
			place := c.name + ": " + door + c.path
			header := http.Header{"Content-Type": {product.JSON}, "Authorization": {"Bearer " + s.ingestKey}}
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
			answer, err := product.Do(t.Context(), method, door+c.path, header, []byte(c.body))
			require.NoError(t, err, place)
			assert.Equal(t, c.want, answer.Status, "%s: %s", place, answer.Body)
			if c.path == runs {
				assertProblem(t, answer, c.location, place)
			}
		}
	}
	t.Run("gRPC", func(t *testing.T) { s.refusalsOverGRPC(t, refused, reader) })

	// What was queued before a run is there when the run is; the queue has four partitions, so one for each
	// might do, and more surely do.
	yesterday := time.Now().Add(-24 * time.Hour)
	for range 16 {
		id := uuid.NewString()
		s.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{
			"run_id": id, "name": "sentinel", "start_time": yesterday, "end_time": yesterday.Add(time.Second),
		}}})
		s.awaitRun(t, id, ofSpans(1))
	}
	assert.Empty(t, s.runs(t, map[string][]string{"name": {refused}}), "nothing that was refused is there")
	assert.Empty(t, s.runs(t, map[string][]string{"search": {refused}}), "nothing that was refused is there")
}

// assertProblem holds an answer of an own door to RFC 9457.
func assertProblem(t *testing.T, answer product.Answer, location, place string) {
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
	assert.Contains(t, answer.Header.Get("Content-Type"), "application/problem+json", place)
	require.NoError(t, json.Unmarshal(answer.Body, &problem), "%s: %s", place, answer.Body)
	assert.Equal(t, answer.Status, problem.Status, place)
	assert.NotEmpty(t, problem.Title, place)
	assert.NotEmpty(t, problem.Code, place)
	assert.NotEmpty(t, problem.RequestID, place)
	if location != "" && assert.NotEmpty(t, problem.Errors, place) {
		assert.Equal(t, location, problem.Errors[0].Location, place)
	}
}

func (s *story) refusalsOverGRPC(t *testing.T, name, reader string) {
	t.Helper()
	connection, err := grpc.NewClient(s.product.Ports.Addr(product.OTLPGRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
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

// limits gives the project a limit of its own in the browser; every door keeps to it, until it is taken away.
func (s *story) limits(t *testing.T) {
	doors := []string{
		s.product.Ports.URL(product.Ingest) + "/v1/runs", s.product.Ports.URL(product.Ingest) + "/v1/traces",
		s.product.Ports.URL(product.OTLPHTTP) + "/v1/traces", s.web() + "/v1/traces",
	}
	settings := map[string]any{"base": s.web(), "projectId": s.projectID, "rate": "0.001"}
	s.browser.Play(t, "limits", settings, nil)
	ctx, cancel := context.WithTimeout(t.Context(), revokedWithin)
	defer cancel()
	for _, door := range doors {
		require.NoError(t, product.Wait(ctx, func(ctx context.Context) error {
			answer, err := product.Post(ctx, door, s.ingestKey, product.JSON, []byte(`{}`))
			if err != nil || answer.Status != http.StatusTooManyRequests {
				return errors.Join(err, fmt.Errorf("%s answers %d over the limit", door, answer.Status))
			}
			assert.NotEmpty(t, answer.Header.Get("Retry-After"), door)
			assert.Equal(t, "1", answer.Header.Get("RateLimit-Limit"), door)
			assert.Equal(t, "0", answer.Header.Get("RateLimit-Remaining"), door)
			return nil
		}))
	}
	delete(settings, "rate")
	s.browser.Play(t, "limits", settings, nil)
	eventually(t, func(ctx context.Context) error {
		answer, err := product.Post(ctx, doors[1], s.ingestKey, product.JSON, []byte(`{}`))
		if err != nil || answer.Status != http.StatusAccepted {
			return errors.Join(err, fmt.Errorf("%s answers %d without the limit", doors[1], answer.Status))
		}
		return nil
	})
}

// revokedWithin is how long a revoked key may go on working.
const revokedWithin = 5 * time.Second

// revocation revokes a key in the browser; it stops working at every door.
func (s *story) revocation(t *testing.T) {
	minted := s.mint(t, nil, "e2e short-lived", "ingest:write", "runs:read")
	doors := map[string]func(ctx context.Context) (product.Answer, error){
		"ingest": func(ctx context.Context) (product.Answer, error) {
			return product.Post(ctx, s.product.Ports.URL(product.Ingest)+"/v1/runs", minted.Key, product.JSON, []byte(`{}`))
		},
		"the standard port": func(ctx context.Context) (product.Answer, error) {
			return product.Post(ctx, s.product.Ports.URL(product.OTLPHTTP)+"/v1/traces", minted.Key, product.JSON, []byte(`{}`))
		},
		"the API": func(ctx context.Context) (product.Answer, error) {
			return product.Do(ctx, http.MethodGet, s.web()+"/v1/runs?project_id="+s.projectID,
				http.Header{"Authorization": {"Bearer " + minted.Key}}, nil)
		},
	}
	for name, ask := range doors {
		answer, err := ask(t.Context())
		require.NoError(t, err)
		require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, answer.Status, "the key works at %s: %s", name, answer.Body)
	}

	s.browser.Play(t, "revoke", map[string]any{"base": s.web(), "projectId": s.projectID, "name": "e2e short-lived"}, nil)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), revokedWithin)
	defer cancel()
	for name, ask := range doors {
		require.NoError(t, product.Wait(ctx, func(ctx context.Context) error {
			answer, err := ask(ctx)
			if err != nil || answer.Status == http.StatusUnauthorized {
				return err
			}
			return fmt.Errorf("%s answers %d to a revoked key", name, answer.Status)
		}))
	}
	t.Logf("refused everywhere %.0f ms after the page said so", time.Since(begin).Seconds()*1000)
}
