package kafkabatchreceiver

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/internal/otlpwire"
)

// Headers of a dead letter. Key and value are those of the original record, whose own headers come first.
const (
	HeaderReason = "dead_letter.reason"
	// HeaderError is the text of the error, truncated to maxErrorText.
	HeaderError     = "dead_letter.error"
	HeaderTopic     = "dead_letter.topic"
	HeaderPartition = "dead_letter.partition"
	HeaderOffset    = "dead_letter.offset"
	// HeaderTimestamp is the time of the original record in RFC 3339 and UTC.
	HeaderTimestamp = "dead_letter.timestamp"
)

// maxErrorText limits how much larger a dead letter is than its record, so that it fits into the topic.
const maxErrorText = 8 << 10

// reason is why a record became a dead letter. It is the value of a header and of a metric's attribute.
type reason string

const (
	reasonUndecodable      reason = "undecodable"       // not OTLP protobuf
	reasonRejected         reason = "rejected"          // the next consumer returned a permanent error
	reasonRetriesExhausted reason = "retries_exhausted" // not accepted within retry.max_elapsed_time
)

// deadLetter is a record that can never be handed on, with the reason.
type deadLetter struct {
	entry
	reason reason
	err    error
}

func (d deadLetter) message(topic string) *kgo.Record {
	from := d.record
	text := d.err.Error()
	text = text[:min(len(text), maxErrorText)]
	return &kgo.Record{
		Topic: topic,
		Key:   from.Key,
		Value: from.Value,
		Headers: append(slices.Clone(from.Headers),
			kgo.RecordHeader{Key: HeaderReason, Value: []byte(d.reason)},
			kgo.RecordHeader{Key: HeaderError, Value: []byte(text)},
			kgo.RecordHeader{Key: HeaderTopic, Value: []byte(from.Topic)},
			kgo.RecordHeader{Key: HeaderPartition, Value: strconv.AppendInt(nil, int64(from.Partition), 10)},
			kgo.RecordHeader{Key: HeaderOffset, Value: strconv.AppendInt(nil, from.Offset, 10)},
			kgo.RecordHeader{Key: HeaderTimestamp, Value: []byte(from.Timestamp.UTC().Format(time.RFC3339Nano))},
		),
	}
}

// writeDeadLetters writes dead letters until all are acknowledged by all in-sync replicas. It runs after the healthy
// records of the batch were handed on, so that those need not wait, and before the commit, so that no record is
// skipped unwritten.
func (r *tracesReceiver) writeDeadLetters(ctx context.Context, deadLetters []deadLetter) error {
	if len(deadLetters) == 0 {
		return nil
	}
	attempts := r.newAttempts(problemDeadLetters)
	for {
		messages := make([]*kgo.Record, 0, len(deadLetters))
		for _, letter := range deadLetters {
			messages = append(messages, letter.message(r.cfg.DeadLetterTopic))
		}
		// The results come in the order of acknowledgement.
		failed := map[*kgo.Record]error{}
		for _, result := range r.client.ProduceSync(ctx, messages...) {
			if result.Err != nil {
				failed[result.Record] = result.Err
			}
		}
		var left []deadLetter
		var errs []error
		for i, letter := range deadLetters {
			if err, ok := failed[messages[i]]; ok {
				left, errs = append(left, letter), append(errs, err)
				continue
			}
			r.count(ctx, letter)
		}
		if written := len(deadLetters) - len(left); written > 0 {
			r.set.Logger.Warn("Wrote records that cannot be stored to the dead-letter topic",
				zap.Int("records", written), zap.String("topic", r.cfg.DeadLetterTopic),
				zap.String("reason", string(deadLetters[0].reason)), zap.NamedError("first_error", deadLetters[0].err))
		}
		if len(left) == 0 {
			attempts.succeeded()
			return nil
		}
		if err := attempts.wait(ctx, errs[0]); err != nil {
			return err
		}
		deadLetters = left
	}
}

func (r *tracesReceiver) count(ctx context.Context, letter deadLetter) {
	reason := metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", string(letter.reason))))
	r.telemetry.KafkabatchDeadLetters.Add(ctx, 1, reason)
	if letter.reason == reasonUndecodable {
		return
	}
	r.telemetry.KafkabatchDeadLetterSpans.Add(ctx, int64(otlpwire.CountSpans(letter.record.Value)), reason)
}
