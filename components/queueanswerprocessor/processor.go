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

// errLate is the cause of an answer that did not wait for the queue.
var errLate = errors.New("the queue has not answered in time")

// refusal is an error with the status for the client. The OTLP receivers, HTTP and gRPC, use the status of an error.
// Without one they answer 503 without Retry-After, or 500, which clients do not retry.
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

// Capabilities reports that the processor changes spans.
func (p *answerProcessor) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Shutdown does not wait for produces whose clients have been answered. If the queue is away, they end only when the
// exporter, which is shut down next, closes its connection.
func (p *answerProcessor) Shutdown(context.Context) error {
	p.telemetry.Shutdown()
	return nil
}

// ConsumeTraces passes spans on and waits for the result up to the timeout. A produce that has begun cannot be
// cancelled and continues: the client, which is told that nothing was accepted, may send again, because the same
// spans may arrive any number of times.
func (p *answerProcessor) ConsumeTraces(ctx context.Context, traces ptrace.Traces) error {
	// The stock receiver has decoded them, but does not report their number.
	ratelimit.ChargeSpans(ctx, traces.SpanCount())
	if dropped, first := runpdata.DropUnstorable(traces); dropped > 0 {
		p.count(ctx, "invalid")
		// The stock receiver cannot report a partial success.
		if !partialsuccess.Reject(ctx, dropped, first) {
			return status.Errorf(codes.InvalidArgument, "%s. Nothing of the request was accepted.", first)
		}
		if traces.SpanCount() == 0 {
			return nil
		}
	}
	// Clients that disconnect do not end it: if the context of one record ends before it was sent, the Kafka client
	// fails all records of its partition.
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
	// If the call returned in time, both may be ready.
	select {
	case err := <-outcome:
		return p.answer(ctx, err)
	default:
		return p.answer(ctx, errLate)
	}
}

// answer maps the queue's errors to statuses. It is never the client's fault that the queue cannot be written to,
// even if the broker calls the error permanent. A record that is too large is.
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
