package runsreceiver

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// maxProblems is how many problems of an envelope are reported.
	maxProblems = 20
	// usualFields is the initial capacity for an item's fields.
	usualFields = 12
	// memberWeight estimates the overhead of an object's member in a list, an index, the map that pdata is filled
	// from, and pdata itself.
	memberWeight = 176
	// maxEcho is the maximum length of an invalid value that is returned as JSON.
	maxEcho = 200
)

// nativeFormat is the envelope of native runs and spans.
type nativeFormat struct {
	runs, spans int // as sent
}

func (f *nativeFormat) name() string { return "runs_json" }

func (f *nativeFormat) decode(body []byte, held *charge, _ *partialsuccess.Report) (data, error) {
	d := decoder{
		Reader:  jsonpull.NewReader(body, maxDepth, held.in.budget),
		indexes: make(map[identity]int),
	}
	td, err := d.envelope()
	if err != nil {
		return nil, err
	}
	if err := held.grow(d.Weight()); err != nil {
		return nil, err
	}
	f.runs, f.spans = d.runs, d.spans
	return traceData{td}, nil
}

func (f *nativeFormat) accepted(requestID string, _ *partialsuccess.Report) (string, []byte) {
	return typeJSON, jsontext.MustEncode(struct {
		Status        string `json:"status"`
		AcceptedRuns  int    `json:"accepted_runs"`
		AcceptedSpans int    `json:"accepted_spans"`
		RequestID     string `json:"request_id"`
	}{"queued", f.runs, f.spans, requestID})
}

// decoder reads one envelope. After a problem it continues, to report all of them, but keeps no more items.
type decoder struct {
	*jsonpull.Reader

	list     string // "runs" or "spans", where the decoder stands
	index    int
	problems []problem.Field
	more     bool // there are more problems than are reported

	items       []item
	indexes     map[identity]int
	resource    attributes
	runs, spans int
}

func (d *decoder) envelope() (ptrace.Traces, error) {
	if d.Kind() == jsonpull.Object {
		d.Object(d.envelopeMember)
		if d.runs+d.spans == 0 && len(d.problems) == 0 {
			d.problem("", "must hold at least one run or span", nil)
		}
	} else {
		d.mismatch("", "must be an object")
	}
	d.End()
	switch {
	case d.Err() == jsonpull.ErrDepth: //nolint:errorlint // the reader's own error, as it is
		return ptrace.Traces{}, d.refuse(fmt.Sprintf("The body nests deeper than %d levels.", maxDepth),
			problem.Field{Location: d.location(""), Message: fmt.Sprintf("nests deeper than %d levels", maxDepth)})
	case d.Err() != nil:
		return ptrace.Traces{}, d.Err()
	case d.more:
		return ptrace.Traces{}, d.refuse(fmt.Sprintf("The body fails validation. The first %d problems are listed.", maxProblems), d.problems...)
	case len(d.problems) > 0:
		return ptrace.Traces{}, d.refuse(invalid.detail, d.problems...)
	}
	return d.traces(), nil
}

func (d *decoder) refuse(detail string, problems ...problem.Field) error {
	r := invalid.because(detail)
	r.fields = problems
	return r
}

func (d *decoder) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	d.resource.writeTo(rs.Resource().Attributes())
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	spans.EnsureCapacity(len(d.items))
	for i := range d.items {
		d.items[i].writeTo(spans.AppendEmpty())
	}
	return td
}

func (d *decoder) envelopeMember(key []byte) {
	switch string(key) {
	case "sdk":
		if s, ok := d.text(field(key)); ok {
			d.resource.set(runmodel.KeySDK, s)
		}
	case "runs", "spans":
		d.itemList(string(key))
	default:
		d.keep(&d.resource, string(key))
	}
}

func (d *decoder) itemList(list string) {
	if !d.is(jsonpull.Array, field(list), "must be an array") {
		return
	}
	d.Array(func(i int) {
		d.list, d.index = list, i
		d.item()
	})
	if d.Err() == nil {
		d.list = ""
	}
}

