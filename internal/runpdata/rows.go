// Package runpdata converts pdata to rows of the store.
package runpdata

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// ErrNoProject is returned for a resource without a valid KeyProjectID: its spans cannot be stored.
var ErrNoProject = errors.New("resource has no valid attribute " + runmodel.KeyProjectID)

// Rows collects the rows of spans.
type Rows struct {
	Spans    []runmodel.Span
	Contents []runmodel.Content
	Shared   []runmodel.SharedContent
	// Scores are the scores that came with spans.
	Scores []runmodel.Score
	// Skipped counts spans without a trace id or span id, which cannot be stored.
	Skipped int

	// Stored returns the contents that are in the store, so that they are neither parsed nor written again. It may be
	// nil.
	Stored func(RunHour) KnownContents
	// ShareState reports whether runs share a content. It may be nil.
	ShareState func(SharedKey) ShareState
	// AgentTexts may be shared with other Rows. If it is nil, Rows makes one of its own.
	AgentTexts *AgentTexts

	contents  map[RunHour]*runContents
	shared    map[SharedKey]ShareState
	lastParts lastParts
	// at and in cache the contents of the last span: spans of a run are mostly adjacent.
	at RunHour
	in *runContents
}

// Added returns the contents that count as stored once r is.
func (r *Rows) Added() (contents iter.Seq2[RunHour, KnownContents], shared iter.Seq2[SharedKey, ShareState]) {
	return func(yield func(RunHour, KnownContents) bool) {
		for at, c := range r.contents {
			if len(c.added) > 0 && !yield(at, c.added) {
				return
			}
		}
	}, maps.All(r.shared)
}

