package loadgen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// identify returns the id of the trace or span with this index in the request with this number. It must never repeat
// an id.
type identify struct {
	trace func(request uint64, index int) pcommon.TraceID
	span  func(request uint64, index int) pcommon.SpanID
}

// template is an encoded request whose ids and times are replaced for each use.
type template struct {
	body []byte
	// The offsets of each trace's and each span's id, including parent ids.
	traces, spans [][]int
	times         []moment
}

// moment is a time in the body: its offset, and its distance from the start of the request's first span.
type moment struct {
	place int
	after time.Duration
}

// newTemplate encodes spans. Their ids must be distinguishable from everything else.
func newTemplate(td ptrace.Traces) (*template, error) {
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	s := &template{body: body}
	seen := map[pcommon.TraceID]bool{}
	var first pcommon.Timestamp
	var starts, ends, events []pcommon.Timestamp
	for _, span := range spansOf(td) {
		if id := span.TraceID(); !seen[id] {
			seen[id] = true
			s.traces = append(s.traces, occurrences(body, id[:]))
		}
		id := span.SpanID()
		s.spans = append(s.spans, occurrences(body, id[:]))
		starts, ends = append(starts, span.StartTimestamp()), append(ends, span.EndTimestamp())
		for _, event := range span.Events().All() {
			events = append(events, event.Timestamp())
		}
		if first == 0 || span.StartTimestamp() < first {
			first = span.StartTimestamp()
		}
	}
	// The numbers of the fields in opentelemetry/proto/trace/v1/trace.proto.
	const start, end, eventTime = 7, 8, 1
	for field, values := range map[int][]pcommon.Timestamp{start: starts, end: ends, eventTime: events} {
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			const fixed64 = 1
			key := byte(field<<3 | fixed64)
			for _, place := range occurrences(body, binary.LittleEndian.AppendUint64([]byte{key}, uint64(value))) {
				s.times = append(s.times, moment{place + 1, time.Duration(value - first)})
			}
		}
	}
	return s, nil
}

// fill writes the ids of the request with this number and times from start on, and returns the body, which is valid
// until the next call.
func (s *template) fill(ids identify, number uint64, start time.Time) []byte {
	for i, places := range s.traces {
		id := ids.trace(number, i)
		for _, place := range places {
			copy(s.body[place:], id[:])
		}
	}
	for i, places := range s.spans {
		id := ids.span(number, i)
		for _, place := range places {
			copy(s.body[place:], id[:])
		}
	}
	for _, m := range s.times {
		binary.LittleEndian.PutUint64(s.body[m.place:], uint64(start.Add(m.after).UnixNano()))
	}
	return s.body
}

func spansOf(td ptrace.Traces) []ptrace.Span {
	var all []ptrace.Span
	for _, resource := range td.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				all = append(all, span)
			}
		}
	}
	return all
}

func occurrences(body, id []byte) []int {
	var places []int
	for from := 0; ; {
		at := bytes.Index(body[from:], id)
		if at < 0 {
			return places
		}
		places = append(places, from+at)
		from += at + len(id)
	}
}
