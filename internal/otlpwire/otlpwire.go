// Package otlpwire inspects OTLP protobuf before it is decoded. pdata's decoders recurse without a limit: a body of
// 17 MB that nests 1.8 million lists overflows the stack, which ends the process. On the queue, it would end every
// process that reads it.
package otlpwire

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Errors for well-formed requests that must not be decoded.
var (
	ErrDepth = errors.New("nests too deep")
	ErrDense = errors.New("holds more values than may be decoded at once")
)

// message describes a message of OTLP: the memory that it takes when decoded, without its bytes, and its fields by
// number.
type message struct {
	weight int64
	fields []field
	// deprecated is the message in field 1000, where clients from before OTLP 0.15 put spans or records.
	deprecated *message
}

// field describes a field of a message. The zero value is a field that is not known here.
type field struct {
	// wire is the type of the field. child is its message type, if it holds a message.
	wire  wireType
	child *message
	// packed is true for repeated varints, of which one byte on the wire takes eight when decoded.
	packed bool
}

// wireType is protowire's type with a zero value for "unknown".
type wireType int8

const (
	varint  = wireType(protowire.VarintType + 1)
	fixed64 = wireType(protowire.Fixed64Type + 1)
	fixed32 = wireType(protowire.Fixed32Type + 1)
	bytes   = wireType(protowire.BytesType + 1)
)

// Numbers of the fields of a Span that are inspected.
const (
	spanTraceID   = 1
	spanSpanID    = 2
	spanParentID  = 4
	spanStartTime = 7
	spanEndTime   = 8
)

// Numbers of the fields of an AnyValue that hold numbers.
const (
	anyInt    = 3
	anyDouble = 4
)

// otlp are the messages of OTLP.
var otlp = newSchema()

type schema struct {
	traces, logs                              message // Export…ServiceRequest
	resourceSpans, scopeSpans, span           message
	event, link, status                       message
	resource, entity, scope                   message
	keyValue, anyValue, arrayValue, keyValues message
	resourceLogs, scopeLogs, record           message

	metrics                                            message // ExportMetricsServiceRequest
	resourceMetrics, scopeMetrics, metric              message
	numbers, histograms, exponentials, summaries       message // Gauge and Sum, Histogram, ExponentialHistogram, Summary
	number, histogram, exponential, summary            message // their data points
	exponentialBuckets, summaryQuantile, valueExemplar message
}

func newSchema() *schema {
	s := new(schema)
	s.anyValue = message{weight: 32, fields: []field{
		1: {wire: bytes}, 2: {wire: varint}, 3: {wire: varint}, 4: {wire: fixed64},
		5: {wire: bytes, child: &s.arrayValue}, 6: {wire: bytes, child: &s.keyValues}, 7: {wire: bytes}, 8: {wire: varint},
	}}
	s.keyValue = message{weight: 64, fields: []field{1: {wire: bytes}, 2: {wire: bytes, child: &s.anyValue}, 3: {wire: varint}}}
	s.arrayValue = message{weight: 32, fields: []field{1: {wire: bytes, child: &s.anyValue}}}
	s.keyValues = message{weight: 32, fields: []field{1: {wire: bytes, child: &s.keyValue}}}
	s.event = message{weight: 128, fields: []field{1: {wire: fixed64}, 2: {wire: bytes}, 3: {wire: bytes, child: &s.keyValue}, 4: {wire: varint}}}
	s.link = message{weight: 160, fields: []field{
		1: {wire: bytes}, 2: {wire: bytes}, 3: {wire: bytes}, 4: {wire: bytes, child: &s.keyValue},
		5: {wire: varint}, 6: {wire: fixed32},
	}}
	s.status = message{fields: []field{2: {wire: bytes}, 3: {wire: varint}}}
	s.span = message{weight: 320, fields: []field{
		spanTraceID: {wire: bytes}, spanSpanID: {wire: bytes}, 3: {wire: bytes},
		spanParentID: {wire: bytes}, 5: {wire: bytes}, 6: {wire: varint}, spanStartTime: {wire: fixed64}, spanEndTime: {wire: fixed64},
		9: {wire: bytes, child: &s.keyValue}, 10: {wire: varint}, 11: {wire: bytes, child: &s.event}, 12: {wire: varint}, 13: {wire: bytes, child: &s.link}, 14: {wire: varint},
		15: {wire: bytes, child: &s.status}, 16: {wire: fixed32},
	}}
	s.scope = message{weight: 96, fields: []field{1: {wire: bytes}, 2: {wire: bytes}, 3: {wire: bytes, child: &s.keyValue}, 4: {wire: varint}}}
	s.scopeSpans = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.scope}, 2: {wire: bytes, child: &s.span}, 3: {wire: bytes}}}
	s.entity = message{weight: 96, fields: []field{1: {wire: bytes}, 2: {wire: bytes}, 3: {wire: bytes}, 4: {wire: bytes}}}
	s.resource = message{weight: 96, fields: []field{1: {wire: bytes, child: &s.keyValue}, 2: {wire: varint}, 3: {wire: bytes, child: &s.entity}}}
	s.resourceSpans = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.resource}, 2: {wire: bytes, child: &s.scopeSpans}, 3: {wire: bytes}}, deprecated: &s.scopeSpans}
	s.record = message{weight: 288, fields: []field{5: {wire: bytes, child: &s.anyValue}, 6: {wire: bytes, child: &s.keyValue}}}
	s.scopeLogs = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.scope}, 2: {wire: bytes, child: &s.record}}}
	s.resourceLogs = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.resource}, 2: {wire: bytes, child: &s.scopeLogs}}, deprecated: &s.scopeLogs}
	s.traces = message{fields: []field{1: {wire: bytes, child: &s.resourceSpans}}}
	s.logs = message{fields: []field{1: {wire: bytes, child: &s.resourceLogs}}}
	s.addMetrics()
	return s
}

