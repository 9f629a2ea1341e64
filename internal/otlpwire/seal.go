package otlpwire

import (
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Seal makes one resource of a request that is regular, whose spans are identified: its attribute
// runmodel.KeySealed is the request as it came, and it has as many spans as the request, empty ones, so that whoever
// counts counts right. What is stamped on the resource on its way holds for all that is in it. It copies body.
func Seal(body []byte, spans int) ptrace.Traces {
	sealed := ptrace.NewTraces()
	resource := sealed.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutEmptyBytes(runmodel.KeySealed).FromRaw(body)
	empty := resource.ScopeSpans().AppendEmpty().Spans()
	empty.EnsureCapacity(spans)
	for range spans {
		empty.AppendEmpty()
	}
	return sealed
}

// maxRecordDepth is how deep a record of the queue may nest. What the doors let in nests less; a deeper one ends the
// process that decodes it, and the one that is started in its place.
const maxRecordDepth = 1000

// Decode returns the spans of a record of the queue: an ExportTraceServiceRequest in protobuf, in which resources may be
// sealed. An error means that it is no such thing and never will be.
func Decode(record []byte) (ptrace.Traces, error) {
	traces, err := decode(record)
	if err != nil {
		return ptrace.Traces{}, err
	}
	all := traces.ResourceSpans()
	for _, resourceSpans := range all.All() {
		if _, ok := resourceSpans.Resource().Attributes().Get(runmodel.KeySealed); ok {
			return open(all)
		}
	}
	return traces, nil
}

func decode(request []byte) (ptrace.Traces, error) {
	if _, err := Look(request, maxRecordDepth, math.MaxInt64); err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(request)
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return traces, nil
}

// open puts what is sealed in the place of its seal.
func open(all ptrace.ResourceSpansSlice) (ptrace.Traces, error) {
	opened := ptrace.NewTraces()
	for _, resourceSpans := range all.All() {
		stamped := resourceSpans.Resource().Attributes()
		body, ok := stamped.Get(runmodel.KeySealed)
		if !ok {
			resourceSpans.MoveTo(opened.ResourceSpans().AppendEmpty())
			continue
		}
		inner, err := decode(body.Bytes().AsRaw())
		if err != nil {
			return ptrace.Traces{}, fmt.Errorf("sealed request: %w", err)
		}
		// What was counted, and charged, at the door is what is in it: a client cannot hide spans in a seal of its own.
		if counted, got := spansOf(resourceSpans), inner.SpanCount(); counted != got {
			return ptrace.Traces{}, fmt.Errorf("sealed request: it has %d spans and says %d", got, counted)
		}
		stamped.RemoveIf(func(key string, _ pcommon.Value) bool { return key == runmodel.KeySealed })
		for _, resourceSpans := range inner.ResourceSpans().All() {
			stamp(resourceSpans.Resource().Attributes(), stamped)
		}
		inner.ResourceSpans().MoveAndAppendTo(opened.ResourceSpans())
	}
	return opened, nil
}

func spansOf(resourceSpans ptrace.ResourceSpans) int {
	n := 0
	for _, scopeSpans := range resourceSpans.ScopeSpans().All() {
		n += scopeSpans.Spans().Len()
	}
	return n
}

// stamp sets attributes. Every entry of their keys goes before: OTLP lets a key stand twice, and a reader may take
// either.
func stamp(attributes, stamps pcommon.Map) {
	attributes.RemoveIf(func(key string, _ pcommon.Value) bool {
		_, stamped := stamps.Get(key)
		return stamped || key == runmodel.KeySealed
	})
	for key, value := range stamps.All() {
		value.CopyTo(attributes.PutEmpty(key))
	}
}
