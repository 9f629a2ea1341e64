package apikeyauthextension

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/engines"
)

var update = flag.Bool("update", false, "write the golden files anew")

// servers are an HTTP and a gRPC server with the extension, and a key for every case.
type servers struct {
	a    *apiKeyAuth
	keys map[string]string
	// away is the same with its PostgreSQL stopped.
	away *apiKeyAuth
}

func newServers(t *testing.T) *servers {
	t.Helper()
	db := newDatabase(t, engines.Postgres(t))
	server, name := engines.PostgresServer(t)
	away := newDatabase(t, server.URL(name))
	cached := away.mint(t, "")
	d := &servers{
		a:    start(t, db.url, nil),
		away: start(t, away.url, nil),
		keys: map[string]string{
			"good":     db.mint(t, "").Reveal(),
			"admin":    db.mint(t, "", apikey.ScopeAdmin).Reveal(),
			"no scope": db.mint(t, "", apikey.ScopeRunsRead, apikey.ScopeRunsWrite).Reveal(),
			"revoked":  db.mint(t, "revoked_at = now()").Reveal(),
			"expired":  db.mint(t, "expires_at = now()").Reveal(),
			"unknown":  apikey.Mint().Reveal(),
			"typo":     strings.ToLower(db.mint(t, "").Reveal()),
			"missing":  "",
			"cached":   cached.Reveal(),
		},
	}
	require.Equal(t, "ok", stateOf(t.Context(), d.away, cached))
	server.Stop(t)
	require.Equal(t, "unavailable", stateOf(t.Context(), d.away, apikey.Mint()))
	return d
}

var extensionID = component.MustNewID("apikeyauth")

func hostOf(a *apiKeyAuth) map[component.ID]component.Component {
	return map[component.ID]component.Component{extensionID: a}
}

// openHTTP serves with authenticator and middleware, like a receiver, and echoes the auth data.
func openHTTP(t *testing.T, a *apiKeyAuth) string {
	t.Helper()
	cfg := confighttp.NewDefaultServerConfig()
	cfg.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: extensionID}})
	cfg.Middlewares = []configmiddleware.Config{{ID: extensionID}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := client.FromContext(r.Context()).Auth
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "passed with %v, state %v", auth.GetAttribute("scopes"), auth.GetAttribute("state"))
	})
	server, err := cfg.ToServer(t.Context(), hostOf(a), componenttest.NewNopTelemetrySettings(), handler)
	require.NoError(t, err)
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = server
	listening.Start()
	t.Cleanup(listening.Close)
	return listening.URL
}

func TestHTTPDoor(t *testing.T) {
	t.Parallel()
	d := newServers(t)
	open, away := openHTTP(t, d.a), openHTTP(t, d.away)
	tests := []struct {
		name, url, path, contentType, key string
	}{
		{name: "runs_good", url: open, path: "/v1/runs", contentType: typeJSON, key: "good"},
		{name: "runs_admin", url: open, path: "/v1/runs", contentType: typeJSON, key: "admin"},
		{name: "runs_missing", url: open, path: "/v1/runs", contentType: typeJSON, key: "missing"},
		{name: "runs_typo", url: open, path: "/v1/runs", contentType: typeJSON, key: "typo"},
		{name: "runs_unknown", url: open, path: "/v1/runs", contentType: typeJSON, key: "unknown"},
		{name: "runs_revoked", url: open, path: "/v1/runs", contentType: typeJSON, key: "revoked"},
		{name: "runs_expired", url: open, path: "/v1/runs", contentType: typeJSON, key: "expired"},
		{name: "runs_no_scope", url: open, path: "/v1/runs", contentType: typeJSON, key: "no scope"},
		{name: "runs_away_cached", url: away, path: "/v1/runs", contentType: typeJSON, key: "cached"},
		{name: "runs_away_unknown", url: away, path: "/v1/runs", contentType: typeJSON, key: "unknown"},
		{name: "runs_away_missing", url: away, path: "/v1/runs", contentType: typeJSON, key: "missing"},
		{name: "traces_good", url: open, path: "/v1/traces", contentType: typeProtobuf, key: "good"},
		{name: "traces_no_scope_json", url: open, path: "/v1/traces", contentType: typeJSON + "; charset=utf-8", key: "no scope"},
		{name: "traces_no_scope_protobuf", url: open, path: "/v1/traces", contentType: typeProtobuf, key: "no scope"},
		{name: "traces_away_json", url: away, path: "/v1/traces", contentType: typeJSON, key: "unknown"},
		{name: "traces_away_protobuf", url: away, path: "/v1/traces", contentType: typeProtobuf, key: "unknown"},
		{name: "traces_away_no_type", url: away, path: "/v1/traces", key: "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url+tt.path, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set("Content-Type", tt.contentType)
			if key := d.keys[tt.key]; key != "" {
				req.Header.Set("X-Api-Key", key)
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			for _, key := range d.keys {
				if _, secret, ok := strings.Cut(key, "."); ok {
					require.NotContains(t, string(body), secret)
				}
			}

			var got bytes.Buffer
			fmt.Fprintln(&got, resp.Status)
			for _, name := range []string{"Content-Type", "Retry-After"} {
				if value := resp.Header.Get(name); value != "" {
					fmt.Fprintf(&got, "%s: %s\n", name, value)
				}
			}
			if resp.Header.Get("Content-Type") == typeProtobuf {
				fmt.Fprintf(&got, "\n%q\n", body)
			} else {
				fmt.Fprintf(&got, "\n%s\n", bytes.TrimSpace(body))
			}
			compareGolden(t, filepath.Join("testdata", "http", tt.name+".golden"), got.Bytes())
		})
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), string(got))
}

