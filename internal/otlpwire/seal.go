package otlpwire

import (
	"fmt"
	"iter"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"

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

// CountSpans is how many spans a record of the queue says it has, 0 where it cannot be decoded.
func CountSpans(record []byte) int {
	seen, err := Look(record, maxRecordDepth, math.MaxInt64)
	if err != nil {
		return 0
	}
	return seen.Spans
}

// Decode returns the spans of a record of the queue: an ExportTraceServiceRequest in protobuf, in which resources may be
// sealed. An error means that it is no such thing and never will be.
func Decode(record []byte) (ptrace.Traces, error) {
	if _, err := Look(record, maxRecordDepth, math.MaxInt64); err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	var resources []wireField
	sealed := false
	for f := range fieldsOf(record) {
		if f.number == fieldResourceSpans {
			_, isSealed := seal(f)
			resources, sealed = append(resources, f), sealed || isSealed
		}
	}
	if !sealed {
		return unmarshal(record)
	}
	return open(resources)
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

// seal returns what is sealed in a resource of a record. It looks for it in protobuf, since pdata would copy it, which is
// nearly all of a record, twice.
func seal(resourceSpans wireField) (sealed []byte, ok bool) {
	for resource := range fieldsOf(resourceSpans.value) {
		if resource.number != fieldResource {
			continue
		}
		for attribute := range fieldsOf(resource.value) {
			if isSeal(attribute) {
				return bytesValue(attribute), true
			}
		}
	}
	return nil, false
}

// withoutSeal is a request that has the resource alone, without what is sealed in it.
func withoutSeal(resourceSpans wireField) []byte {
	var rest []byte
	for f := range fieldsOf(resourceSpans.value) {
		if f.number != fieldResource {
			rest = append(rest, f.raw...)
			continue
		}
		var resource []byte
		for attribute := range fieldsOf(f.value) {
			if !isSeal(attribute) {
				resource = append(resource, attribute.raw...)
			}
		}
		rest = protowire.AppendBytes(protowire.AppendTag(rest, fieldResource, protowire.BytesType), resource)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, fieldResourceSpans, protowire.BytesType), rest)
}

func isSeal(attribute wireField) bool {
	if attribute.number != fieldAttribute {
		return false
	}
	for f := range fieldsOf(attribute.value) {
		if f.number == fieldKey {
			return string(f.value) == runmodel.KeySealed
		}
	}
	return false
}

func bytesValue(attribute wireField) (value []byte) {
	for f := range fieldsOf(attribute.value) {
		if f.number != fieldValue {
			continue
		}
		for v := range fieldsOf(f.value) {
			if v.number == fieldBytesValue {
				value = v.value
			}
		}
	}
	return value
}

// wireField is a field of a message: value is what it holds, where that is bytes, and raw is all of it.
type wireField struct {
	number     protowire.Number
	value, raw []byte
}

// fieldsOf are the fields of a message that Look has passed.
func fieldsOf(message []byte) iter.Seq[wireField] {
	return func(yield func(wireField) bool) {
		for len(message) > 0 {
			number, typ, tag := protowire.ConsumeTag(message)
			n := protowire.ConsumeFieldValue(number, typ, message[max(tag, 0):])
			if tag < 0 || n < 0 {
				return // Look has passed messages of the types that it knows, and a field may be of another
			}
			f := wireField{number: number, raw: message[:tag+n]}
			if typ == protowire.BytesType {
				f.value, _ = protowire.ConsumeBytes(message[tag:])
			}
			if !yield(f) {
				return
			}
			message = message[tag+n:]
		}
	}
}

// decode looks at a request and decodes it.
func decode(request []byte) (ptrace.Traces, error) {
	if _, err := Look(request, maxRecordDepth, math.MaxInt64); err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return unmarshal(request)
}

func unmarshal(request []byte) (ptrace.Traces, error) {
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(request)
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode OTLP protobuf: %w", err)
	}
	return traces, nil
}

// open puts what is sealed in the place of its seal.
func open(resources []wireField) (ptrace.Traces, error) {
	opened := ptrace.NewTraces()
	for _, f := range resources {
		body, isSealed := seal(f)
		if !isSealed {
			plain, err := unmarshal(f.raw)
			if err != nil {
				return ptrace.Traces{}, err
			}
			plain.ResourceSpans().MoveAndAppendTo(opened.ResourceSpans())
			continue
		}
		sealed, err := unmarshal(withoutSeal(f))
		if err != nil {
			return ptrace.Traces{}, err
		}
		inner, err := decode(body)
		if err != nil {
			return ptrace.Traces{}, fmt.Errorf("sealed request: %w", err)
		}
		// What was counted, and charged, at the door is what is in it: a client cannot hide spans in a seal of its own.
		if counted, got := sealed.SpanCount(), inner.SpanCount(); counted != got {
			return ptrace.Traces{}, fmt.Errorf("sealed request: it has %d spans and says %d", got, counted)
		}
		stamps := sealed.ResourceSpans().At(0).Resource().Attributes()
		for _, resourceSpans := range inner.ResourceSpans().All() {
			stamp(resourceSpans.Resource().Attributes(), stamps)
		}
		inner.ResourceSpans().MoveAndAppendTo(opened.ResourceSpans())
	}
	return opened, nil
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