// addMetrics describes the messages of metrics (opentelemetry/proto/metrics/v1/metrics.proto).
func (s *schema) addMetrics() {
	s.valueExemplar = message{weight: 128, fields: []field{7: {wire: bytes, child: &s.keyValue}}}
	s.number = message{weight: 160, fields: []field{5: {wire: bytes, child: &s.valueExemplar}, 7: {wire: bytes, child: &s.keyValue}}}
	s.histogram = message{weight: 256, fields: []field{8: {wire: bytes, child: &s.valueExemplar}, 9: {wire: bytes, child: &s.keyValue}}}
	s.exponentialBuckets = message{weight: 64, fields: []field{2: {wire: bytes, packed: true}}}
	s.exponential = message{weight: 320, fields: []field{
		1: {wire: bytes, child: &s.keyValue}, 8: {wire: bytes, child: &s.exponentialBuckets}, 9: {wire: bytes, child: &s.exponentialBuckets}, 11: {wire: bytes, child: &s.valueExemplar},
	}}
	s.summaryQuantile = message{weight: 48}
	s.summary = message{weight: 192, fields: []field{6: {wire: bytes, child: &s.summaryQuantile}, 7: {wire: bytes, child: &s.keyValue}}}
	s.numbers = message{weight: 64, fields: []field{1: {wire: bytes, child: &s.number}}}
	s.histograms = message{weight: 64, fields: []field{1: {wire: bytes, child: &s.histogram}}}
	s.exponentials = message{weight: 64, fields: []field{1: {wire: bytes, child: &s.exponential}}}
	s.summaries = message{weight: 64, fields: []field{1: {wire: bytes, child: &s.summary}}}
	s.metric = message{weight: 160, fields: []field{
		5: {wire: bytes, child: &s.numbers}, 7: {wire: bytes, child: &s.numbers}, 9: {wire: bytes, child: &s.histograms}, 10: {wire: bytes, child: &s.exponentials}, 11: {wire: bytes, child: &s.summaries},
		12: {wire: bytes, child: &s.keyValue},
	}}
	s.scopeMetrics = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.scope}, 2: {wire: bytes, child: &s.metric}}}
	s.resourceMetrics = message{weight: 192, fields: []field{1: {wire: bytes, child: &s.resource}, 2: {wire: bytes, child: &s.scopeMetrics}}, deprecated: &s.scopeMetrics}
	s.metrics = message{fields: []field{1: {wire: bytes, child: &s.resourceMetrics}}}
}

// Summary is what is known of an ExportTraceServiceRequest without decoding it.
type Summary struct {
	// Weight estimates the memory in bytes that the request takes when decoded, including its own bytes.
	Weight int64
	// Spans is the number of spans.
	Spans int
	// Regular reports that pdata is sure to decode the request: every known field has its wire type, every id its
	// length or none. pdata may decode other requests as well.
	Regular bool
	// Identified reports that every span has a trace id and a span id that are not all zeros. It is only valid for
	// regular requests.
	Identified bool
	// LastTime is the latest start or end time of a span in Unix nanoseconds.
	LastTime uint64
	// WrongClock reports that a span has times that [runmodel.WrongClock] finds wrong.
	WrongClock bool
	// Exceeds reports that an attribute has a number above its [runmodel.Bound].
	Exceeds bool
}

// Scan summarizes an ExportTraceServiceRequest. It returns ErrDepth if messages nest deeper than maxDepth, ErrDense
// if the request weighs more than limit, and protowire's errors if it is malformed.
func Scan(body []byte, maxDepth int, limit int64) (Summary, error) {
	return scan(body, &otlp.traces, maxDepth, limit)
}

