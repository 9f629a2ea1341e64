package otlpwire

import (
	"encoding/binary"
	"math"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Limits of what decodeInPlace decodes. pdata's methods search all earlier keys for each new one, and decode nested
// values by recursion. Requests beyond these limits are left to pdata's own decoder, which does neither.
const (
	maxAttributes = 128
	maxNested     = 32
)

// spareAttributes is how many more attributes a span gets room for: the number that mapping and pricing add to a span
// of the newest conventions.
const spareAttributes = 8

// decodeInPlace decodes an ExportTraceServiceRequest like pdata's decoder, but its strings refer to request, which
// must not change while they are in use. ok is false for malformed requests and for unusual ones, which pdata may
// still decode.
//
// pdata's decoder allocates every key and string separately and grows lists by doubling. That takes more memory than
// the request itself, and most of it is garbage soon.
func decodeInPlace(request []byte) (traces ptrace.Traces, ok bool) {
	traces = ptrace.NewTraces()
	r := newReader(request, &otlp.traces)
	for r.next() {
		if r.number == fieldResourceSpans {
			r.odd = !readResourceSpans(traces.ResourceSpans().AppendEmpty(), r.bytes)
		}
	}
	return traces, !r.odd
}

// fieldReader iterates over the fields of a message.
type fieldReader struct {
	of   *message
	body []byte
	// from is the offset of the last field that was read, at that of the next one.
	from, at int
	// number is the number of the last field that was read. Its content is in bytes, or in value if it is a number.
	number uint64
	bytes  []byte
	value  uint64
	// odd is true if the message is malformed or unusual. It ends the iteration.
	odd bool
}

func newReader(body []byte, of *message) fieldReader { return fieldReader{body: body, of: of} }

// next reads a field. It returns false after the last one and if the message is odd: bytes are missing, a known field
// has the wrong type, or an unknown one has a type that pdata does not skip.
func (r *fieldReader) next() bool {
	if r.at >= len(r.body) || r.odd {
		return false
	}
	r.from = r.at
	tag := r.varint()
	wire := wireType(tag&7) + 1
	r.number = tag >> 3
	if r.number < uint64(len(r.of.fields)) {
		meant := r.of.fields[r.number].wire
		r.odd = r.odd || meant != 0 && meant != wire || r.number == 0
	} else {
		r.odd = r.odd || r.number > math.MaxInt32 || r.number == deprecated && r.of.deprecated != nil
	}
	switch wire {
	case bytes:
		r.bytes = r.take(r.varint())
	case varint:
		r.value = r.varint()
	case fixed64:
		if b := r.take(8); b != nil {
			r.value = binary.LittleEndian.Uint64(b)
		}
	case fixed32:
		if b := r.take(4); b != nil {
			r.value = uint64(binary.LittleEndian.Uint32(b))
		}
	default:
		r.odd = true
	}
	return !r.odd
}

func (r *fieldReader) varint() uint64 {
	if at := r.at; at < len(r.body) && r.body[at] < 0x80 { // the usual case
		r.at = at + 1
		return uint64(r.body[at])
	}
	v, n := binary.Uvarint(r.body[r.at:])
	if n <= 0 {
		r.odd = true
		return 0
	}
	r.at += n
	return v
}

// take returns the next n bytes, or nil if there are fewer.
func (r *fieldReader) take(n uint64) []byte {
	if n > uint64(len(r.body)-r.at) {
		r.odd = true
		return nil
	}
	r.at += int(n)
	return r.body[r.at-int(n) : r.at]
}

// count returns how many fields of this number follow.
func (r fieldReader) count(number uint64) int {
	n := 0
	for r.next() {
		if r.number == number {
			n++
		}
	}
	return n
}

// raw returns the whole field with its tag.
func (r *fieldReader) raw() []byte { return r.body[r.from:r.at] }

// text returns the field's bytes without a copy.
func (r *fieldReader) text() string {
	return unsafe.String(unsafe.SliceData(r.bytes), len(r.bytes)) //nolint:gosec // decodeInPlace requires that request does not change
}

func readResourceSpans(to ptrace.ResourceSpans, body []byte) bool {
	r := newReader(body, &otlp.resourceSpans)
	for r.next() {
		switch r.number {
		case 1:
			r.odd = !readResource(to.Resource(), r.bytes)
		case 2:
			r.odd = !readScopeSpans(to.ScopeSpans().AppendEmpty(), r.bytes)
		case 3:
			to.SetSchemaUrl(r.text())
		}
	}
	return !r.odd
}

func readResource(to pcommon.Resource, body []byte) bool {
	r := newReader(body, &otlp.resource)
	for r.next() {
		switch r.number {
		case 1:
			r.odd = !readAttribute(to.Attributes(), r.bytes, maxNested)
		case 2:
			to.SetDroppedAttributesCount(uint32(r.value))
		case 3:
			r.odd = true // an entity: pdata has no method to set it
		}
	}
	return !r.odd
}

func readScopeSpans(to ptrace.ScopeSpans, body []byte) bool {
	r := newReader(body, &otlp.scopeSpans)
	to.Spans().EnsureCapacity(r.count(2))
	for r.next() {
		switch r.number {
		case 1:
			r.odd = !readScope(to.Scope(), r.bytes)
		case 2:
			r.odd = !readSpan(to.Spans().AppendEmpty(), r.bytes)
		case 3:
			to.SetSchemaUrl(r.text())
		}
	}
	return !r.odd
}

func readScope(to pcommon.InstrumentationScope, body []byte) bool {
	r := newReader(body, &otlp.scope)
	for r.next() {
		switch r.number {
		case 1:
			to.SetName(r.text())
		case 2:
			to.SetVersion(r.text())
		case 3:
			r.odd = !readAttribute(to.Attributes(), r.bytes, maxNested)
		case 4:
			to.SetDroppedAttributesCount(uint32(r.value))
		}
	}
	return !r.odd
}

func readSpan(to ptrace.Span, body []byte) bool {
	r := newReader(body, &otlp.span)
	to.Attributes().EnsureCapacity(min(r.count(9), maxAttributes) + spareAttributes)
	for r.next() {
		switch r.number {
		case spanTraceID:
			to.SetTraceID(readTraceID(&r))
		case spanSpanID:
			to.SetSpanID(readSpanID(&r))
		case 3:
			to.TraceState().FromRaw(r.text())
		case spanParentID:
			to.SetParentSpanID(readSpanID(&r))
		case 5:
			to.SetName(r.text())
		case 6:
			to.SetKind(ptrace.SpanKind(r.value))
		case spanStartTime:
			to.SetStartTimestamp(pcommon.Timestamp(r.value))
		case spanEndTime:
			to.SetEndTimestamp(pcommon.Timestamp(r.value))
		case 9:
			r.odd = !readAttribute(to.Attributes(), r.bytes, maxNested)
		case 10:
			to.SetDroppedAttributesCount(uint32(r.value))
		case 11:
			r.odd = !readEvent(to.Events().AppendEmpty(), r.bytes)
		case 12:
			to.SetDroppedEventsCount(uint32(r.value))
		case 13:
			r.odd = !readLink(to.Links().AppendEmpty(), r.bytes)
		case 14:
			to.SetDroppedLinksCount(uint32(r.value))
		case 15:
			r.odd = !readStatus(to.Status(), r.bytes)
		case 16:
			to.SetFlags(uint32(r.value))
		}
	}
	return !r.odd
}

func readEvent(to ptrace.SpanEvent, body []byte) bool {
	r := newReader(body, &otlp.event)
	for r.next() {
		switch r.number {
		case 1:
			to.SetTimestamp(pcommon.Timestamp(r.value))
		case 2:
			to.SetName(r.text())
		case 3:
			r.odd = !readAttribute(to.Attributes(), r.bytes, maxNested)
		case 4:
			to.SetDroppedAttributesCount(uint32(r.value))
		}
	}
	return !r.odd
}

func readLink(to ptrace.SpanLink, body []byte) bool {
	r := newReader(body, &otlp.link)
	for r.next() {
		switch r.number {
		case 1:
			to.SetTraceID(readTraceID(&r))
		case 2:
			to.SetSpanID(readSpanID(&r))
		case 3:
			to.TraceState().FromRaw(r.text())
		case 4:
			r.odd = !readAttribute(to.Attributes(), r.bytes, maxNested)
		case 5:
			to.SetDroppedAttributesCount(uint32(r.value))
		case 6:
			to.SetFlags(uint32(r.value))
		}
	}
	return !r.odd
}

func readStatus(to ptrace.Status, body []byte) bool {
	r := newReader(body, &otlp.status)
	for r.next() {
		switch r.number {
		case 2:
			to.SetMessage(r.text())
		case 3:
			to.SetCode(ptrace.StatusCode(r.value))
		}
	}
	return !r.odd
}

func readTraceID(r *fieldReader) (id pcommon.TraceID) {
	r.odd = copy(id[:], r.bytes) != len(r.bytes) || len(r.bytes) != 0 && len(r.bytes) != len(id)
	return id
}

func readSpanID(r *fieldReader) (id pcommon.SpanID) {
	r.odd = copy(id[:], r.bytes) != len(r.bytes) || len(r.bytes) != 0 && len(r.bytes) != len(id)
	return id
}

// readAttribute adds a KeyValue to a map. A duplicate key is odd: pdata's decoder keeps both.
func readAttribute(to pcommon.Map, body []byte, nested int) bool {
	r := newReader(body, &otlp.keyValue)
	var key string
	var value []byte
	for r.next() {
		switch r.number {
		case 1:
			key = r.text()
		case 2:
			r.odd = value != nil
			value = r.bytes
		case 3:
			r.odd = true // a reference: pdata has no method to set it
		}
	}
	if r.odd || to.Len() == maxAttributes {
		return false
	}
	attribute, there := to.GetOrPutEmpty(key)
	return !there && readValue(attribute, value, nested)
}

// readValue sets a value to an AnyValue. The last of its fields wins.
func readValue(to pcommon.Value, body []byte, nested int) bool {
	r := newReader(body, &otlp.anyValue)
	for r.next() {
		switch r.number {
		case 1:
			to.SetStr(r.text())
		case 2:
			to.SetBool(r.value != 0)
		case 3:
			to.SetInt(int64(r.value))
		case 4:
			to.SetDouble(math.Float64frombits(r.value))
		case 5:
			r.odd = nested == 0 || !readList(to.SetEmptySlice(), r.bytes, nested-1)
		case 6:
			r.odd = nested == 0 || !readMap(to.SetEmptyMap(), r.bytes, nested-1)
		case 7:
			to.SetEmptyBytes().FromRaw(r.bytes)
		case 8:
			r.odd = true // a reference: pdata has no method to set it
		}
	}
	return !r.odd
}

func readList(to pcommon.Slice, body []byte, nested int) bool {
	r := newReader(body, &otlp.arrayValue)
	to.EnsureCapacity(r.count(1))
	for r.next() {
		if r.number == 1 {
			r.odd = !readValue(to.AppendEmpty(), r.bytes, nested)
		}
	}
	return !r.odd
}

func readMap(to pcommon.Map, body []byte, nested int) bool {
	r := newReader(body, &otlp.keyValues)
	for r.next() {
		if r.number == 1 {
			r.odd = !readAttribute(to, r.bytes, nested)
		}
	}
	return !r.odd
}
