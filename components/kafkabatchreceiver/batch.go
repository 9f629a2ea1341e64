package kafkabatchreceiver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/otlpwire"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// batch is what is handed on and committed together.
type batch struct {
	// entries are all records of the batch: what is committed at its end.
	entries []entry
	// decoded are the ones whose spans are in traces, undecodable the others.
	decoded     []entry
	undecodable []deadLetter
	traces      ptrace.Traces

	spans  int
	bytes  int
	opened time.Time
}

func newBatch() *batch { return &batch{traces: ptrace.NewTraces()} }

func (b *batch) empty() bool { return len(b.entries) == 0 }

func (b *batch) add(e entry) {
	if b.empty() {
		b.opened = time.Now()
	}
	b.entries = append(b.entries, e)
	b.bytes += len(e.record.Value)
	traces, spans, err := decode(e.record)
	if err != nil {
		b.undecodable = append(b.undecodable, deadLetter{entry: e, reason: reasonUndecodable, err: err})
		return
	}
	b.decoded = append(b.decoded, e)
	b.spans += spans
	traces.ResourceSpans().MoveAndAppendTo(b.traces.ResourceSpans())
}

// merge decodes again what was decoded before.
func merge(entries []entry) ptrace.Traces {
	merged := newBatch()
	for _, e := range entries {
		merged.add(e)
	}
	return merged.traces
}

// decode returns the spans of a record, with their version, and how many they are.
func decode(record *kgo.Record) (ptrace.Traces, int, error) {
	traces, err := otlpwire.Decode(record.Value)
	if err != nil {
		return ptrace.Traces{}, 0, err //nolint:wrapcheck // it says what it is about
	}
	return traces, stampVersion(record, traces), nil
}

// stampVersion writes looptrace.received_at, which decides between two versions of one span. It is made of the
// record's own time and place and of the place within the record, and of nothing else, so that a record that is
// read again, in whatever batch, carries the version it had. Whatever a client put there is replaced: every
// entry of that key, since OTLP lets a key stand twice and a reader may take either.
func stampVersion(record *kgo.Record, traces ptrace.Traces) int {
	version := record.Timestamp.UnixMilli()*int64(time.Millisecond) + record.Offset%int64(time.Millisecond)
	spans := 0
	for _, resourceSpans := range traces.ResourceSpans().All() {
		attributes := resourceSpans.Resource().Attributes()
		attributes.RemoveIf(isVersion)
		attributes.PutInt(runmodel.KeyReceivedAt, version+int64(spans))
		for _, scopeSpans := range resourceSpans.ScopeSpans().All() {
			spans += scopeSpans.Spans().Len()
		}
	}
	return spans
}

func isVersion(key string, _ pcommon.Value) bool { return key == runmodel.KeyReceivedAt }
