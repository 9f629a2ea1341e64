package runsreceiver

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/jsonpull"
)

// maxDepth is how deep a body may nest. The decoders of OTLP recurse without a limit of their own: a body of
// the allowed size could nest until the stack ends, and the process with it.
const maxDepth = 200

// maxTimestamp is the end of 2261, the last whole year that the store's nanoseconds can name.
const maxTimestamp = 9_214_646_399_999_999_999

// otlpFormat is OTLP in one of its two encodings.
type otlpFormat struct {
	mediaType string
	// weigh checks the shape of a body and estimates the memory that its spans take.
	weigh     func(body []byte, limit int64) (int64, error)
	unmarshal func(body []byte) (ptrace.Traces, error)
	marshal   func(ptraceotlp.ExportResponse) ([]byte, error)

	dropped dropped
}

func (f *otlpFormat) name() string {
	if f.mediaType == typeProtobuf {
		return "otlp_proto"
	}
	return "otlp_json"
}

func (f *otlpFormat) decode(body []byte, held *charge) (ptrace.Traces, error) {
	weight, err := f.weigh(body, held.in.budget)
	if err != nil {
		return ptrace.Traces{}, err
	}
	if err := held.grow(weight); err != nil {
		return ptrace.Traces{}, err
	}
	td, err := f.unmarshal(body)
	if err != nil {
		return ptrace.Traces{}, err
	}
	f.dropped = dropUnstorable(td)
	return td, nil
}

func (f *otlpFormat) accepted(string) (string, []byte) {
	resp := ptraceotlp.NewExportResponse()
	if f.dropped.spans > 0 {
		resp.PartialSuccess().SetRejectedSpans(f.dropped.spans)
		resp.PartialSuccess().SetErrorMessage(f.dropped.first)
	}
	body, err := f.marshal(resp)
	if err != nil {
		body = nil // a number and a text always marshal
	}
	return f.mediaType, body
}

func (f *otlpFormat) rejected() int64 { return f.dropped.spans }

func unmarshalProto(body []byte) (ptrace.Traces, error) {
	req := ptraceotlp.NewExportRequest()
	err := req.UnmarshalProto(body)
	return req.Traces(), err
}

func unmarshalJSON(body []byte) (ptrace.Traces, error) {
	req := ptraceotlp.NewExportRequest()
	err := req.UnmarshalJSON(body)
	return req.Traces(), err
}

func marshalProto(resp ptraceotlp.ExportResponse) ([]byte, error) { return resp.MarshalProto() }

func marshalResponseJSON(resp ptraceotlp.ExportResponse) ([]byte, error) { return resp.MarshalJSON() }

// dropped counts spans that cannot be stored.
type dropped struct {
	spans int64
	first string // where the first stood, and why
}

// dropUnstorable removes the spans that have no identity or no place in time.
func dropUnstorable(td ptrace.Traces) dropped {
	var d dropped
	for i, rs := range td.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			k := -1
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				k++
				reason := unstorable(span)
				if reason == "" {
					return false
				}
				if d.spans == 0 {
					d.first = fmt.Sprintf("resource_spans[%d].scope_spans[%d].spans[%d]: %s", i, j, k, reason)
				}
				d.spans++
				return true
			})
		}
	}
	if d.spans == 0 {
		return d
	}
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool { return ss.Spans().Len() == 0 })
		return rs.ScopeSpans().Len() == 0
	})
	return d
}

func unstorable(span ptrace.Span) string {
	switch {
	case span.TraceID().IsEmpty():
		return "the trace id is all zeros"
	case span.SpanID().IsEmpty():
		return "the span id is all zeros"
	case span.StartTimestamp() > maxTimestamp:
		return "the start time lies after 2261"
	case span.EndTimestamp() > maxTimestamp:
		return "the end time lies after 2261"
	}
	return ""
}

// weighJSON walks an OTLP/JSON body without decoding it.
func weighJSON(body []byte, limit int64) (int64, error) {
	r := jsonpull.NewReader(body, maxDepth, limit)
	kind := r.Kind()
	r.Text()
	r.End()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if kind != jsonpull.Object {
		return 0, errors.New("expected a JSON object")
	}
	return r.Weight(), nil
}

// message is a message of OTLP as far as its nesting goes: what it takes in memory, decoded and apart from its
// bytes, and which of its fields are messages again.
type message struct {
	weight int64
	fields map[protowire.Number]*message
}

var exportTraceServiceRequest = func() *message {
	anyValue := &message{weight: 32}
	keyValue := &message{weight: 64, fields: map[protowire.Number]*message{2: anyValue}}
	arrayValue := &message{weight: 32, fields: map[protowire.Number]*message{1: anyValue}}
	keyValueList := &message{weight: 32, fields: map[protowire.Number]*message{1: keyValue}}
	anyValue.fields = map[protowire.Number]*message{5: arrayValue, 6: keyValueList}
	event := &message{weight: 128, fields: map[protowire.Number]*message{3: keyValue}}
	link := &message{weight: 160, fields: map[protowire.Number]*message{4: keyValue}}
	span := &message{weight: 320, fields: map[protowire.Number]*message{9: keyValue, 11: event, 13: link}}
	scope := &message{weight: 96, fields: map[protowire.Number]*message{3: keyValue}}
	scopeSpans := &message{weight: 192, fields: map[protowire.Number]*message{1: scope, 2: span}}
	resource := &message{weight: 96, fields: map[protowire.Number]*message{1: keyValue}}
	resourceSpans := &message{weight: 192, fields: map[protowire.Number]*message{1: resource, 2: scopeSpans}}
	return &message{fields: map[protowire.Number]*message{1: resourceSpans}}
}()

// weighProto walks an OTLP protobuf body without decoding it.
func weighProto(body []byte, limit int64) (int64, error) {
	w := protoWeigher{left: limit - int64(len(body))}
	if err := w.walk(body, exportTraceServiceRequest, 1); err != nil {
		return 0, err
	}
	return limit - w.left, nil
}

type protoWeigher struct{ left int64 }

func (w *protoWeigher) walk(b []byte, m *message, depth int) error {
	if depth > maxDepth {
		return jsonpull.ErrDepth
	}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		child := m.fields[num]
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
			return &bodyTooDense
		}
		if err := w.walk(value, child, depth+1); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
