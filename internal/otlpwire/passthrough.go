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

// Passthrough returns a resource that holds a whole request in its attribute runmodel.KeyRawRequest, so that the
// request need not be decoded and encoded again. The request must be regular and identified. The resource has as many
// empty spans as the request, so that counts stay right. Attributes that are stamped on it apply to everything in the
// request. Passthrough copies body.
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

// maxRecordDepth limits how deep a record of the queue may nest. Ingest accepts less. Decoding a deeper one would end
// the process, and the one that replaces it.
const maxRecordDepth = 1000

// CountSpans returns how many spans a record of the queue declares, or 0 if it cannot be decoded.
func CountSpans(record []byte) int {
	seen, err := Scan(record, maxRecordDepth, math.MaxInt64)
	if err != nil {
		return 0
	}
	return seen.Spans
}

// Decode decodes a record of the queue: an ExportTraceServiceRequest in protobuf that may contain raw requests.
// Strings may refer to record, which must not change while they are in use. An error is permanent.
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

// Field numbers on the path from a record to the raw request in it.
const (
	fieldResourceSpans = 1 // of ExportTraceServiceRequest
	fieldResource      = 1 // of ResourceSpans
	fieldAttribute     = 1 // of Resource
	fieldKey           = 1 // of KeyValue
	fieldValue         = 2 // of KeyValue
	fieldBytesValue    = 7 // of AnyValue
)

// rawRequest returns the raw request in a resource of a record, if it has one. It reads protobuf, since pdata would
// copy the request twice.
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

// stampedAttributes returns the other attributes of a resource with a raw request, as a request of their own.
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

// check returns an error if the request is malformed or must not be passed to pdata's decoder.
func check(request []byte) error {
	if _, err := Scan(request, maxRecordDepth, math.MaxInt64); err != nil {
		return fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return nil
}

// errSurroundings is returned if the record around a raw request cannot be read, so that there may be more requests
// in it.
var errSurroundings = errors.New("raw request: the record around it is not OTLP as ingest writes it")

// unwrap decodes a record and replaces raw requests by what is in them.
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
		// Ingest counts and charges the declared spans. A client must not hide more in a raw request of its own.
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

// stamp sets attributes. It first removes all attributes with the same keys: OTLP allows duplicates, and readers may
// take either.
func stamp(attributes, stampedAttributes pcommon.Map) {
	attributes.RemoveIf(func(key string, _ pcommon.Value) bool {
		_, stamped := stampedAttributes.Get(key)
		return stamped || key == runmodel.KeyRawRequest
	})
	for key, value := range stampedAttributes.All() {
		value.CopyTo(attributes.PutEmpty(key))
	}
}