func (d *decoder) item() {
	if d.Kind() != jsonpull.Object {
		d.mismatch("", "must be an object")
		return
	}
	it := item{isRun: d.list == "runs"}
	it.fields.entries = make([]entry, 0, usualFields)
	r := itemReader{decoder: d, item: &it}
	d.Object(r.member)
	if d.Err() != nil {
		return
	}
	r.check()
	if it.isRun {
		d.runs++
	} else {
		d.spans++
	}
	if len(d.problems) > 0 {
		return
	}
	if index, again := d.indexes[it.identity()]; again {
		d.items[index].update(&it)
		return
	}
	d.indexes[it.identity()] = len(d.items)
	d.items = append(d.items, it)
}

// itemReader reads the members of one run or span.
type itemReader struct {
	*decoder
	item *item

	hasRunID, hasSpanID, hasName, hasStart bool // given, even if invalid
}

func (r *itemReader) member(key []byte) {
	it := r.item
	switch string(key) {
	case "run_id":
		r.hasRunID = r.id(field(key), "must be a UUID, not all zero", func(s string) bool { return parseUUID(s, &it.traceID) })
	case "name":
		var s string
		if s, r.hasName = r.given(field(key)); r.hasName {
			if it.name = s; s == "" {
				r.problem(field(key), "must not be empty", []byte(`""`))
			}
		}
	case "kind":
		r.checkedString(field(key), "must be of the form [a-z][a-z0-9_.-]{0,63}", isKind, runmodel.KeyKind)
	case "status":
		if s, ok := r.checked(field(key), "must be running, ok, error or cancelled", isStatus); ok {
			it.status = s
		}
	case "start_time":
		it.start, r.hasStart = r.time(field(key))
	case "end_time":
		it.end, _ = r.time(field(key))
	case "inputs":
		r.payload(runmodel.KeyInputs)
	case "outputs":
		r.payload(runmodel.KeyOutputs)
	case "error":
		r.failure()
	case "metadata":
		r.object(field(key), func(k []byte) { r.keep(&it.fields, string(k)) })
	case "attributes":
		r.object(field(key), func(k []byte) { r.spanAttribute(string(k)) })
	default:
		if it.isRun {
			r.runMember(key)
		} else {
			r.spanMember(key)
		}
	}
}

// runMember reads members that only runs have.
func (r *itemReader) runMember(key []byte) {
	switch string(key) {
	case "session_id":
		r.string(field(key), runmodel.KeySessionID)
	case "user_id":
		r.string(field(key), runmodel.KeyUserID)
	case "environment":
		r.string(field(key), runmodel.KeyEnvironment)
	case "release":
		r.string(field(key), runmodel.KeyServiceVersion)
	case "tags":
		r.tags()
	case "prompt":
		r.prompt()
	default:
		r.keep(&r.item.fields, string(key))
	}
}

// spanMember reads members that only spans have.
func (r *itemReader) spanMember(key []byte) {
	it := r.item
	switch string(key) {
	case "span_id":
		r.hasSpanID = r.id(field(key), spanIDForm, func(s string) bool { return parseSpanID(s, &it.spanID) })
	case "parent_span_id":
		r.id(field(key), spanIDForm, func(s string) bool { return parseSpanID(s, &it.parent) })
	case "model":
		r.string(field(key), runmodel.KeyRequestModel)
	case "provider":
		r.string(field(key), runmodel.KeyProviderName)
	case "usage":
		r.usage()
	case "cost_usd":
		r.cost()
	case "tool":
		r.tool()
	case "events":
		r.events()
	default:
		r.keep(&it.fields, string(key))
	}
}

// check validates the item as a whole after its members were read.
func (r *itemReader) check() {
	it := r.item
	required := func(given bool, name field) {
		if !given {
			r.problem(name, "is required", nil)
		}
	}
	required(r.hasRunID, "run_id")
	if !it.isRun {
		required(r.hasSpanID, "span_id")
	}
	required(r.hasName, "name")
	required(r.hasStart, "start_time")
	if it.end != 0 && it.start != 0 && it.end < it.start {
		r.problem("end_time", "must not lie before start_time", nil)
	}
	if it.traceID.IsEmpty() {
		return
	}
	root := runmodel.RootSpanID(it.traceID)
	switch {
	case it.isRun:
		it.spanID = root
	case it.spanID == root:
		r.problem("span_id", "is the id of the run's own span", nil)
	case !it.spanID.IsEmpty() && it.spanID == it.parent:
		r.problem("parent_span_id", "must not be the span itself", nil)
	}
}

