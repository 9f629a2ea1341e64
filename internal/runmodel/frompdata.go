package runmodel

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// PreviewLength is how many bytes of an input or output a list shows.
const PreviewLength = 120

// ErrNoProject says that a resource carries no valid KeyProjectID: its spans cannot be stored.
var ErrNoProject = errors.New("resource has no valid attribute " + KeyProjectID)

// RunHour is where contents of a run stand in the store. Hour is in seconds since 1970.
type RunHour struct {
	RunKey
	Hour int64
}

// KnownContents are the ids of contents of one run and hour, by the fast hash of their text.
type KnownContents map[uint64]uint64

// SharedKey is the place of a content that runs share in the store. Day is in days since 1970.
type SharedKey struct {
	ProjectID             uuid.UUID
	Day                   int64
	ContentID, SharedTail uint64
}

// Sharing is how far a content has come from one run to many.
type Sharing uint8

// A content is stored with the first run that has it, among the shared ones when a second run brings it, and from
// then on not again.
const (
	SharingUnseen Sharing = iota
	SharingSeen
	SharingStored
)

// Rows collects rows of the store out of pdata.
type Rows struct {
	Spans    []Span
	Contents []Content
	Shared   []SharedContent
	// Scores are those that spans carry.
	Scores []Score
	// Skipped counts spans without a trace id or a span id, which have no identity to be stored under.
	Skipped int

	// Stored returns the contents that the store has already, so that they are neither parsed nor written again. Nil:
	// none is known to be stored.
	Stored func(RunHour) KnownContents
	// Sharing reports whether runs share a content. Nil: none is known.
	Sharing func(SharedKey) Sharing

	contents map[RunHour]*runContents
	shared   map[SharedKey]Sharing
	// at is where the contents of the last span were put, which lie in here: spans of a run mostly stand together.
	at RunHour
	in *runContents
}

// runContents are the contents of one run and hour: those that the store has, and those that Rows adds.
type runContents struct {
	stored, added KnownContents
	history       history
	// names is which row of Rows.Contents takes the names of shared contents of a kind.
	names map[string]int
}

// Added lists the contents that are to be known as stored once r is.
func (r *Rows) Added() (contents iter.Seq2[RunHour, KnownContents], shared iter.Seq2[SharedKey, Sharing]) {
	return func(yield func(RunHour, KnownContents) bool) {
		for at, c := range r.contents {
			if len(c.added) > 0 && !yield(at, c.added) {
				return
			}
		}
	}, maps.All(r.shared)
}

// Add appends the spans of td. It returns ErrNoProject, and adds nothing of the resource, where a resource
// does not name its project.
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
	projectID, err := uuid.Parse(stringAt(attributes, KeyProjectID))
	if err != nil {
		return ErrNoProject
	}
	var version uint64
	if received, ok := attributes.Get(KeyReceivedAt); ok && received.Int() > 0 {
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
			r.Spans = append(r.Spans, Span{
				ProjectID: projectID, RunID: uuid.UUID(span.TraceID()), Version: version,
				ScopeName: scope.Name(), ScopeVersion: scope.Version(),
			})
			version++
			r.addSpan(&r.Spans[len(r.Spans)-1], span, &resource)
		}
	}
	return nil
}

// resourceFields is what a resource says for each of its spans.
type resourceFields struct {
	json                                         string
	service, environment, release, session, user string
}

func resourceOf(attributes pcommon.Map) resourceFields {
	kept := pcommon.NewMap()
	attributes.CopyTo(kept)
	kept.Remove(KeyProjectID)
	kept.Remove(KeyReceivedAt)
	return resourceFields{
		json:        mapJSON(kept),
		service:     stringAt(kept, KeyServiceName),
		environment: stringAt(kept, KeyEnvironment),
		release:     stringAt(kept, KeyServiceVersion),
		session:     stringAt(kept, KeySessionID),
		user:        stringAt(kept, KeyUserID),
	}
}

