package queueanswerprocessor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/looptrace/looptrace/components/queueanswerprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		queue error
		code  codes.Code
		retry bool
	}{
		"taken":                      {},
		"away":                       {queue: errors.New("connection refused"), code: codes.Unavailable, retry: true},
		"refused for good by broker": {queue: consumererror.NewPermanent(kerr.TopicAuthorizationFailed), code: codes.Unavailable, retry: true},
		"too large": {
			queue: consumererror.NewPermanent(fmt.Errorf("export: %w", kerr.MessageTooLarge)), code: codes.InvalidArgument,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, time.Minute, func(context.Context, ptrace.Traces) error { return tt.queue })
			err := p(t.Context())
			if tt.queue == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tt.queue)
			assertStatus(t, err, tt.code, tt.retry)
		})
	}
}

// A queue that never answers blocks no client, and a produce that has begun continues.
func TestLate(t *testing.T) {
	t.Parallel()
	release, ended := make(chan struct{}), make(chan error, 1)
	p := start(t, 20*time.Millisecond, func(ctx context.Context, _ ptrace.Traces) error {
		<-release
		ended <- ctx.Err()
		return nil
	})
	err := p(t.Context())
	require.ErrorIs(t, err, errLate)
	assertStatus(t, err, codes.Unavailable, true)
	close(release)
	require.ErrorIs(t, <-ended, context.DeadlineExceeded)
}

// The middlewares of the receiver learn how many spans were in a request.
func TestSpansAreCharged(t *testing.T) {
	t.Parallel()
	next, err := consumer.NewTraces(func(context.Context, ptrace.Traces) error { return nil })
	require.NoError(t, err)
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), createDefaultConfig(), next)
	require.NoError(t, err)
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range 2 {
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(pcommon.SpanID{byte(i + 1)})
	}
	charged := 0
	require.NoError(t, p.ConsumeTraces(ratelimit.WithSpans(t.Context(), func(n int) { charged += n }), traces))
	assert.Equal(t, 2, charged)
	require.NoError(t, p.Shutdown(t.Context()))
}

// A span that would be queued but never be visible is dropped if the client can be informed, else its request is
// refused.
func TestUnstorable(t *testing.T) {
	t.Parallel()
	sink := new(consumertest.TracesSink)
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), createDefaultConfig(), sink)
	require.NoError(t, err)
	request := func(ids ...byte) ptrace.Traces {
		traces := ptrace.NewTraces()
		spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for _, id := range ids {
			span := spans.AppendEmpty()
			span.SetTraceID(pcommon.TraceID{1})
			span.SetSpanID(pcommon.SpanID{id})
		}
		return traces
	}
	const why = "resource_spans[0].scope_spans[0].spans[1]: the span id is all zeros"
	err = p.ConsumeTraces(t.Context(), request(1, 0, 2, 0))
	assertStatus(t, err, codes.InvalidArgument, false)
	require.ErrorContains(t, err, why+". Nothing of the request was accepted.")
	assert.Zero(t, sink.SpanCount())

	var report partialsuccess.Report
	require.NoError(t, p.ConsumeTraces(partialsuccess.With(t.Context(), &report), request(1, 0, 2, 0)))
	count, message := report.Rejected()
	assert.EqualValues(t, 2, count)
	assert.Equal(t, why, message)
	assert.Equal(t, 2, sink.SpanCount())

	var nothing partialsuccess.Report
	require.NoError(t, p.ConsumeTraces(partialsuccess.With(t.Context(), &nothing), request(0)))
	count, _ = nothing.Rejected()
	assert.EqualValues(t, 1, count)
	assert.Len(t, sink.AllTraces(), 1, "nothing is left to be queued")
	require.NoError(t, p.Shutdown(t.Context()))
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release, ended := make(chan struct{}), make(chan error, 1)
	p := start(t, time.Minute, func(ctx context.Context, _ ptrace.Traces) error {
		cancel()
		<-release
		ended <- ctx.Err()
		return nil
	})
	require.Error(t, p(ctx))
	close(release)
	require.NoError(t, <-ended, "records of others would fail with it")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want *Config
		errs []string
	}{
		"default":       {want: &Config{Timeout: 10 * time.Second, RetryAfter: 5 * time.Second}},
		"set":           {want: &Config{Timeout: 3 * time.Second, RetryAfter: time.Second}},
		"wrong":         {errs: []string{"timeout must be positive", "retry_after must be positive"}},
		"unknown_field": {errs: []string{"deadline"}},
	}
	cases, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.Len(t, cases.ToStringMap(), len(tests), "every case is looked at")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub, err := cases.Sub("queueanswer/" + name)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			err = sub.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if len(tt.errs) == 0 {
				require.NoError(t, err)
				assert.Equal(t, tt.want, cfg)
			}
			for _, want := range tt.errs {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func start(t *testing.T, timeout time.Duration, queue consumer.ConsumeTracesFunc) func(context.Context) error {
	t.Helper()
	next, err := consumer.NewTraces(queue)
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	cfg.Timeout = timeout
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), cfg, next)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Shutdown(context.WithoutCancel(t.Context()))) })
	return func(ctx context.Context) error { return p.ConsumeTraces(ctx, ptrace.NewTraces()) }
}

func assertStatus(t *testing.T, err error, code codes.Code, retry bool) {
	t.Helper()
	got, ok := status.FromError(err)
	require.True(t, ok)
	assert.Equal(t, code, got.Code())
	if !retry {
		assert.Empty(t, got.Details())
		return
	}
	require.Len(t, got.Details(), 1)
	assert.Equal(t, 5*time.Second, got.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
}