func (r *itemReader) failure() {
	var f failure
	if !r.object("error", func(key []byte) {
		switch string(key) {
		case "type":
			f.kind, _ = r.text("error.type")
		case "message":
			f.message, _ = r.text("error.message")
		case "stack":
			f.stack, _ = r.text("error.stack")
		default:
			r.keep(&r.item.fields, "error."+string(key))
		}
	}) {
		return
	}
	r.item.failure = &f
}

func (r *itemReader) tags() {
	if !r.is(jsonpull.Array, "tags", "must be an array of strings") {
		return
	}
	tags := []any{}
	r.Array(func(i int) {
		if r.Kind() != jsonpull.String {
			r.mismatch(field(fmt.Sprintf("tags[%d]", i)), "must be a string")
			return
		}
		tags = append(tags, r.String())
	})
	r.item.fields.set(runmodel.KeyTags, tags)
}

func (r *itemReader) prompt() {
	r.object("prompt", func(key []byte) {
		switch string(key) {
		case "id":
			r.string("prompt.id", runmodel.KeyPromptID)
		case "name":
			r.string("prompt.name", runmodel.KeyPromptName)
		case "version":
			if r.Kind() != jsonpull.Number {
				r.string("prompt.version", runmodel.KeyPromptVersion)
				return
			}
			version := r.Text()
			if bytes.ContainsAny(version, ".eE") {
				r.problem("prompt.version", "must be a string or a whole number", version)
				return
			}
			r.item.fields.set(runmodel.KeyPromptVersion, string(version))
		case "alias":
			r.string("prompt.alias", runmodel.KeyPromptAlias)
		default:
			r.keep(&r.item.fields, "prompt."+string(key))
		}
	})
}

func (r *itemReader) usage() {
	r.object("usage", func(key []byte) {
		var attr string
		switch string(key) {
		case "input_tokens":
			attr = runmodel.KeyInputTokens
		case "output_tokens":
			attr = runmodel.KeyOutputTokens
		case "cache_read_input_tokens":
			attr = runmodel.KeyCacheReadTokens
		case "cache_write_input_tokens":
			attr = runmodel.KeyCacheWriteTokens
		case "reasoning_output_tokens":
			attr = runmodel.KeyReasoningTokens
		default:
			r.keep(&r.item.fields, "usage."+string(key))
			return
		}
		if r.null() {
			return
		}
		number := r.Kind() == jsonpull.Number
		raw := r.Text()
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if !number || err != nil || n < 0 || n > runmodel.MaxTokens {
			r.problem("usage."+field(key), fmt.Sprintf("must be a whole number, 0 to %d", int64(runmodel.MaxTokens)), raw)
			return
		}
		r.item.fields.set(attr, n)
	})
}

func (r *itemReader) cost() {
	if r.null() {
		return
	}
	number := r.Kind() == jsonpull.Number
	raw := r.Text()
	v, err := strconv.ParseFloat(string(raw), 64)
	if !number || err != nil || v < 0 || v > runmodel.MaxCostUSD {
		r.problem("cost_usd", fmt.Sprintf("must be a number, 0 to %.0f", runmodel.MaxCostUSD), raw)
		return
	}
	r.item.fields.set(runmodel.KeyCostUSD, math.Abs(v)) // -0 is 0
}

func (r *itemReader) tool() {
	r.object("tool", func(key []byte) {
		switch string(key) {
		case "name":
			r.string("tool.name", runmodel.KeyToolName)
		case "call_id":
			r.string("tool.call_id", runmodel.KeyToolCallID)
		case "arguments":
			r.payload(runmodel.KeyToolCallArguments)
		case "result":
			r.payload(runmodel.KeyToolCallResult)
		default:
			r.keep(&r.item.fields, "tool."+string(key))
		}
	})
}

func (r *itemReader) events() {
	if !r.is(jsonpull.Array, "events", "must be an array") {
		return
	}
	r.item.events = []event{}
	r.Array(func(i int) {
		at := func(name string) field { return field(fmt.Sprintf("events[%d]%s", i, name)) }
		if r.Kind() != jsonpull.Object {
			r.mismatch(at(""), "must be an object")
			return
		}
		var e event
		named := false
		r.Object(func(key []byte) {
			switch string(key) {
			case "name":
				e.name, named = r.given(at(".name"))
			case "time":
				e.time, _ = r.time(at(".time"))
			case "attributes":
				r.object(at(".attributes"), func(k []byte) { r.attribute(&e.attributes, string(k)) })
			default:
				r.keep(&e.attributes, string(key))
			}
		})
		if !named && r.Err() == nil {
			r.problem(at(".name"), "is required", nil)
		}
		r.item.events = append(r.item.events, e)
	})
}

