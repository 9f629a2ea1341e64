package queueanswerprocessor

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/looptrace/looptrace/components/queueanswerprocessor/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// errLate is the cause of an answer that did not wait for the queue's.
var errLate = errors.New("the queue has not answered in time")

// refusal is an error that says what the client is told. The OTLP receivers, HTTP and gRPC, take a status that an
// error carries as it is; without one they answer 503 with no Retry-After, or 500, which clients do not retry.
type refusal struct {
	status *status.Status
	cause  error
}

func (r *refusal) Error() string              { return r.status.Message() + ": " + r.cause.Error() }
func (r *refusal) Unwrap() error              { return r.cause }
func (r *refusal) GRPCStatus() *status.Status { return r.status }

type answerProcessor struct {
	component.StartFunc
	cfg       *Config
	next      consumer.Traces
	telemetry *metadata.TelemetryBuilder

	tooLarge    *status.Status
	unavailable *status.Status
}

func newProcessor(set processor.Settings, cfg *Config, next consumer.Traces) (*answerProcessor, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	unavailable, err := status.New(codes.Unavailable, "The queue did not take the request: nothing was accepted.").
		WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(cfg.RetryAfter)})
	if err != nil {
		return nil, err
	}
	return &answerProcessor{
		cfg:         cfg,
		next:        next,
		telemetry:   telemetry,
		tooLarge:    status.New(codes.InvalidArgument, "The queue takes no record of this size: send fewer spans in one request."),
		unavailable: unavailable,
	}, nil
}

// Capabilities says that spans are taken out.
func (p *answerProcessor) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Shutdown does not wait for produces whose clients have been answered: with the queue away they end only when
// the exporter, which is shut down next, closes its connection.
func (p *answerProcessor) Shutdown(context.Context) error {
	p.telemetry.Shutdown()
	return nil
}

// ConsumeTraces hands spans on and waits for the outcome for no longer than the timeout. A produce that has begun
// cannot be taken back, and goes on by itself: the client, which is told that nothing was accepted, may send
// again, as the same spans may come any number of times.
func (p *answerProcessor) ConsumeTraces(ctx context.Context, traces ptrace.Traces) error {
	// The stock receiver has decoded them and tells nobody how many there are.
	ratelimit.ChargeSpans(ctx, traces.SpanCount())
	if dropped, first := runpdata.DropUnstorable(traces); dropped > 0 {
		p.count(ctx, "invalid")
		// The stock receiver has no way to tell the client of a part of its request.
		if !partialsuccess.Reject(ctx, dropped, first) {
			return status.Errorf(codes.InvalidArgument, "%s. Nothing of the request was accepted.", first)
		}
		if traces.SpanCount() == 0 {
			return nil
		}
	}
	// Not ended by a client that goes: Kafka's client fails all records of a partition with one whose context has ended
	// before it was sent.
	producing, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Timeout)
	outcome := make(chan error, 1)
	go func() {
		defer cancel()
		outcome <- p.next.ConsumeTraces(producing, traces)
	}()
	select {
	case err := <-outcome:
		return p.answer(ctx, err)
	case <-ctx.Done():
	case <-producing.Done():
	}
	// The outcome and the end of the context come together when the call returned in time.
	select {
	case err := <-outcome:
		return p.answer(ctx, err)
	default:
		return p.answer(ctx, errLate)
	}
}

// answer is the table of what can come from the queue. That it cannot be written to is never the client's fault,
// whatever the broker calls permanent; a record that is too large is.
func (p *answerProcessor) answer(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		p.count(ctx, "too_large")
		return &refusal{status: p.tooLarge, cause: err}
	case errors.Is(err, errLate):
		p.count(ctx, "late")
	default:
		p.count(ctx, "unavailable")
	}
	return &refusal{status: p.unavailable, cause: err}
}

func (p *answerProcessor) count(ctx context.Context, answer string) {
	p.telemetry.QueueanswerRefusals.Add(ctx, 1, metric.WithAttributes(attribute.String("answer", answer)))
}
