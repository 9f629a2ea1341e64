package runsreceiver

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// item is a run or a span of an envelope. What the client left out is absent here and in the resulting span, so that
// stored values are kept.
type item struct {
	isRun   bool
	traceID pcommon.TraceID
	spanID  pcommon.SpanID
	parent  pcommon.SpanID
	name    string
	start   pcommon.Timestamp
	end     pcommon.Timestamp
	status  string
	failure *failure
	events  []event // nil if not given

	attributes attributes // the client's own
	fields     attributes // fields as attributes; they win
}

// failure is the error of a run or span. Fields may be empty.
type failure struct {
	kind, message, stack string
}

type event struct {
	name       string
	time       pcommon.Timestamp
	attributes attributes
}

type identity struct {
	traceID pcommon.TraceID
	spanID  pcommon.SpanID
}

func (it *item) identity() identity { return identity{it.traceID, it.spanID} }

// update overrides the item with a later one of the same identity, field by field.
func (it *item) update(later *item) {
	it.name, it.start = later.name, later.start // required in every item
	if !later.parent.IsEmpty() {
		it.parent = later.parent
	}
	if later.end != 0 {
		it.end = later.end
	}
	if later.status != "" {
		it.status = later.status
	}
	if later.failure != nil {
		it.failure = later.failure
	}
	if later.events != nil {
		it.events = later.events
	}
	it.attributes.update(&later.attributes)
	it.fields.update(&later.fields)
}

// writeTo writes the item to a span.
func (it *item) writeTo(span ptrace.Span) {
	span.SetTraceID(it.traceID)
	span.SetSpanID(it.spanID)
	span.SetName(it.name)
	span.SetStartTimestamp(it.start)
	span.SetEndTimestamp(it.end)
	// Readers put a span without a parent below its run. A parent that was given when the span was first sent must
	// not be overwritten when it is sent again without one.
	span.SetParentSpanID(it.parent)
	if it.isRun {
		it.fields.set(runmodel.KeyRun, true)
	}
	if it.status != "" {
		it.fields.set(runmodel.KeyStatus, it.status)
	}
	it.writeStatusTo(span.Status())

	for _, e := range it.events {
		ev := span.Events().AppendEmpty()
		ev.SetName(e.name)
		ev.SetTimestamp(e.time)
		if e.time == 0 {
			ev.SetTimestamp(it.start)
		}
		e.attributes.writeTo(ev.Attributes())
	}
	if it.failure != nil {
		if it.failure.kind != "" {
			it.fields.set(runmodel.KeyErrorType, it.failure.kind)
		}
		it.failure.writeTo(span.Events().AppendEmpty(), max(it.start, it.end))
	}

	it.attributes.update(&it.fields)
	it.attributes.writeTo(span.Attributes())
}

func (it *item) writeStatusTo(status ptrace.Status) {
	switch {
	case it.status == runmodel.StatusOK:
		status.SetCode(ptrace.StatusCodeOk)
	case it.status == runmodel.StatusError, it.failure != nil:
		status.SetCode(ptrace.StatusCodeError)
		if it.failure != nil {
			status.SetMessage(it.failure.message)
		}
	}
}

func (f *failure) writeTo(ev ptrace.SpanEvent, at pcommon.Timestamp) {
	ev.SetName(runmodel.EventException)
	ev.SetTimestamp(at)
	for _, a := range [...]struct{ key, value string }{
		{runmodel.KeyExceptionType, f.kind},
		{runmodel.KeyExceptionMessage, f.message},
		{runmodel.KeyExceptionStacktrace, f.stack},
	} {
		if a.value != "" {
			ev.Attributes().PutStr(a.key, a.value)
		}
	}
}

// scanned is the number of attributes that are searched one by one. Beyond it there is an index: filling pdata's own
// maps takes quadratic time.
const scanned = 32

// attributes is an ordered map. Its values are string, int64, float64, bool, nil, []any or map[string]any.
type attributes struct {
	entries []entry
	index   map[string]int // of entries, if there are more than scanned
}

type entry struct {
	key   string
	value any
}

func (a *attributes) set(key string, value any) {
	if i := a.find(key); i >= 0 {
		a.entries[i].value = value
		return
	}
	a.entries = append(a.entries, entry{key, value})
	switch {
	case a.index != nil:
		a.index[key] = len(a.entries) - 1
	case len(a.entries) > scanned:
		a.index = make(map[string]int, 2*len(a.entries))
		for i, e := range a.entries {
			a.index[e.key] = i
		}
	}
}

func (a *attributes) find(key string) int {
	if a.index != nil {
		if i, ok := a.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range a.entries {
		if a.entries[i].key == key {
			return i
		}
	}
	return -1
}

// update sets everything in later, which must not be used any more.
func (a *attributes) update(later *attributes) {
	if len(a.entries) == 0 {
		*a = *later
		return
	}
	for _, e := range later.entries {
		a.set(e.key, e.value)
	}
}

// writeTo fills an empty map. pdata accepts all types of values, so it cannot fail.
func (a *attributes) writeTo(m pcommon.Map) {
	if a.index != nil {
		raw := make(map[string]any, len(a.entries))
		for _, e := range a.entries {
			raw[e.key] = e.value
		}
		_ = m.FromRaw(raw)
		return
	}
	m.EnsureCapacity(len(a.entries))
	for _, e := range a.entries {
		if s, ok := e.value.(string); ok {
			m.PutStr(e.key, s)
			continue
		}
		_ = m.PutEmpty(e.key).FromRaw(e.value)
	}
}