func stringAt(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

func (r *Rows) addSpan(s *Span, span ptrace.Span, resource *resourceFields) {
	s.SpanID = spanIDNumber(span.SpanID())
	s.ParentSpanID = spanIDNumber(span.ParentSpanID())
	s.Name = span.Name()
	s.setTimes(span)
	s.setStatus(span.Status())
	s.ResourceID = r.addContent(s, ContentResource, resource.json)
	r.setAttributes(s, span.Attributes())
	s.ServiceName = resource.service
	s.Environment = cmp.Or(s.Environment, resource.environment)
	s.Release = cmp.Or(s.Release, resource.release)
	s.SessionID = cmp.Or(s.SessionID, resource.session)
	s.UserID = cmp.Or(s.UserID, resource.user)
	s.setEvents(span.Events())
	s.setLinks(span.Links())
	s.setPreviews()
}

func spanIDNumber(id pcommon.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// MaxTimestamp is the end of 2261, the last whole year that nanoseconds in 64 bits can name.
const MaxTimestamp = 9_214_646_399_999_999_999

// Unstorable says why a span cannot be stored as it was sent, and is empty for one that can: it needs an identity, a place
// in time, and counts and costs within bounds.
func Unstorable(span ptrace.Span) string {
	switch {
	case span.TraceID().IsEmpty():
		return "the trace id is all zeros"
	case span.SpanID().IsEmpty():
		return "the span id is all zeros"
	case span.StartTimestamp() > MaxTimestamp:
		return "the start time lies after 2261"
	case span.EndTimestamp() > MaxTimestamp:
		return "the end time lies after 2261"
	}
	for key, value := range span.Attributes().All() {
		var number float64
		switch value.Type() {
		case pcommon.ValueTypeInt:
			number = RoundUp(value.Int())
		case pcommon.ValueTypeDouble:
			number = value.Double()
		default:
			continue
		}
		if MayExceed(number) && number > Bound(key) {
			return fmt.Sprintf("%s is %s, and may be %.0f at most", key, value.AsString(), Bound(key))
		}
	}
	return ""
}

// DropUnstorable removes the spans that cannot be stored, and says how many they were and where the first stood and why.
func DropUnstorable(td ptrace.Traces) (dropped int64, first string) {
	for i, rs := range td.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			k := -1
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				k++
				reason := Unstorable(span)
				if reason == "" {
					return false
				}
				if dropped == 0 {
					first = fmt.Sprintf("resource_spans[%d].scope_spans[%d].spans[%d]: %s", i, j, k, reason)
				}
				dropped++
				return true
			})
		}
	}
	if dropped == 0 {
		return 0, ""
	}
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool { return ss.Spans().Len() == 0 })
		return rs.ScopeSpans().Len() == 0
	})
	return dropped, first
}

// lastStorable bounds what toStartOfHour can tell apart: the last second of a 32-bit DateTime.
const lastStorable = math.MaxUint32 * uint64(time.Second)

// setTimes takes the span's times. A start that is absent or past what the store can sort by is replaced:
// by the end, or by the time of receipt.
func (s *Span) setTimes(span ptrace.Span) {
	start, end := uint64(span.StartTimestamp()), uint64(span.EndTimestamp())
	if end > lastStorable {
		end = 0
	}
	if start == 0 || start > lastStorable {
		start = cmp.Or(end, s.Version)
	}
	s.StartTime = unixNano(start)
	s.EndTime = unixNano(end)
}

func unixNano(ns uint64) time.Time {
	return time.Unix(0, int64(ns)).UTC()
}

func (s *Span) setStatus(status ptrace.Status) {
	switch status.Code() {
	case ptrace.StatusCodeOk:
		s.Status = StatusOK
	case ptrace.StatusCodeError:
		s.Status = StatusError
		s.ErrorMessage = status.Message()
	case ptrace.StatusCodeUnset:
	}
}