// traceServer accepts everything.
type traceServer struct {
	ptraceotlp.UnimplementedGRPCServer
}

func (*traceServer) Export(context.Context, ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	return ptraceotlp.NewExportResponse(), nil
}

func openGRPC(t *testing.T, a *apiKeyAuth) ptraceotlp.GRPCClient {
	t.Helper()
	cfg := configgrpc.NewDefaultServerConfig()
	cfg.Auth = configoptional.Some(configauth.Config{AuthenticatorID: extensionID})
	cfg.Middlewares = []configmiddleware.Config{{ID: extensionID}}
	server, err := cfg.ToServer(t.Context(), hostOf(a), componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	ptraceotlp.RegisterGRPCServer(server, &traceServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return ptraceotlp.NewGRPCClient(conn)
}

func TestGRPCDoor(t *testing.T) {
	t.Parallel()
	d := newServers(t)
	open, away := openGRPC(t, d.a), openGRPC(t, d.away)
	tests := []struct {
		name    string
		client  ptraceotlp.GRPCClient
		key     string
		code    codes.Code
		message string
		retry   time.Duration
	}{
		{name: "good", client: open, key: "good", code: codes.OK},
		{name: "missing", client: open, key: "missing", code: codes.Unauthenticated, message: "missing key"},
		{name: "typo", client: open, key: "typo", code: codes.Unauthenticated, message: "malformed key"},
		{name: "unknown", client: open, key: "unknown", code: codes.Unauthenticated, message: "unknown key"},
		{name: "revoked", client: open, key: "revoked", code: codes.Unauthenticated, message: "revoked key"},
		{name: "no scope", client: open, key: "no scope", code: codes.PermissionDenied, message: "This key lacks the scope ingest:write."},
		{name: "away, cached", client: away, key: "cached", code: codes.OK},
		{
			name: "away, unknown", client: away, key: "unknown", code: codes.Unavailable,
			message: "The key cannot be checked now. Nothing was accepted.", retry: 2 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if key := d.keys[tt.key]; key != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
			}
			_, err := tt.client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(ptrace.NewTraces()))
			got := status.Convert(err)
			assert.Equal(t, tt.code, got.Code())
			assert.Equal(t, tt.message, got.Message())
			var retry time.Duration
			for _, detail := range got.Details() {
				if info, ok := detail.(*errdetails.RetryInfo); ok {
					retry = info.GetRetryDelay().AsDuration()
				}
			}
			assert.Equal(t, tt.retry, retry)
		})
	}
}

// Streams use the same middleware, although OTLP has none.
func TestGRPCStreamsAreGuarded(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	cfg := configgrpc.NewDefaultServerConfig()
	cfg.Auth = configoptional.Some(configauth.Config{AuthenticatorID: extensionID})
	cfg.Middlewares = []configmiddleware.Config{{ID: extensionID}}
	server, err := cfg.ToServer(t.Context(), hostOf(a), componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	stream := grpc.StreamDesc{
		StreamName: "Echo", ServerStreams: true, ClientStreams: true,
		Handler: func(any, grpc.ServerStream) error { return nil },
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Echo", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{stream}}, struct{}{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })

	for key, want := range map[apikey.Key]codes.Code{
		db.mint(t, ""):                       codes.OK,
		db.mint(t, "", apikey.ScopeRunsRead): codes.PermissionDenied,
		apikey.Mint():                        codes.Unauthenticated,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", key.Reveal())
		call, err := conn.NewStream(ctx, &stream, "/test.Echo/Echo")
		require.NoError(t, err)
		err = call.RecvMsg(nil)
		if want == codes.OK {
			require.ErrorIs(t, err, io.EOF)
			continue
		}
		require.Equal(t, want, status.Code(err))
	}
}

// A receiver that lists the middleware without an authenticator refuses every request.
func TestMiddlewareWithoutAuthenticator(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, engines.Postgres(t))
	a := start(t, db.url, nil)
	wrap, err := a.GetHTTPHandler(t.Context())
	require.NoError(t, err)
	handler, err := wrap(t.Context(), http.NotFoundHandler())
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	recorder.Header().Set("X-Request-Id", "id-1")
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/runs", nil))
	assert.Equal(t, http.StatusUnauthorized, recorder.Code)
	assert.JSONEq(t, `{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthenticated","request_id":"id-1",
		"detail":"The key was not checked: apikeyauth is missing from auth of the receiver."}`, recorder.Body.String())
}
