// Package otlpwire looks at OTLP protobuf before it is decoded. The decoders of pdata recurse without a limit
// of their own: a body of 17 MB that nests 1.8 million lists ends the process (stack overflow, which nothing
// recovers), and one that is on the queue would end every process that reads it.
package otlpwire

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// What is wrong with a request that is well-formed.
var (
	ErrDepth = errors.New("nests too deep")
	ErrDense = errors.New("holds more values than may be decoded at once")
)

// message is a message of OTLP as far as its nesting goes: what it takes in memory, decoded and apart from its
// bytes, and which of its fields are messages again.
type message struct {
	weight int64
	fields fields
}

// fields are the messages in a message, by their numbers.
type fields [14]*message

var exportTraceServiceRequest, exportLogsServiceRequest = func() (traces, logs *message) {
	anyValue := &message{weight: 32}
	keyValue := &message{weight: 64, fields: fields{2: anyValue}}
	arrayValue := &message{weight: 32, fields: fields{1: anyValue}}
	keyValueList := &message{weight: 32, fields: fields{1: keyValue}}
	anyValue.fields = fields{5: arrayValue, 6: keyValueList}
	event := &message{weight: 128, fields: fields{3: keyValue}}
	link := &message{weight: 160, fields: fields{4: keyValue}}
	span := &message{weight: 320, fields: fields{9: keyValue, 11: event, 13: link}}
	scope := &message{weight: 96, fields: fields{3: keyValue}}
	scopeSpans := &message{weight: 192, fields: fields{1: scope, 2: span}}
	resource := &message{weight: 96, fields: fields{1: keyValue}}
	resourceSpans := &message{weight: 192, fields: fields{1: resource, 2: scopeSpans}}
	record := &message{weight: 288, fields: fields{5: anyValue, 6: keyValue}}
	scopeLogs := &message{weight: 192, fields: fields{1: scope, 2: record}}
	resourceLogs := &message{weight: 192, fields: fields{1: resource, 2: scopeLogs}}
	return &message{fields: fields{1: resourceSpans}},
		&message{fields: fields{1: resourceLogs}}
}()

// Weigh walks an ExportTraceServiceRequest and estimates the bytes of memory that it takes when decoded. It
// returns ErrDepth where more than maxDepth messages stand in each other, ErrDense past limit, and protowire's
// errors for what is malformed.
func Weigh(body []byte, maxDepth int, limit int64) (int64, error) {
	return weigh(body, exportTraceServiceRequest, maxDepth, limit)
}

// WeighLogs is Weigh for an ExportLogsServiceRequest.
func WeighLogs(body []byte, maxDepth int, limit int64) (int64, error) {
	return weigh(body, exportLogsServiceRequest, maxDepth, limit)
}

func weigh(body []byte, request *message, maxDepth int, limit int64) (int64, error) {
	w := weigher{left: limit - int64(len(body))}
	if err := w.walk(body, request, maxDepth); err != nil {
		return 0, err
	}
	return limit - w.left, nil
}

type weigher struct{ left int64 }

func (w *weigher) walk(b []byte, m *message, depth int) error {
	if depth == 0 {
		return ErrDepth
	}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var child *message
		if int(num) < len(m.fields) {
			child = m.fields[num]
		}
		if child == nil || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if w.left -= child.weight; w.left < 0 {
			return ErrDense
		}
		if err := w.walk(value, child, depth-1); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