// string reads a member that becomes a string attribute.
func (r *itemReader) string(name field, attr string) {
	if s, ok := r.text(name); ok {
		r.item.fields.set(attr, s)
	}
}

// checkedString is string for a member that must satisfy ok.
func (r *itemReader) checkedString(name field, message string, ok func(string) bool, attr string) {
	if s, valid := r.checked(name, message, ok); valid {
		r.item.fields.set(attr, s)
	}
}

// payload reads a member that may be any JSON value. It keeps a string's value, and the JSON text of other values
// with their numbers unchanged.
func (r *itemReader) payload(attr string) {
	if r.null() {
		return
	}
	r.item.fields.set(attr, r.jsonText())
}

// id reads an identifier and reports whether there was one, even if invalid.
func (r *itemReader) id(name field, message string, parse func(string) bool) bool {
	if r.null() {
		return false
	}
	r.checked(name, message, parse)
	return true
}

// field is the path of a member below the current item.
type field string

func (d *decoder) location(name field) string {
	at := "body"
	if d.list != "" {
		at += "." + d.list + "[" + strconv.Itoa(d.index) + "]"
	}
	if name != "" {
		at += "." + string(name)
	}
	return at
}

func (d *decoder) problem(name field, message string, raw []byte) {
	if d.Err() != nil {
		return
	}
	if len(d.problems) == maxProblems {
		d.more = true
		return
	}
	p := problem.Field{Location: d.location(name), Message: message}
	if len(raw) > 0 && len(raw) <= maxEcho {
		p.Value = json.RawMessage(bytes.Clone(raw)) // the body's memory is reused
	}
	d.problems = append(d.problems, p)
}

// mismatch reads a value of the wrong kind.
func (d *decoder) mismatch(name field, message string) {
	d.problem(name, message, d.Text())
}

// null reads a null, which means the same as absence.
func (d *decoder) null() bool {
	if d.Kind() != jsonpull.Null {
		return false
	}
	d.Text()
	return true
}

// is reports whether a value of this kind follows. It reads a null, or a value of another kind.
func (d *decoder) is(kind jsonpull.Kind, name field, message string) bool {
	if d.null() {
		return false
	}
	if d.Kind() != kind {
		d.mismatch(name, message)
		return false
	}
	return true
}

func (d *decoder) object(name field, member func(key []byte)) bool {
	if !d.is(jsonpull.Object, name, "must be an object") {
		return false
	}
	d.Object(member)
	return true
}

// text reads a string.
func (d *decoder) text(name field) (string, bool) {
	if !d.is(jsonpull.String, name, "must be a string") {
		return "", false
	}
	return d.String(), true
}

// given is text that reports whether there was a value, even one that is no string.
func (d *decoder) given(name field) (string, bool) {
	if d.null() {
		return "", false
	}
	s, ok := d.text(name)
	if !ok {
		s = "?" // reported already
	}
	return s, true
}

// checked reads a string that must satisfy ok.
func (d *decoder) checked(name field, message string, ok func(string) bool) (string, bool) {
	if !d.is(jsonpull.String, name, message) {
		return "", false
	}
	from := d.Offset()
	s := d.String()
	if d.Err() == nil && !ok(s) {
		d.problem(name, message, d.Since(from))
		return "", false
	}
	return s, true
}

// time reads a time and reports whether there was one, even if invalid.
func (d *decoder) time(name field) (pcommon.Timestamp, bool) {
	if d.null() {
		return 0, false
	}
	var at pcommon.Timestamp
	d.checked(name, "must be a time by RFC 3339 with at most nanoseconds, after 1970-01-01T00:00:00Z and before 2262", func(s string) bool {
		t, ok := parseTime(s)
		at = t
		return ok
	})
	return at, true
}

// keep reads any value into metadata: a string's value, or the JSON text of other values.
func (d *decoder) keep(into *attributes, key string) {
	if !d.null() {
		d.Weigh(memberWeight)
		into.set(runmodel.KeyMetadataPrefix+key, d.jsonText())
	}
}