// stringFields are the attributes that have a column of their own.
var stringFields = map[string]func(*Span) *string{
	KeyKind:              func(s *Span) *string { return &s.Kind },
	KeyStatus:            func(s *Span) *string { return &s.Status },
	KeyInputs:            func(s *Span) *string { return &s.Inputs },
	KeyOutputs:           func(s *Span) *string { return &s.Outputs },
	KeyOperationName:     func(s *Span) *string { return &s.Operation },
	KeyProviderName:      func(s *Span) *string { return &s.Provider },
	KeyRequestModel:      func(s *Span) *string { return &s.RequestModel },
	KeyResponseModel:     func(s *Span) *string { return &s.ResponseModel },
	KeyToolName:          func(s *Span) *string { return &s.ToolName },
	KeyToolCallID:        func(s *Span) *string { return &s.ToolCallID },
	KeyAgentName:         func(s *Span) *string { return &s.AgentName },
	KeyConversationID:    func(s *Span) *string { return &s.ConversationID },
	KeySessionID:         func(s *Span) *string { return &s.SessionID },
	KeyUserID:            func(s *Span) *string { return &s.UserID },
	KeyEnvironment:       func(s *Span) *string { return &s.Environment },
	KeyServiceVersion:    func(s *Span) *string { return &s.Release },
	KeyPromptID:          func(s *Span) *string { return &s.PromptID },
	KeyPromptName:        func(s *Span) *string { return &s.PromptName },
	KeyPromptVersion:     func(s *Span) *string { return &s.PromptVersion },
	KeyDialect:           func(s *Span) *string { return &s.Dialect },
	KeyFramework:         func(s *Span) *string { return &s.Framework },
	KeyErrorMessage:      func(s *Span) *string { return &s.ErrorMessage },
	KeyErrorType:         func(s *Span) *string { return &s.ErrorType },
	KeyToolCallArguments: func(s *Span) *string { return &s.ToolArguments },
	KeyToolCallResult:    func(s *Span) *string { return &s.ToolResult },
	KeyCostSource:        func(s *Span) *string { return &s.CostSource },
	KeyPriceVersion:      func(s *Span) *string { return &s.PriceVersion },
}

var intFields = map[string]func(*Span) **int64{
	KeyInputTokens:      func(s *Span) **int64 { return &s.InputTokens },
	KeyOutputTokens:     func(s *Span) **int64 { return &s.OutputTokens },
	KeyCacheReadTokens:  func(s *Span) **int64 { return &s.CacheReadTokens },
	KeyCacheWriteTokens: func(s *Span) **int64 { return &s.CacheWriteTokens },
	KeyReasoningTokens:  func(s *Span) **int64 { return &s.ReasoningTokens },
}

// setAttributes puts each attribute into its column, and what has none, or has a value that does not fit
// it, into the maps.
func (r *Rows) setAttributes(s *Span, attributes pcommon.Map) {
	for key, value := range attributes.All() {
		if r.setField(s, key, value) {
			continue
		}
		if value.Type() == pcommon.ValueTypeStr {
			setKey(&s.Attributes, key, value.Str())
		} else {
			setKey(&s.AttributesJSON, key, valueJSON(value))
		}
	}
	s.takeUnread(KeyInputMessages, &s.Inputs)
	s.takeUnread(KeyOutputMessages, &s.Outputs)
	s.settleCost()
}

