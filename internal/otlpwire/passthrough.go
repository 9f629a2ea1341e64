package otlpwire

import (
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Passthrough makes one resource of a request that is regular, whose spans are identified: its attribute
// runmodel.KeyRawRequest is the request as it came, and it has as many spans as the request, empty ones, so that whoever
// counts counts right. What is stamped on the resource on its way holds for all that is in it. It copies body.
func Passthrough(body []byte, spans int) ptrace.Traces {
	raw := ptrace.NewTraces()
	resource := raw.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutEmptyBytes(runmodel.KeyRawRequest).FromRaw(body)
	empty := resource.ScopeSpans().AppendEmpty().Spans()
	empty.EnsureCapacity(spans)
	for range spans {
		empty.AppendEmpty()
	}
	return raw
}

// maxRecordDepth is how deep a record of the queue may nest. What the doors let in nests less; a deeper one ends the
// process that decodes it, and the one that is started in its place.
const maxRecordDepth = 1000

// CountSpans is how many spans a record of the queue says it has, 0 where it cannot be decoded.
func CountSpans(record []byte) int {
	seen, err := Scan(record, maxRecordDepth, math.MaxInt64)
	if err != nil {
		return 0
	}
	return seen.Spans
}

// Decode returns the spans of a record of the queue: an ExportTraceServiceRequest in protobuf, in which resources may be
// raw. Their texts may lie in record, which must not change for as long as they are in use. An error means that it is no
// such thing and never will be.
func Decode(record []byte) (ptrace.Traces, error) {
	r := newReader(record, &otlp.traces)
	for r.next() {
		if r.number != fieldResourceSpans {
			continue
		}
		if _, raw := rawRequest(r.bytes); raw {
			return unwrap(record)
		}
	}
	return decode(record)
}

// Numbers of the fields on the way from a record to what is sealed in it.
const (
	fieldResourceSpans = 1 // of ExportTraceServiceRequest
	fieldResource      = 1 // of ResourceSpans
	fieldAttribute     = 1 // of Resource
	fieldKey           = 1 // of KeyValue
	fieldValue         = 2 // of KeyValue
	fieldBytesValue    = 7 // of AnyValue
)

// rawRequest returns what is sealed in a resource of a record. It looks for it in protobuf, since pdata would copy it, which is
// nearly all of a record, twice.
func rawRequest(resourceSpans []byte) (raw []byte, ok bool) {
	spans := newReader(resourceSpans, &otlp.resourceSpans)
	for spans.next() {
		if spans.number != fieldResource {
			continue
		}
		resource := newReader(spans.bytes, &otlp.resource)
		for resource.next() {
			if resource.number == fieldAttribute && isRawRequest(resource.bytes) {
				return bytesValue(resource.bytes), true
			}
		}
	}
	return nil, false
}

// stampedAttributes are the attributes of a sealed resource but the seal, as a request that has no more than them.
func stampedAttributes(resourceSpans []byte) []byte {
	var stampedAttributes []byte
	spans := newReader(resourceSpans, &otlp.resourceSpans)
	for spans.next() {
		if spans.number != fieldResource {
			continue
		}
		resource := newReader(spans.bytes, &otlp.resource)
		for resource.next() {
			if resource.number == fieldAttribute && !isRawRequest(resource.bytes) {
				stampedAttributes = append(stampedAttributes, resource.raw()...)
			}
		}
	}
	for _, number := range []protowire.Number{fieldResource, fieldResourceSpans} {
		stampedAttributes = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), stampedAttributes)
	}
	return stampedAttributes
}

func isRawRequest(attribute []byte) bool {
	r := newReader(attribute, &otlp.keyValue)
	for r.next() {
		if r.number == fieldKey {
			return r.text() == runmodel.KeyRawRequest
		}
	}
	return false
}

func bytesValue(attribute []byte) (value []byte) {
	r := newReader(attribute, &otlp.keyValue)
	for r.next() {
		if r.number != fieldValue {
			continue
		}
		v := newReader(r.bytes, &otlp.anyValue)
		for v.next() {
			if v.number == fieldBytesValue {
				value = v.bytes
			}
		}
	}
	return value
}

// decode decodes a request.
func decode(request []byte) (ptrace.Traces, error) {
	if traces, ok := decodeInPlace(request); ok {
		return traces, nil
	}
	if err := check(request); err != nil {
		return ptrace.Traces{}, err
	}
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(request)
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return traces, nil
}

// check returns an error for what is malformed, and for what pdata's decoder must not see.
func check(request []byte) error {
	if _, err := Scan(request, maxRecordDepth, math.MaxInt64); err != nil {
		return fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return nil
}

// errSurroundings tells that what stands beside what is sealed cannot be read, so that it is not known whether there is more.
var errSurroundings = errors.New("raw request: the record around it is not OTLP as ingest writes it")

// unwrap decodes a record, with what is sealed in the place of its seal.
func unwrap(record []byte) (ptrace.Traces, error) {
	if err := check(record); err != nil {
		return ptrace.Traces{}, err
	}
	opened := ptrace.NewTraces()
	r := newReader(record, &otlp.traces)
	for r.next() {
		if r.number != fieldResourceSpans {
			continue
		}
		body, raw := rawRequest(r.bytes)
		if !raw {
			plain, err := decode(r.raw())
			if err != nil {
				return ptrace.Traces{}, err
			}
			plain.ResourceSpans().MoveAndAppendTo(opened.ResourceSpans())
			continue
		}
		inner, err := decode(body)
		if err != nil {
			return ptrace.Traces{}, fmt.Errorf("raw request: %w", err)
		}
		// What was counted, and charged, at the door is what is in it: a client cannot hide spans in a seal of its own.
		if counted, got := CountSpans(r.raw()), inner.SpanCount(); counted != got {
			return ptrace.Traces{}, fmt.Errorf("raw request: it has %d spans and declares %d", got, counted)
		}
		stamped, err := decode(stampedAttributes(r.bytes))
		if err != nil {
			return ptrace.Traces{}, err
		}
		for _, resourceSpans := range inner.ResourceSpans().All() {
			stamp(resourceSpans.Resource().Attributes(), stamped.ResourceSpans().At(0).Resource().Attributes())
		}
		inner.ResourceSpans().MoveAndAppendTo(opened.ResourceSpans())
	}
	if r.odd {
		return ptrace.Traces{}, errSurroundings
	}
	return opened, nil
}

// stamp sets attributes. Every entry of their keys goes before: OTLP lets a key stand twice, and a reader may take
// either.
func stamp(attributes, stampedAttributes pcommon.Map) {
	attributes.RemoveIf(func(key string, _ pcommon.Value) bool {
		_, stamped := stampedAttributes.Get(key)
		return stamped || key == runmodel.KeyRawRequest
	})
	for key, value := range stampedAttributes.All() {
		value.CopyTo(attributes.PutEmpty(key))
	}
}
