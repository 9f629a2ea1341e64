// Package otlpwire looks at OTLP protobuf before it is decoded. The decoders of pdata recurse without a limit
// of their own: a body of 17 MB that nests 1.8 million lists ends the process (stack overflow, which nothing
// recovers), and one that is on the queue would end every process that reads it.
package otlpwire

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// What is wrong with a request that is well-formed.
var (
	ErrDepth = errors.New("nests too deep")
	ErrDense = errors.New("holds more values than may be decoded at once")
)

// message is a message of OTLP: what it takes in memory, decoded and apart from its bytes, and its fields by their
// numbers.
type message struct {
	weight int64
	fields []field
	// deprecated is the message in field 1000, which holds the spans or records of a client from before OTLP 0.15.
	deprecated *message
}

// field is how one field of a message is written. The zero value is a field that has no meaning here.
type field struct {
	// wire is the type it must have; child is what it holds, where that is a message again.
	wire  wireType
	child *message
}

// wireType is protowire's with a zero that means nothing.
type wireType int8

const (
	varint  = wireType(protowire.VarintType + 1)
	fixed64 = wireType(protowire.Fixed64Type + 1)
	fixed32 = wireType(protowire.Fixed32Type + 1)
	bytes   = wireType(protowire.BytesType + 1)
)

// Numbers of the fields of a Span that are looked into.
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
}

func newSchema() *schema {
	s := new(schema)
	s.anyValue = message{weight: 32, fields: []field{
		1: {wire: bytes}, 2: {wire: varint}, 3: {wire: varint}, 4: {wire: fixed64},
		5: {bytes, &s.arrayValue}, 6: {bytes, &s.keyValues}, 7: {wire: bytes}, 8: {wire: varint},
	}}
	s.keyValue = message{weight: 64, fields: []field{1: {wire: bytes}, 2: {bytes, &s.anyValue}, 3: {wire: varint}}}
	s.arrayValue = message{weight: 32, fields: []field{1: {bytes, &s.anyValue}}}
	s.keyValues = message{weight: 32, fields: []field{1: {bytes, &s.keyValue}}}
	s.event = message{weight: 128, fields: []field{1: {wire: fixed64}, 2: {wire: bytes}, 3: {bytes, &s.keyValue}, 4: {wire: varint}}}
	s.link = message{weight: 160, fields: []field{
		1: {wire: bytes}, 2: {wire: bytes}, 3: {wire: bytes}, 4: {bytes, &s.keyValue},
		5: {wire: varint}, 6: {wire: fixed32},
	}}
	s.status = message{fields: []field{2: {wire: bytes}, 3: {wire: varint}}}
	s.span = message{weight: 320, fields: []field{
		spanTraceID: {wire: bytes}, spanSpanID: {wire: bytes}, 3: {wire: bytes},
		spanParentID: {wire: bytes}, 5: {wire: bytes}, 6: {wire: varint}, spanStartTime: {wire: fixed64}, spanEndTime: {wire: fixed64},
		9: {bytes, &s.keyValue}, 10: {wire: varint}, 11: {bytes, &s.event}, 12: {wire: varint}, 13: {bytes, &s.link}, 14: {wire: varint},
		15: {bytes, &s.status}, 16: {wire: fixed32},
	}}
	s.scope = message{weight: 96, fields: []field{1: {wire: bytes}, 2: {wire: bytes}, 3: {bytes, &s.keyValue}, 4: {wire: varint}}}
	s.scopeSpans = message{weight: 192, fields: []field{1: {bytes, &s.scope}, 2: {bytes, &s.span}, 3: {wire: bytes}}}
	s.entity = message{weight: 96, fields: []field{1: {wire: bytes}, 2: {wire: bytes}, 3: {wire: bytes}, 4: {wire: bytes}}}
	s.resource = message{weight: 96, fields: []field{1: {bytes, &s.keyValue}, 2: {wire: varint}, 3: {bytes, &s.entity}}}
	s.resourceSpans = message{weight: 192, fields: []field{1: {bytes, &s.resource}, 2: {bytes, &s.scopeSpans}, 3: {wire: bytes}}, deprecated: &s.scopeSpans}
	s.record = message{weight: 288, fields: []field{5: {bytes, &s.anyValue}, 6: {bytes, &s.keyValue}}}
	s.scopeLogs = message{weight: 192, fields: []field{1: {bytes, &s.scope}, 2: {bytes, &s.record}}}
	s.resourceLogs = message{weight: 192, fields: []field{1: {bytes, &s.resource}, 2: {bytes, &s.scopeLogs}}, deprecated: &s.scopeLogs}
	s.traces = message{fields: []field{1: {bytes, &s.resourceSpans}}}
	s.logs = message{fields: []field{1: {bytes, &s.resourceLogs}}}
	return s
}

// Summary is what can be known of an ExportTraceServiceRequest without decoding it.
type Summary struct {
	// Weight estimates the bytes of memory that it takes when decoded, with its own.
	Weight int64
	// Spans is how many spans it has.
	Spans int
	// Regular says that pdata decodes it for sure: every field that is known has its own wire type, every id its length or
	// none. What is not regular may be decoded all the same.
	Regular bool
	// Identified says that every span has a trace id and a span id that are not all zeros. It means nothing where the
	// request is not regular.
	Identified bool
	// LastTime is the greatest start or end time of a span, Unix nanoseconds.
	LastTime uint64
	// Exceeds says that some attribute has a number beyond its bound ([runmodel.Bound]).
	Exceeds bool
}

// Scan walks an ExportTraceServiceRequest. It returns ErrDepth where more than maxDepth messages stand in each
// other, ErrDense where it weighs more than limit, and protowire's errors for what is malformed.
func Scan(body []byte, maxDepth int, limit int64) (Summary, error) {
	return look(body, &otlp.traces, maxDepth, limit)
}

// WeighLogs is the weight of an ExportLogsServiceRequest; it returns the errors of Scan.
func WeighLogs(body []byte, maxDepth int, limit int64) (int64, error) {
	seen, err := look(body, &otlp.logs, maxDepth, limit)
	return seen.Weight, err
}

func look(body []byte, request *message, maxDepth int, limit int64) (Summary, error) {
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
	// number is the greatest of the attribute that is walked, where it may be beyond a bound.
	number float64
}

func (w *walker) walk(b []byte, m *message, depth int) error {
	if depth == 0 {
		return ErrDepth
	}
	var traced, identified bool
	var key []byte // of a KeyValue
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
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			if m == &otlp.span && typ == protowire.Fixed64Type && (num == spanStartTime || num == spanEndTime) {
				w.seen.LastTime = max(w.seen.LastTime, binary.LittleEndian.Uint64(b))
			}
			if m == &otlp.anyValue {
				w.look(num, typ, b[:n])
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
	}
	return nil
}

// look keeps a number that may be beyond a bound.
func (w *walker) look(num protowire.Number, typ protowire.Type, b []byte) {
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

// deprecated is the number of the field that message.deprecated is about.
const deprecated = 1000

// plain says that pdata passes over a field of this type in the way that protowire does.
func plain(typ protowire.Type) bool {
	return typ == protowire.VarintType || typ == protowire.Fixed64Type || typ == protowire.BytesType || typ == protowire.Fixed32Type
}

// id looks at an identifier and says whether it is one.
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
