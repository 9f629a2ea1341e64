package kafkabatchreceiver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/otlpwire"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// batch holds records that are handed on and committed together. They are decoded as late as possible: decoded they
// take several times the memory, and a full batch waits for one in flight to end.
type batch struct {
	entries []entry

	spans  int
	bytes  int
	opened time.Time
}

func (b *batch) empty() bool { return len(b.entries) == 0 }

func (b *batch) add(e entry) {
	if b.empty() {
		b.opened = time.Now()
	}
	b.entries = append(b.entries, e)
	b.bytes += len(e.record.Value)
	b.spans += otlpwire.CountSpans(e.record.Value)
}

// merge decodes records. It returns their spans, the records that were decoded, and those that can never be.
func merge(entries []entry) (merged ptrace.Traces, decoded []entry, undecodable []deadLetter) {
	merged, decoded = ptrace.NewTraces(), make([]entry, 0, len(entries))
	for _, e := range entries {
		traces, err := decode(e.record)
		if err != nil {
			undecodable = append(undecodable, deadLetter{entry: e, reason: reasonUndecodable, err: err})
			continue
		}
		decoded = append(decoded, e)
		traces.ResourceSpans().MoveAndAppendTo(merged.ResourceSpans())
	}
	return merged, decoded, undecodable
}

// decode returns the spans of a record with their version.
func decode(record *kgo.Record) (ptrace.Traces, error) {
	traces, err := otlpwire.Decode(record.Value)
	if err != nil {
		return ptrace.Traces{}, err
	}
	stampVersion(record, traces)
	return traces, nil
}

// A record's time is in milliseconds. Each millisecond has a million versions: a hundred for each of ten thousand
// records, by offset. Records at the same offset of other partitions are partitionStep apart, which is coprime to
// recordsAMillisecond: of two equal versions of a span, one is lost.
const (
	recordsAMillisecond = 10_000
	versionsARecord     = int64(time.Millisecond) / recordsAMillisecond
	partitionStep       = 6_181
)

// stampVersion sets looptrace.received_at, which orders the versions of a span. It depends only on the record's time,
// partition and offset and on the index within the record, so that a record gets the same version when it is read
// again in another batch. It replaces what a client put there, duplicates included: OTLP allows duplicate keys, and
// readers may take either.
func stampVersion(record *kgo.Record, traces ptrace.Traces) {
	slot := (record.Offset%recordsAMillisecond + int64(record.Partition)*partitionStep) % recordsAMillisecond
	version := record.Timestamp.UnixMilli()*int64(time.Millisecond) + slot*versionsARecord
	spans := 0
	for _, resourceSpans := range traces.ResourceSpans().All() {
		attributes := resourceSpans.Resource().Attributes()
		attributes.RemoveIf(isVersion)
		attributes.PutInt(runmodel.KeyReceivedAt, version+int64(spans))
		for _, scopeSpans := range resourceSpans.ScopeSpans().All() {
			spans += scopeSpans.Spans().Len()
		}
	}
}

func isVersion(key string, _ pcommon.Value) bool { return key == runmodel.KeyReceivedAt }
