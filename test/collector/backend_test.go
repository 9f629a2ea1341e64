package collector

import (
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// backend is the other destination. It notes the identity of every item.
type backend struct {
	address string

	mu sync.Mutex
	// runs are the spans of each trace, others the items with an attribute "id", by it.
	runs   map[pcommon.TraceID]map[pcommon.SpanID]bool
	others map[string]bool
	// kept has those of the others that are kept whole, each as a request of its own: nil until it comes.
	kept map[string]proto.Message
}

func startBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{runs: map[pcommon.TraceID]map[pcommon.SpanID]bool{}, others: map[string]bool{}, kept: map[string]proto.Message{}}
	b.address = startReceiver(t, b.note)
	return b
}

func (b *backend) note(request proto.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	eachItem(request, func(item proto.Message, alone func() proto.Message) {
		if span, ok := item.(*tracepb.Span); ok {
			trace := pcommon.TraceID(span.GetTraceId())
			if b.runs[trace] == nil {
				b.runs[trace] = map[pcommon.SpanID]bool{}
			}
			b.runs[trace][pcommon.SpanID(span.GetSpanId())] = true
		}
		id, ok := idOf(item)
		if !ok {
			return
		}
		b.others[id] = true
		if _, ok := b.kept[id]; ok {
			b.kept[id] = alone()
		}
	})
}

// keep keeps the item with that id when it comes.
func (b *backend) keep(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[id] = nil
}

// missing returns how many of the ids, and of the spans of runs, have not come.
func (b *backend) missing(ids []string, runs map[pcommon.TraceID]int64) (others, spans int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if !b.others[id] {
			others++
		}
	}
	for run, n := range runs {
		spans += max(0, n-int64(len(b.runs[run])))
	}
	return others, spans
}

// below are the fields through which a request has its items: spans, log records and data points.
var below = map[protoreflect.Name]bool{
	"resource_spans": true, "scope_spans": true, "spans": true,
	"resource_logs": true, "scope_logs": true, "log_records": true,
	"resource_metrics": true, "scope_metrics": true, "metrics": true,
	"gauge": true, "sum": true, "histogram": true, "exponential_histogram": true, "summary": true, "data_points": true,
}

// eachItem visits the items of a request. alone returns the request with one of them: its resource, scope and metric are with
// it, and no other item.
func eachItem(request proto.Message, visit func(item proto.Message, alone func() proto.Message)) {
	eachBelow(request.ProtoReflect(), func(m protoreflect.Message) protoreflect.Message { return m }, visit)
}

func eachBelow(m protoreflect.Message, around func(protoreflect.Message) protoreflect.Message, visit func(proto.Message, func() proto.Message)) {
	isItem := true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !below[field.Name()] || field.Message() == nil { // a point of a histogram has a number "sum"
			return true
		}
		isItem = false
		withOne := func(child protoreflect.Message) protoreflect.Message {
			one := m.New()
			one.SetUnknown(m.GetUnknown())
			m.Range(func(other protoreflect.FieldDescriptor, value protoreflect.Value) bool {
				if other != field {
					one.Set(other, value)
				}
				return true
			})
			if field.IsList() {
				one.Mutable(field).List().Append(protoreflect.ValueOfMessage(child))
			} else {
				one.Set(field, protoreflect.ValueOfMessage(child))
			}
			return around(one)
		}
		if !field.IsList() {
			eachBelow(value.Message(), withOne, visit)
			return true
		}
		for i := range value.List().Len() {
			eachBelow(value.List().Get(i).Message(), withOne, visit)
		}
		return true
	})
	if isItem {
		visit(m.Interface(), func() proto.Message { return around(m).Interface() })
	}
}

// idOf returns the attribute "id" of an item.
func idOf(item proto.Message) (id string, ok bool) {
	with, ok := item.(interface{ GetAttributes() []*commonpb.KeyValue })
	if !ok {
		return "", false
	}
	for _, attribute := range with.GetAttributes() {
		if attribute.GetKey() == "id" {
			return attribute.GetValue().GetStringValue(), true
		}
	}
	return "", false
}

// setID adds the attribute "id" to an item.
func setID(item proto.Message, id string) {
	m := item.ProtoReflect()
	attribute := &commonpb.KeyValue{Key: "id", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: id}}}
	m.Mutable(m.Descriptor().Fields().ByName("attributes")).List().Append(protoreflect.ValueOfMessage(attribute.ProtoReflect()))
}