func (d *decoder) jsonText() string {
	if d.Kind() == jsonpull.String {
		return d.String()
	}
	return d.CompactText()
}

// attribute reads a value of `attributes`. It skips those that only ingest may set.
func (d *decoder) attribute(into *attributes, key string) {
	if d.null() {
		return
	}
	d.Weigh(memberWeight)
	v := d.value()
	switch key {
	case runmodel.KeyProjectID, runmodel.KeyReceivedAt, runmodel.KeyRun:
	default:
		into.set(key, v)
	}
}

// spanAttribute reads an attribute of the item. Its number may have a limit.
func (r *itemReader) spanAttribute(key string) {
	number := r.Kind() == jsonpull.Number
	from := r.Offset()
	r.attribute(&r.item.attributes, key)
	bound := runmodel.Bound(key)
	if !number || math.IsInf(bound, 1) || r.Err() != nil {
		return
	}
	raw := r.Since(from)
	n, err := strconv.ParseFloat(string(raw), 64)
	if whole, wrong := strconv.ParseInt(string(raw), 10, 64); wrong == nil {
		n = runmodel.RoundUp(whole)
	}
	if n > bound || err != nil {
		r.problem("attributes."+field(key), fmt.Sprintf("must be %.0f at most", bound), raw)
	}
}

// value reads any value into a Go type that pdata accepts. A number that fits neither int64 nor float64 is kept as
// text.
func (d *decoder) value() any {
	switch d.Kind() {
	case jsonpull.String:
		return d.String()
	case jsonpull.Number:
		raw := string(d.Text())
		if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(raw, 64); err == nil && slices.ContainsFunc([]byte(raw), isFraction) {
			return f
		}
		return raw
	case jsonpull.Bool:
		return string(d.Text()) == "true"
	case jsonpull.Array:
		list := []any{}
		d.Array(func(int) { list = append(list, d.value()) })
		return list
	case jsonpull.Object:
		members := map[string]any{}
		d.Object(func(key []byte) {
			d.Weigh(memberWeight)
			members[string(key)] = d.value()
		})
		return members
	default:
		d.Text()
		return nil
	}
}

func isFraction(c byte) bool { return c == '.' || c == 'e' || c == 'E' }

const spanIDForm = "must be 16 lower-case hexadecimal digits, not all zero"

func parseSpanID(s string, id *pcommon.SpanID) bool {
	var parsed pcommon.SpanID
	if len(s) != 2*len(parsed) || strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	if _, err := hex.Decode(parsed[:], []byte(s)); err != nil || parsed.IsEmpty() {
		return false
	}
	*id = parsed
	return true
}

// parseUUID parses a UUID in its canonical form, in either case. It rejects the nil UUID, which means "no trace" in
// OTLP.
func parseUUID(s string, id *pcommon.TraceID) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	digits := make([]byte, 0, 32)
	for _, part := range [...]string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
		digits = append(digits, part...)
	}
	var parsed pcommon.TraceID
	if _, err := hex.Decode(parsed[:], digits); err != nil || parsed.IsEmpty() {
		return false
	}
	*id = parsed
	return true
}

// parseTime parses an RFC 3339 time. It is stricter than the standard library, which also accepts an hour of one
// digit, a comma before the fraction, offsets of a day and more, and digits beyond nanoseconds.
func parseTime(s string) (pcommon.Timestamp, bool) {
	const (
		seconds     = len("2006-01-02T15:04:05")
		nanoseconds = len(".999999999")
		offset      = len("+00:00")
	)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || s[seconds-6] != ':' {
		return 0, false
	}
	fraction := s[seconds : len(s)-1]
	if s[len(s)-1] != 'Z' {
		fraction = s[seconds : len(s)-offset]
		if s[len(s)-offset+1:] >= "24" {
			return 0, false
		}
	}
	if strings.HasPrefix(fraction, ",") || len(fraction) > nanoseconds {
		return 0, false
	}
	// In OTLP the first moment of 1970 means "no time".
	if year := t.UTC().Year(); year < 1970 || year > 2261 || t.UnixNano() == 0 {
		return 0, false
	}
	return pcommon.Timestamp(t.UnixNano()), true
}

func isKind(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isStatus(s string) bool {
	switch s {
	case runmodel.StatusRunning, runmodel.StatusOK, runmodel.StatusError, runmodel.StatusCancelled:
		return true
	}
	return false
}
