package limits

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/looptrace/looptrace/components/apikeyauthextension"
	"github.com/looptrace/looptrace/components/ratelimitextension"
	"github.com/looptrace/looptrace/components/runsreceiver"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/product"
)

// BenchmarkIngest compares ingest with authentication and no consumer, with and without the limiter: processor time of
// this process for a request, including a client of a few microseconds. Requests alternate, so that the ratio is
// valid on a machine under load.
func BenchmarkIngest(b *testing.B) {
	for _, spans := range []int{1, 100} {
		b.Run(fmt.Sprintf("spans=%d", spans), func(b *testing.B) {
			without, with := startIngest(b, spans)
			const turn = 50
			var cpu [2]time.Duration
			for b.Loop() {
				for i, caller := range []*rawClient{without, with} {
					before := cpuTime(b)
					for range turn {
						caller.call(b)
					}
					cpu[i] += cpuTime(b) - before
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(cpu[0].Nanoseconds())/float64(turn*b.N), "cpu-ns/request")
			b.ReportMetric(float64(cpu[1].Nanoseconds())/float64(turn*b.N), "cpu-ns/limited-request")
			b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "ratio")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// extensions are the extensions of a host.
type extensions struct {
	component.Host
	all map[component.ID]component.Component
}

func (e *extensions) GetExtensions() map[component.ID]component.Component { return e.all }

// startIngest starts two receivers with the same authentication, and returns a client of each that sends requests of n
// spans, as large as those of a real agent.
func startIngest(b *testing.B, spans int) (without, with *rawClient) {
	b.Helper()
	database := engines.Postgres(b)
	db, err := postgres.Open(b.Context(), database)
	require.NoError(b, err)
	b.Cleanup(db.Close)
	key := apikey.Mint()
	hash := key.Hash()
	_, err = db.Exec(b.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ('o') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'w' FROM o RETURNING id),
		p AS (INSERT INTO projects (workspace_id, name) SELECT id, 'p' FROM w RETURNING id)
		INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) SELECT id, 'k', $1, $2, $3 FROM p`,
		key.PublicID(), hash[:], []string{apikey.ScopeIngestWrite})
	require.NoError(b, err)

	authFactory, limitFactory := apikeyauthextension.NewFactory(), ratelimitextension.NewFactory()
	authID, limitID := component.NewID(authFactory.Type()), component.NewID(limitFactory.Type())
	authConfig := authFactory.CreateDefaultConfig().(*apikeyauthextension.Config)
	authConfig.DatabaseURL = configopaque.String(database)
	auth, err := authFactory.Create(b.Context(), extensiontest.NewNopSettings(authFactory.Type()), authConfig)
	require.NoError(b, err)
	// The limits of the shipped configuration, too high to refuse.
	limitConfig := limitFactory.CreateDefaultConfig().(*ratelimitextension.Config)
	never := ratelimitextension.LimitConfig{Rate: 1e12, Burst: 1e12}
	limitConfig.Key = ratelimitextension.LimitsConfig{Requests: never}
	limitConfig.Project = ratelimitextension.LimitsConfig{Requests: never, Bytes: never, Spans: never}
	limit, err := limitFactory.Create(b.Context(), extensiontest.NewNopSettings(limitFactory.Type()), limitConfig)
	require.NoError(b, err)
	host := &extensions{Host: componenttest.NewNopHost(), all: map[component.ID]component.Component{authID: auth, limitID: limit}}
	for _, e := range host.all {
		startComponent(b, host, e)
	}

	open := func(middlewares ...component.ID) *rawClient {
		ports, err := product.FreePorts()
		require.NoError(b, err)
		factory := runsreceiver.NewFactory()
		cfg := factory.CreateDefaultConfig().(*runsreceiver.Config)
		cfg.NetAddr.Endpoint = ports.Addr(product.Ingest)
		cfg.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: authID}})
		for _, id := range middlewares {
			cfg.Middlewares = append(cfg.Middlewares, configmiddleware.Config{ID: id})
		}
		receiver, err := factory.CreateTraces(b.Context(), receivertest.NewNopSettings(factory.Type()), cfg, consumertest.NewNop())
		require.NoError(b, err)
		startComponent(b, host, receiver)
		return dial(b, cfg.NetAddr.Endpoint, key, spans)
	}
	return open(authID), open(authID, limitID)
}

func startComponent(b *testing.B, host component.Host, c component.Component) {
	b.Helper()
	require.NoError(b, c.Start(b.Context(), host))
	b.Cleanup(func() { require.NoError(b, c.Shutdown(context.Background())) })
}

// rawClient sends the same request repeatedly over one connection.
type rawClient struct {
	connection net.Conn
	answers    *bufio.Reader
	request    []byte
}

func dial(b *testing.B, address string, key apikey.Key, spans int) *rawClient {
	b.Helper()
	traces := ptrace.NewTraces()
	list := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range spans {
		span := list.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(pcommon.SpanID{1, byte(i)})
		span.SetName("chat")
		for name, size := range map[string]int{"gen_ai.input.messages": 1000, "gen_ai.output.messages": 400} {
			span.Attributes().PutStr(name, strings.Repeat("a", size))
		}
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	require.NoError(b, err)
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+address+"/v1/traces", bytes.NewReader(body))
	require.NoError(b, err)
	request.Header.Set("Authorization", "Bearer "+key.Reveal())
	request.Header.Set("Content-Type", product.Protobuf)
	var raw bytes.Buffer
	require.NoError(b, request.Write(&raw))
	connection, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
	require.NoError(b, err)
	b.Cleanup(func() { _ = connection.Close() })
	return &rawClient{connection: connection, answers: bufio.NewReader(connection), request: raw.Bytes()}
}

func (c *rawClient) call(b *testing.B) {
	b.Helper()
	_, err := c.connection.Write(c.request)
	require.NoError(b, err)
	answer, err := http.ReadResponse(c.answers, nil)
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(b, err)
	require.NoError(b, answer.Body.Close())
	if answer.StatusCode != http.StatusAccepted {
		b.Fatalf("answered %s", answer.Status)
	}
}