// Add appends the spans of td. If a resource does not name its project, it returns ErrNoProject and adds nothing of
// that resource.
func (r *Rows) Add(td ptrace.Traces) error {
	r.Spans = slices.Grow(r.Spans, td.SpanCount())
	for _, rs := range td.ResourceSpans().All() {
		if err := r.addResource(rs); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rows) addResource(rs ptrace.ResourceSpans) error {
	attributes := rs.Resource().Attributes()
	projectID, err := uuid.Parse(stringAt(attributes, runmodel.KeyProjectID))
	if err != nil {
		return ErrNoProject
	}
	var version uint64
	if received, ok := attributes.Get(runmodel.KeyReceivedAt); ok && received.Int() > 0 {
		version = uint64(received.Int())
	} else {
		version = uint64(time.Now().UnixNano())
	}
	resource := resourceOf(attributes)
	for _, ss := range rs.ScopeSpans().All() {
		scope := ss.Scope()
		for _, span := range ss.Spans().All() {
			if span.TraceID().IsEmpty() || span.SpanID().IsEmpty() {
				r.Skipped++
				continue
			}
			r.Spans = append(r.Spans, runmodel.Span{
				ProjectID: projectID, RunID: uuid.UUID(span.TraceID()), Version: version,
				ScopeName: scope.Name(), ScopeVersion: scope.Version(),
			})
			version++
			r.addSpan(&r.Spans[len(r.Spans)-1], span, &resource)
		}
	}
	return nil
}

// resourceFields are the fields that spans take from their resource.
type resourceFields struct {
	json                                         string
	service, environment, release, session, user string
}

func resourceOf(attributes pcommon.Map) resourceFields {
	kept := pcommon.NewMap()
	attributes.CopyTo(kept)
	kept.Remove(runmodel.KeyProjectID)
	kept.Remove(runmodel.KeyReceivedAt)
	return resourceFields{
		json:        mapJSON(kept),
		service:     stringAt(kept, runmodel.KeyServiceName),
		environment: stringAt(kept, runmodel.KeyEnvironment),
		release:     stringAt(kept, runmodel.KeyServiceVersion),
		session:     stringAt(kept, runmodel.KeySessionID),
		user:        stringAt(kept, runmodel.KeyUserID),
	}
}

func stringAt(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

func (r *Rows) addSpan(s *runmodel.Span, span ptrace.Span, resource *resourceFields) {
	s.SpanID = spanIDNumber(span.SpanID())
	s.ParentSpanID = spanIDNumber(span.ParentSpanID())
	s.Name = span.Name()
	setTimes(s, span)
	setStatus(s, span.Status())
	if share := runmodel.SampleShare(span.TraceState().AsRaw()); share < 1 {
		setKey(&s.Metadata, runmodel.MetadataSampleShare, runmodel.FormatSampleShare(share))
	}
	s.ResourceID = r.addContent(s, runmodel.ContentResource, resource.json)
	r.setAttributes(s, span.Attributes())
	s.ServiceName = resource.service
	s.Environment = cmp.Or(s.Environment, resource.environment)
	s.Release = cmp.Or(s.Release, resource.release)
	s.SessionID = cmp.Or(s.SessionID, resource.session)
	s.UserID = cmp.Or(s.UserID, resource.user)
	setEvents(s, span.Events())
	s.SettleError()
	keepErrorType(s, span.Attributes())
	setLinks(s, span.Links())
	setPreviews(s)
	r.setAgentParts(s, span.Attributes())
	answers := ""
	if messages, ok := span.Attributes().Get(runmodel.KeyOutputMessages); ok {
		answers = rawText(messages)
	}
	s.Summarize(answers)
}

func spanIDNumber(id pcommon.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// lastStorable is the latest time that toStartOfHour supports: the last second of a 32-bit DateTime.
const lastStorable = math.MaxUint32 * uint64(time.Second)

// setTimes sets the span's times. If the start is absent or too late for the store, it takes the end or the time of
// receipt. A span that ends before it starts takes no time. What is wrong with its times is in its metadata.
func setTimes(s *runmodel.Span, span ptrace.Span) {
	start, end := uint64(span.StartTimestamp()), uint64(span.EndTimestamp())
	if end > lastStorable {
		end = 0
	}
	if start == 0 || start > lastStorable {
		start = cmp.Or(end, s.Version)
	}
	if wrong := runmodel.WrongClock(start, end); wrong != "" {
		setKey(&s.Metadata, runmodel.MetadataClock, wrong)
		if wrong == runmodel.ClockEndBeforeStart {
			setKey(&s.Metadata, runmodel.MetadataEnd, unixNano(end).Format(time.RFC3339Nano))
			end = start
		}
	}
	s.StartTime = unixNano(start)
	s.EndTime = unixNano(end)
}

func unixNano(ns uint64) time.Time {
	return time.Unix(0, int64(ns)).UTC()
}

func setStatus(s *runmodel.Span, status ptrace.Status) {
	switch status.Code() {
	case ptrace.StatusCodeOk:
		s.Status = runmodel.StatusOK
	case ptrace.StatusCodeError:
		s.Status = runmodel.StatusError
		s.ErrorMessage = status.Message()
	case ptrace.StatusCodeUnset:
	}
}

// setAttributes sets the column of each attribute. Attributes without a column, or with a value that does not fit, go
// into the maps. Of a key that was sent several times it keeps a list of all values.
func (r *Rows) setAttributes(s *runmodel.Span, attributes pcommon.Map) {
	var repeated map[string][]string // the values of keys that were sent more than once, as JSON
	for key, value := range attributes.All() {
		if r.setField(s, key, value) {
			continue
		}
		first, again := s.AttributesJSON[key]
		if text, ok := s.Attributes[key]; ok {
			first, again = anyJSON(text), true
		}
		switch {
		case again:
			if repeated == nil {
				repeated = make(map[string][]string)
			}
			if repeated[key] == nil {
				repeated[key] = []string{first}
			}
			repeated[key] = append(repeated[key], valueJSON(value))
		case value.Type() == pcommon.ValueTypeStr:
			setKey(&s.Attributes, key, value.Str())
		default:
			setKey(&s.AttributesJSON, key, valueJSON(value))
		}
	}
	for key, values := range repeated {
		delete(s.Attributes, key)
		setKey(&s.AttributesJSON, key, "["+strings.Join(values, ",")+"]")
	}
	keepInvalidMessages(s, runmodel.KeyInputMessages, &s.Inputs)
	keepInvalidMessages(s, runmodel.KeyOutputMessages, &s.Outputs)
	settleCost(s)
}

// keepInvalidMessages makes messages that are not valid JSON the span's payload, if it has no other: SDKs truncate
// attributes at their limit. So such messages can be read and searched as text. The attribute is kept, too.
func keepInvalidMessages(s *runmodel.Span, key string, payload *string) {
	if *payload == "" {
		*payload = s.Attributes[key]
	}
}

func setKey(m *map[string]string, key, value string) {
	if *m == nil {
		*m = make(map[string]string)
	}
	(*m)[key] = value
}

func (r *Rows) setField(s *runmodel.Span, key string, value pcommon.Value) bool {
	if kind := value.Type(); kind == pcommon.ValueTypeInt || kind == pcommon.ValueTypeDouble {
		if field, ok := runmodel.CountFields[key]; ok {
			return setCount(field(s), value)
		}
	}
	if field, ok := runmodel.StringFields[key]; ok {
		return setString(field(s), key, value)
	}
	switch key {
	case runmodel.KeyRun:
		s.IsRun = value.Bool()
	case runmodel.KeyFromLog:
		s.FromLog = value.Bool()
	case runmodel.KeyUsageCounted:
		if value.Type() != pcommon.ValueTypeBool || value.Bool() {
			return false
		}
		s.Counting = runmodel.CountNothing
	case runmodel.KeyContinuation:
		if value.Type() != pcommon.ValueTypeBool || !value.Bool() {
			return false
		}
		s.Counting = runmodel.CountUsage
	case runmodel.KeyScores:
		return r.addScores(s, value)
	case runmodel.KeyResponseID:
		s.ResponseHash = uint32(xxhash.Sum64String(value.AsString()))
		return false // the id itself is an attribute as any other
	case runmodel.KeyTags:
		return setStrings(&s.Tags, value)
	case runmodel.KeyFinishReasons:
		return setStrings(&s.FinishReasons, value)
	case runmodel.KeyCostUSD:
		return setNumber(&s.CostUSD, value)
	case runmodel.KeyTimeToFirstChunk:
		return setNumber(&s.TimeToFirstToken, value)
	case runmodel.KeyInputMessages:
		ok := r.setMessages(s, &s.InputMessageIDs, &s.InputPreview, value)
		if ok && len(s.InputMessageIDs) > 0 {
			s.SystemMessageTextID = r.contentsOf(s).systemTexts[s.InputMessageIDs[0]].id
		}
		return ok
	case runmodel.KeyOutputMessages:
		return r.setMessages(s, &s.OutputMessageIDs, &s.OutputPreview, value)
	case runmodel.KeySystemInstructions:
		text := jsonText(value)
		s.InstructionsID = r.addContent(s, runmodel.ContentInstructions, text)
		s.InstructionsTextID = r.systemTextOf(s, s.InstructionsID, runmodel.ContentInstructions, text).id
		return s.InstructionsID != 0
	case runmodel.KeyToolDefinitions:
		s.ToolDefinitionsID = r.addContent(s, runmodel.ContentToolDefinitions, jsonText(value))
		return s.ToolDefinitionsID != 0
	default:
		name, ok := strings.CutPrefix(key, runmodel.KeyMetadataPrefix)
		if !ok {
			return false
		}
		setKey(&s.Metadata, name, value.AsString())
	}
	return true
}

// setString sets a string. A tool's arguments and result may be of any type and are kept as JSON.
func setString(field *string, key string, value pcommon.Value) bool {
	switch {
	case value.Type() == pcommon.ValueTypeStr:
		*field = value.Str()
	case key == runmodel.KeyToolCallArguments || key == runmodel.KeyToolCallResult:
		*field = valueJSON(value)
	default:
		return false
	}
	return true
}

func setCount(field **int64, value pcommon.Value) bool {
	n, ok := Count(value)
	if ok {
		*field = &n
	}
	return ok
}

// Count returns a count as the store takes it: a whole number between 0 and [runmodel.MaxTokens].
func Count(value pcommon.Value) (n int64, ok bool) {
	switch value.Type() {
	case pcommon.ValueTypeInt:
		n = value.Int()
	case pcommon.ValueTypeDouble:
		if n = int64(value.Double()); float64(n) != value.Double() {
			return 0, false
		}
	default:
		return 0, false
	}
	return n, n >= 0 && n <= runmodel.MaxTokens
}

func setNumber(field **float64, value pcommon.Value) bool {
	var f float64
	switch value.Type() {
	case pcommon.ValueTypeDouble:
		f = value.Double()
	case pcommon.ValueTypeInt:
		f = float64(value.Int())
	default:
		return false
	}
	if f < 0 || f > runmodel.MaxCostUSD || math.IsNaN(f) {
		return false
	}
	*field = &f
	return true
}

func setStrings(field *[]string, value pcommon.Value) bool {
	if value.Type() != pcommon.ValueTypeSlice || value.Slice().Len() == 0 {
		return false // a column cannot tell an empty list from none
	}
	list := make([]string, 0, value.Slice().Len())
	for _, element := range value.Slice().All() {
		list = append(list, element.AsString())
	}
	*field = list
	return true
}

// setEvents keeps the events as JSON. If the span failed, it takes the error from an exception event.
func setEvents(s *runmodel.Span, events ptrace.SpanEventSlice) {
	if events.Len() == 0 {
		return
	}
	list := make([]runmodel.Event, 0, events.Len())
	for _, event := range events.All() {
		list = append(list, runmodel.Event{Name: event.Name(), Time: event.Timestamp().AsTime(), Attributes: rawMap(event.Attributes())})
		if event.Name() == runmodel.EventException && s.Status == runmodel.StatusError {
			s.SetException(stringAt(event.Attributes(), runmodel.KeyExceptionType),
				stringAt(event.Attributes(), runmodel.KeyExceptionMessage), stringAt(event.Attributes(), runmodel.KeyExceptionStacktrace))
		}
	}
	s.Events = anyJSON(list)
}

// keepErrorType tells the received error type from one that was taken from an event or a message.
func keepErrorType(s *runmodel.Span, attributes pcommon.Map) {
	if s.ErrorType == "" {
		return
	}
	received, ok := attributes.Get(runmodel.KeyErrorType)
	switch added := s.Attributes[runmodel.KeyAdded]; {
	case !ok:
		setKey(&s.Attributes, runmodel.KeyAdded, strings.TrimPrefix(added+" "+runmodel.KeyErrorType, " "))
	case received.Type() == pcommon.ValueTypeStr && received.Str() != s.ErrorType && !slices.Contains(strings.Fields(added), runmodel.KeyErrorType):
		setKey(&s.Attributes, runmodel.KeyOriginalPrefix+runmodel.KeyErrorType, received.Str())
	}
}

func setLinks(s *runmodel.Span, links ptrace.SpanLinkSlice) {
	if links.Len() == 0 {
		return
	}
	list := make([]runmodel.Link, 0, links.Len())
	for _, link := range links.All() {
		list = append(list, runmodel.Link{
			RunID: runmodel.RunID(link.TraceID()), SpanID: link.SpanID().String(), Attributes: rawMap(link.Attributes()),
		})
	}
	s.Links = anyJSON(list)
}

// setPreviews sets the previews of a span that may be its run's root.
func setPreviews(s *runmodel.Span) {
	if s.ParentSpanID != 0 {
		return
	}
	s.InputPreview = cmp.Or(s.InputPreview, truncate(cmp.Or(lastSaid(s.Inputs, isQuestion), s.Inputs, s.ToolArguments)))
	output := truncate(cmp.Or(lastSaid(s.Outputs, isAnswer), s.Outputs, s.ToolResult))
	if s.OutputPreview == "" || s.OutputCalls && output != "" {
		s.OutputPreview, s.OutputCalls = output, false
	}
}

// truncate shortens text to PreviewLength bytes, on a rune boundary.
func truncate(text string) string { return utf8text.Bytes(text, runmodel.PreviewLength) }

// settleCost marks a cost that was not computed as sent by the client, and clears a source without a cost.
func settleCost(s *runmodel.Span) {
	switch {
	case s.CostUSD != nil && s.CostSource == runmodel.CostComputed:
	case s.CostUSD != nil:
		s.CostSource, s.PriceVersion = runmodel.CostSent, ""
	case s.CostSource != runmodel.CostWithdrawn:
		s.CostSource, s.PriceVersion = "", ""
	}
}