// takeUnread makes messages that are no list in valid JSON the span's payload, as they stand, where it has no other: SDKs
// cut attributes that are longer than their limit. So they are shown and found as what was said; the attribute stays, too.
func (s *Span) takeUnread(key string, payload *string) {
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

func (r *Rows) setField(s *Span, key string, value pcommon.Value) bool {
	if kind := value.Type(); kind == pcommon.ValueTypeInt || kind == pcommon.ValueTypeDouble {
		if field, ok := intFields[key]; ok {
			return setCount(field(s), value)
		}
	}
	if field, ok := stringFields[key]; ok {
		return setString(field(s), key, value)
	}
	switch key {
	case KeyRun:
		s.IsRun = value.Bool()
	case KeyFromLog:
		s.FromLog = value.Bool()
	case KeyUsageCounted:
		if value.Type() != pcommon.ValueTypeBool || value.Bool() {
			return false
		}
		s.Counting = CountNothing
	case KeyContinuation:
		if value.Type() != pcommon.ValueTypeBool || !value.Bool() {
			return false
		}
		s.Counting = CountUsage
	case KeyScores:
		return r.addScores(s, value)
	case KeyTags:
		return setStrings(&s.Tags, value)
	case KeyFinishReasons:
		return setStrings(&s.FinishReasons, value)
	case KeyCostUSD:
		return setNumber(&s.CostUSD, value)
	case KeyTimeToFirstChunk:
		return setNumber(&s.TimeToFirstToken, value)
	case KeyInputMessages:
		return r.setMessages(s, &s.InputMessageIDs, &s.InputPreview, value)
	case KeyOutputMessages:
		return r.setMessages(s, &s.OutputMessageIDs, &s.OutputPreview, value)
	case KeySystemInstructions:
		return r.setContent(s, &s.InstructionsID, ContentInstructions, value)
	case KeyToolDefinitions:
		return r.setContent(s, &s.ToolDefinitionsID, ContentToolDefinitions, value)
	default:
		name, ok := strings.CutPrefix(key, KeyMetadataPrefix)
		if !ok {
			return false
		}
		setKey(&s.Metadata, name, value.AsString())
	}
	return true
}

// setString takes a string; a tool's arguments and result may be any value, kept as its JSON text.
func setString(field *string, key string, value pcommon.Value) bool {
	switch {
	case value.Type() == pcommon.ValueTypeStr:
		*field = value.Str()
	case key == KeyToolCallArguments || key == KeyToolCallResult:
		*field = valueJSON(value)
	default:
		return false
	}
	return true
}

func setCount(field **int64, value pcommon.Value) bool {
	var n int64
	switch value.Type() {
	case pcommon.ValueTypeInt:
		n = value.Int()
	case pcommon.ValueTypeDouble:
		if n = int64(value.Double()); float64(n) != value.Double() {
			return false
		}
	default:
		return false
	}
	if n < 0 || n > MaxTokens {
		return false
	}
	*field = &n
	return true
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
	if f < 0 || f > MaxCostUSD || math.IsNaN(f) {
		return false
	}
	*field = &f
	return true
}

func setStrings(field *[]string, value pcommon.Value) bool {
	if value.Type() != pcommon.ValueTypeSlice {
		return false
	}
	list := make([]string, 0, value.Slice().Len())
	for _, element := range value.Slice().All() {
		list = append(list, element.AsString())
	}
	*field = list
	return true
}

// setMessages stores each message of a list once and keeps their ids in order. The preview is the text of
// a first question (one message that is not of the system) or of an answer (text without a tool call): what
// stands in between says little about the run, and is long.
func (r *Rows) setMessages(s *Span, ids *[]uint64, preview *string, value pcommon.Value) bool {
	text := strings.TrimSpace(rawText(value))
	contents := r.contentsOf(s)
	list, elements, ok := contents.history.begins(text)
	if !ok {
		text = valid(text)
		if elements, ok = splitElements(text); !ok {
			return false
		}
	}
	const mostForPreview = 2 // a system message and a question
	long := len(list)+len(elements) > mostForPreview
	if long {
		preview = nil
	}
	list = slices.Grow(list, len(elements))
	for _, element := range elements {
		id, ok := r.addMessage(s, element, preview)
		if !ok {
			return false
		}
		list = append(list, id)
	}
	*ids = list
	if long { // answers and first questions are not
		contents.history = history{text, list}
	}
	return true
}

// history is the longer list of messages that a model call of a run sent last. The next call of an agent sends the same again, and
// what came since: its text begins with that of the history, but for the bracket at the end.
type history struct {
	text string
	ids  []uint64
}

// begins cuts the part off a list of messages with which it goes on from the history. ok is false where it does not: there
// may be no history, the list may be another one, or not valid.
func (h history) begins(list string) (ids []uint64, elements []string, ok bool) {
	shared := len(h.text) - len("]")
	if shared < 0 || len(list) <= shared || list[:shared] != h.text[:shared] {
		return nil, nil, false
	}
	rest := list[shared:]
	if rest == "]" {
		return h.ids, nil, true
	}
	if rest[0] != ',' || rest[len(rest)-1] != ']' || !utf8.ValidString(rest) {
		return nil, nil, false
	}
	elements, ok = cutElements(rest[len(",") : len(rest)-len("]")])
	if !ok || len(elements) == 0 {
		return nil, nil, false
	}
	return slices.Clip(h.ids), elements, true
}

// addMessage adds a message unless it is there, and takes its text for the preview unless that is nil. What is
// there already and not wanted for a preview is not parsed.
func (r *Rows) addMessage(s *Span, text string, preview *string) (id uint64, ok bool) {
	id = r.addContent(s, ContentMessage, text)
	if id != 0 && preview != nil {
		if role, said, calls := messageText(text, PreviewLength); role != "system" && !calls {
			*preview = cut(said)
		}
	}
	return id, id != 0
}

func (r *Rows) setContent(s *Span, id *uint64, kind string, value pcommon.Value) bool {
	*id = r.addContent(s, kind, jsonText(value))
	return *id != 0
}

// jsonText is the JSON text of a value that an attribute carries either as a structure or as a string of JSON.
func jsonText(value pcommon.Value) string { return valid(rawText(value)) }

// rawText is jsonText that may not be valid UTF-8.
func rawText(value pcommon.Value) string {
	if value.Type() != pcommon.ValueTypeStr {
		return valueJSON(value)
	}
	return value.Str()
}

func valid(text string) string {
	if utf8.ValidString(text) { // which is many times faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// addContent adds a content unless it is there, and returns its id; 0 where the text is not valid JSON.
func (r *Rows) addContent(s *Span, kind, text string) uint64 {
	known := r.contentsOf(s)
	key := fingerprint(kind, text)
	if id, ok := known.added[key]; ok {
		return id
	}
	if id, ok := known.stored[key]; ok {
		return id
	}
	content := Content{ProjectID: s.ProjectID, Hour: hourOf(s), RunID: s.RunID, Kind: kind}
	if !r.fill(&content, text) {
		return 0
	}
	known.added[key] = content.ContentID
	if content.SharedTail == 0 {
		r.Contents = append(r.Contents, content)
	} else {
		r.nameContent(known, &content)
	}
	return content.ContentID
}

// nameContent adds the name of a shared content to the row of such names that the run and hour have in the batch.
func (r *Rows) nameContent(known *runContents, content *Content) {
	at, ok := known.names[content.Kind]
	if !ok {
		if known.names == nil {
			known.names = make(map[string]int)
		}
		at = len(r.Contents)
		known.names[content.Kind] = at
		r.Contents = append(r.Contents, Content{ProjectID: content.ProjectID, Hour: content.Hour, RunID: content.RunID, Kind: content.Kind})
	}
	row := &r.Contents[at]
	row.ContentID ^= content.ContentID
	row.SharedIDs = append(row.SharedIDs, content.ContentID)
	row.SharedTails = append(row.SharedTails, content.SharedTail)
}

func hourOf(s *Span) time.Time { return s.StartTime.Truncate(time.Hour) }

// contentsOf are the contents of the span's run and hour.
func (r *Rows) contentsOf(s *Span) *runContents {
	at := RunHour{RunKey{s.ProjectID, s.RunID}, hourOf(s).Unix()}
	if r.in != nil && r.at == at {
		return r.in
	}
	c, ok := r.contents[at]
	if !ok {
		c = &runContents{added: KnownContents{}}
		if r.Stored != nil {
			c.stored = r.Stored(at)
		}
		if r.contents == nil {
			r.contents = make(map[RunHour]*runContents)
		}
		r.contents[at] = c
	}
	r.at, r.in = at, c
	return c
}

// sharedFrom is the shortest content, in bytes, for which the name of a shared one costs less than itself.
const sharedFrom = 256

// fill gives a content its id, and its text or the name of the shared content that has it. false: the text is not
// valid JSON.
func (r *Rows) fill(c *Content, text string) bool {
	var tail uint64
	c.ContentID, tail = identify(c.Kind, text)
	if len(text) < sharedFrom {
		return c.split(text)
	}
	const day = 24 * time.Hour
	key := SharedKey{c.ProjectID, c.Hour.Unix() / int64(day/time.Second), c.ContentID, tail}
	sharing, ok := r.shared[key]
	if !ok && r.Sharing != nil {
		sharing = r.Sharing(key)
	}
	if sharing == SharingStored {
		c.SharedTail = tail
		return true
	}
	if !c.split(text) {
		return false
	}
	// What is not a message is the same in most runs from the start.
	if sharing == SharingUnseen && c.Kind == ContentMessage {
		sharing = SharingSeen
	} else {
		sharing = SharingStored
		r.Shared = append(r.Shared, SharedContent{
			ProjectID: c.ProjectID, Day: c.Hour.Truncate(day), ContentID: c.ContentID, SharedTail: tail,
			Frame: c.Frame, Texts: c.Texts,
		})
		c.SharedTail, c.Frame, c.Texts = tail, "", nil
	}
	if r.shared == nil {
		r.shared = make(map[SharedKey]Sharing)
	}
	r.shared[key] = sharing
	return true
}

func (c *Content) split(text string) bool {
	var err error
	c.Frame, c.Texts, err = SplitContent(c.Kind, text)
	return err == nil
}

// setEvents keeps the events as JSON and takes the error from an exception event, where the span is in error.
func (s *Span) setEvents(events ptrace.SpanEventSlice) {
	if events.Len() == 0 {
		return
	}
	list := make([]Event, 0, events.Len())
	for _, event := range events.All() {
		list = append(list, Event{Name: event.Name(), Time: event.Timestamp().AsTime(), Attributes: rawMap(event.Attributes())})
		if event.Name() == EventException && s.Status == StatusError {
			s.ErrorType = cmp.Or(s.ErrorType, stringAt(event.Attributes(), KeyExceptionType))
			s.ErrorMessage = cmp.Or(s.ErrorMessage, stringAt(event.Attributes(), KeyExceptionMessage))
			s.ErrorStack = cmp.Or(s.ErrorStack, stringAt(event.Attributes(), KeyExceptionStacktrace))
		}
	}
	s.Events = anyJSON(list)
}

func (s *Span) setLinks(links ptrace.SpanLinkSlice) {
	if links.Len() == 0 {
		return
	}
	list := make([]Link, 0, links.Len())
	for _, link := range links.All() {
		list = append(list, Link{
			RunID: RunID(link.TraceID()), SpanID: link.SpanID().String(), Attributes: rawMap(link.Attributes()),
		})
	}
	s.Links = anyJSON(list)
}

// setPreviews gives a span that may be its run's root something to show in a list.
func (s *Span) setPreviews() {
	if s.ParentSpanID != 0 {
		return
	}
	s.InputPreview = cmp.Or(s.InputPreview, cut(s.Inputs))
	s.OutputPreview = cmp.Or(s.OutputPreview, cut(s.Outputs))
}

// cut shortens text to PreviewLength bytes, on a rune boundary.
func cut(text string) string {
	if len(text) <= PreviewLength {
		return text
	}
	end := PreviewLength
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func valueJSON(value pcommon.Value) string { return anyJSON(written(value.AsRaw())) }

func mapJSON(m pcommon.Map) string { return anyJSON(rawMap(m)) }

// anyJSON is the JSON of a value that written has been through, which can all be written.
func anyJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func rawMap(m pcommon.Map) map[string]any {
	raw := m.AsRaw()
	written(raw)
	return raw
}

// written puts a text in the place of each number in a raw value that JSON cannot write: NaN and the infinities.
func written(raw any) any {
	switch v := raw.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []any:
		for i := range v {
			v[i] = written(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = written(value)
		}
	}
	return raw
}

// RestoreAttributes lists the attributes of a span as they were received, without the messages and other
// payloads that have members of their own in the API. What the span took over from its resource is among
// them.
func (s *Span) RestoreAttributes() map[string]any {
	attributes := make(map[string]any, len(s.Attributes)+len(s.AttributesJSON))
	for key, field := range stringFields {
		if value := *field(s); value != "" && !restoredElsewhere[key] {
			attributes[key] = value
		}
	}
	for key, field := range intFields {
		if value := *field(s); value != nil {
			attributes[key] = *value
		}
	}
	if s.TimeToFirstToken != nil {
		attributes[KeyTimeToFirstChunk] = *s.TimeToFirstToken
	}
	if s.CostUSD != nil && s.CostSource == CostSent {
		attributes[KeyCostUSD] = *s.CostUSD
	}
	switch s.Counting {
	case CountNothing:
		attributes[KeyUsageCounted] = false
	case CountUsage:
		attributes[KeyContinuation] = true
	}
	if len(s.FinishReasons) > 0 {
		attributes[KeyFinishReasons] = s.FinishReasons
	}
	for key, value := range s.Attributes {
		attributes[key] = value
	}
	for key, value := range s.AttributesJSON {
		if json.Valid([]byte(value)) {
			attributes[key] = json.RawMessage(value)
		} else { // as earlier versions stored what holds a number that JSON cannot write
			attributes[key] = value
		}
	}
	return attributes
}

// restoredElsewhere are fields that came as members of a native run, and payloads: the API shows both
// under names of their own.
var restoredElsewhere = map[string]bool{
	KeyKind: true, KeyStatus: true, KeyInputs: true, KeyOutputs: true, KeyPromptID: true,
	KeyToolCallArguments: true, KeyToolCallResult: true, KeyCostSource: true, KeyPriceVersion: true,
}