// WeighLogs returns the weight of an ExportLogsServiceRequest. It returns the errors of Scan.
func WeighLogs(body []byte, maxDepth int, limit int64) (int64, error) {
	seen, err := scan(body, &otlp.logs, maxDepth, limit)
	return seen.Weight, err
}

// WeighMetrics returns the weight of an ExportMetricsServiceRequest. It returns the errors of Scan.
func WeighMetrics(body []byte, maxDepth int, limit int64) (int64, error) {
	seen, err := scan(body, &otlp.metrics, maxDepth, limit)
	return seen.Weight, err
}

func scan(body []byte, request *message, maxDepth int, limit int64) (Summary, error) {
	w := walker{left: limit - int64(len(body)), seen: Summary{Regular: true, Identified: true}}
	if err := w.walk(body, request, maxDepth); err != nil {
		return Summary{}, err
	}
	w.seen.Weight = limit - w.left
	return w.seen, nil
}

type walker struct {
	left int64
	seen Summary
	// number is the largest number of the current attribute that may exceed a bound.
	number float64
}

func (w *walker) walk(b []byte, m *message, depth int) error {
	if depth == 0 {
		return ErrDepth
	}
	var traced, identified bool
	var start, end uint64 // of a span
	var key []byte        // of a KeyValue
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var f field
		switch {
		case int(num) < len(m.fields):
			f = m.fields[num]
		case num == deprecated:
			f.child = m.deprecated
		}
		if f.wire != wireType(typ+1) && (f.wire != 0 || f.child != nil || !plain(typ)) {
			w.seen.Regular = false
		}
		if typ != protowire.BytesType {
			if f.packed { // a single value of the list
				if w.left -= packedWeight; w.left < 0 {
					return ErrDense
				}
			}
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			if m == &otlp.span && typ == protowire.Fixed64Type && (num == spanStartTime || num == spanEndTime) {
				at := binary.LittleEndian.Uint64(b)
				w.seen.LastTime = max(w.seen.LastTime, at)
				if num == spanStartTime {
					start = at
				} else {
					end = at
				}
			}
			if m == &otlp.anyValue {
				w.noteNumber(num, typ, b[:n])
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if f.child != nil {
			if w.left -= f.child.weight; w.left < 0 {
				return ErrDense
			}
			if err := w.walk(value, f.child, depth-1); err != nil {
				return err
			}
			continue
		}
		if f.packed {
			if w.left -= packedWeight * int64(len(value)); w.left < 0 {
				return ErrDense
			}
		}
		switch {
		case m == &otlp.span && num == spanTraceID, m == &otlp.link && num == 1:
			traced = w.id(value, 16)
		case m == &otlp.span && num == spanSpanID, m == &otlp.link && num == 2:
			identified = w.id(value, 8)
		case m == &otlp.span && num == spanParentID:
			w.id(value, 8)
		case m == &otlp.keyValue && num == fieldKey:
			key = value
		}
	}
	if m == &otlp.keyValue && w.number > 0 {
		w.seen.Exceeds = w.seen.Exceeds || w.number > runmodel.Bound(string(key))
		w.number = 0
	}
	if m == &otlp.span {
		w.seen.Spans++
		w.seen.Identified = w.seen.Identified && traced && identified
		w.seen.WrongClock = w.seen.WrongClock || runmodel.WrongClock(start, end) != ""
	}
	return nil
}

// noteNumber keeps a number that may exceed a bound.
func (w *walker) noteNumber(num protowire.Number, typ protowire.Type, b []byte) {
	var number float64
	switch {
	case num == anyInt && typ == protowire.VarintType:
		n, _ := protowire.ConsumeVarint(b)
		number = runmodel.RoundUp(int64(n))
	case num == anyDouble && typ == protowire.Fixed64Type:
		number = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	if runmodel.MayExceed(number) {
		w.number = max(w.number, number)
	}
}

// packedWeight is the memory in bytes of a packed varint, which takes at least one byte on the wire.
const packedWeight = 8

// deprecated is the number of the field of message.deprecated.
const deprecated = 1000

// plain reports whether pdata skips a field of this type like protowire.
func plain(typ protowire.Type) bool {
	return typ == protowire.VarintType || typ == protowire.Fixed64Type || typ == protowire.BytesType || typ == protowire.Fixed32Type
}

// id checks an identifier. It returns false if it is empty or all zeros.
func (w *walker) id(value []byte, length int) bool {
	if len(value) != length && len(value) != 0 {
		w.seen.Regular = false
	}
	for _, b := range value {
		if b != 0 {
			return true
		}
	}
	return false
}
