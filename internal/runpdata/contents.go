package runpdata

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// RunHour identifies the part of the store that holds a run's contents. Hour is in seconds since 1970.
type RunHour struct {
	runmodel.RunKey
	Hour int64
}

// KnownContents are the ids of the contents of a run and hour, by their fingerprints.
type KnownContents map[uint64]uint64

// SharedKey identifies a shared content. Day is in days since 1970.
type SharedKey struct {
	ProjectID             uuid.UUID
	Day                   int64
	ContentID, SharedTail uint64
}

// ShareState is whether a content is shared between runs yet.
type ShareState uint8

// The first run that has a content stores it for itself. The second one stores it among the shared contents. From
// then on runs only refer to it.
const (
	ShareUnseen ShareState = iota
	ShareSeenOnce
	ShareStored
)

// runContents are the contents of a run and hour: those that are stored, and those that Rows adds.
type runContents struct {
	stored, added KnownContents
	history       history
	// systemTexts are the results of systemTextOf, by the ids of the contents.
	systemTexts map[uint64]systemText
	// references is the index in Rows.Contents of the row that refers to shared contents of a kind.
	references map[string]int
}

// setMessages stores each message of a list once and keeps their ids in order. It takes a preview of the last question
// of the user and of an answer: its tool calls, or else its text. Messages in between say little about the run, and are long.
func (r *Rows) setMessages(s *runmodel.Span, ids *[]uint64, preview *string, value pcommon.Value) bool {
	text := strings.TrimSpace(rawText(value))
	contents := r.contentsOf(s)
	list, elements, continued := contents.history.continuedBy(text)
	if !continued {
		var ok bool
		text = valid(text)
		if elements, ok = splitElements(text); !ok {
			return false
		}
	}
	const maxForPreview = 2 // a system message and a question
	long := len(list)+len(elements) > maxForPreview
	question := ""
	if long {
		if preview == &s.InputPreview {
			if question = lastQuestion(elements); question == "" && continued {
				question = contents.history.question
			}
			*preview = question
		}
		preview = nil
	}
	list = slices.Grow(list, len(elements))
	for i, element := range elements {
		id, ok := r.addMessage(s, element, preview)
		if !ok {
			return false
		}
		if i == 0 && !continued && ids == &s.InputMessageIDs {
			r.systemTextOf(s, id, runmodel.ContentMessage, element)
		}
		list = append(list, id)
	}
	*ids = list
	if long { // first questions and answers are short
		contents.history = history{text, list, question}
	}
	return true
}

// lastQuestion returns the preview of the last of a list's messages that is by the user, "" if none is.
func lastQuestion(elements []string) string {
	const roleWithin = 64 // the role comes first
	for _, element := range slices.Backward(elements) {
		if !strings.Contains(element[:min(len(element), roleWithin)], `"user"`) {
			continue
		}
		if role, said, calls := runmodel.MessageBeginning(element, runmodel.PreviewLength); role == "user" && said != "" && calls == "" {
			return truncate(said)
		}
	}
	return ""
}

// history is the longest list of messages that a model call of a run sent last. The agent's next call repeats it and
// appends to it, so the text of both lists is the same up to the closing bracket.
type history struct {
	text string
	ids  []uint64
	// question is the preview of the last message by the user.
	question string
}

// continuedBy returns the ids of the history and the elements that list appends to it. ok is false if there is no
// history, the list does not continue it, or it is not valid.
func (h history) continuedBy(list string) (ids []uint64, elements []string, ok bool) {
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

// addMessage adds a message unless it is known, and sets the preview unless that is nil. It does not parse a message
// that is known and needs no preview.
func (r *Rows) addMessage(s *runmodel.Span, text string, preview *string) (id uint64, ok bool) {
	id = r.addContent(s, runmodel.ContentMessage, text)
	if id != 0 && preview != nil {
		role, said, calls := runmodel.MessageBeginning(text, runmodel.PreviewLength)
		isAnswer := role == "assistant" && preview == &s.InputPreview
		switch {
		case role == "system" || isAnswer:
		case calls == "":
			*preview = truncate(said)
			s.OutputCalls = s.OutputCalls && preview == &s.InputPreview
		case preview == &s.OutputPreview:
			*preview, s.OutputCalls = truncate(calls), true
		}
	}
	return id, id != 0
}

// systemText is the text by the system of a content, empty for none.
type systemText struct {
	id   uint64
	text string
}

// systemTextOf returns the text by the system of a content. Calls of a run repeat their instructions and first message, so it parses each
// once.
func (r *Rows) systemTextOf(s *runmodel.Span, content uint64, kind, text string) systemText {
	if content == 0 {
		return systemText{}
	}
	contents := r.contentsOf(s)
	known, ok := contents.systemTexts[content]
	if !ok {
		if contents.systemTexts == nil {
			contents.systemTexts = make(map[uint64]systemText, 1)
		}
		known.text = runmodel.ContentSystemText(kind, text)
		known.id = runmodel.SystemTextID(known.text)
		contents.systemTexts[content] = known
	}
	return known
}

// addContent adds a content unless it is known, and returns its id. It returns 0 if the text is not valid JSON.
func (r *Rows) addContent(s *runmodel.Span, kind, text string) uint64 {
	known := r.contentsOf(s)
	key := fingerprint(kind, text)
	if id, ok := known.added[key]; ok {
		return id
	}
	if id, ok := known.stored[key]; ok {
		return id
	}
	content := runmodel.Content{ProjectID: s.ProjectID, Hour: hourOf(s), RunID: s.RunID, Kind: kind}
	if !r.fill(&content, text) {
		return 0
	}
	known.added[key] = content.ContentID
	if content.SharedTail == 0 {
		r.Contents = append(r.Contents, content)
	} else {
		r.refer(known, &content)
	}
	return content.ContentID
}

// refer adds a shared content to the row of references of its run, hour and kind.
func (r *Rows) refer(known *runContents, content *runmodel.Content) {
	at, ok := known.references[content.Kind]
	if !ok {
		if known.references == nil {
			known.references = make(map[string]int)
		}
		at = len(r.Contents)
		known.references[content.Kind] = at
		r.Contents = append(r.Contents, runmodel.Content{ProjectID: content.ProjectID, Hour: content.Hour, RunID: content.RunID, Kind: content.Kind})
	}
	row := &r.Contents[at]
	row.ContentID ^= content.ContentID
	row.SharedIDs = append(row.SharedIDs, content.ContentID)
	row.SharedTails = append(row.SharedTails, content.SharedTail)
}

func hourOf(s *runmodel.Span) time.Time { return s.StartTime.Truncate(time.Hour) }

// contentsOf returns the contents of the span's run and hour.
func (r *Rows) contentsOf(s *runmodel.Span) *runContents {
	at := RunHour{runmodel.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}, hourOf(s).Unix()}
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

// sharedFrom is the size in bytes from which a content is shared. Below, a reference costs more than the content.
const sharedFrom = 256

// fill sets the content's id, and either its text or its reference to a shared content. It returns false if the text
// is not valid JSON.
func (r *Rows) fill(c *runmodel.Content, text string) bool {
	var tail uint64
	c.ContentID, tail = runmodel.IdentifyContent(c.Kind, text)
	if len(text) < sharedFrom {
		return split(c, text)
	}
	const day = 24 * time.Hour
	key := SharedKey{c.ProjectID, c.Hour.Unix() / int64(day/time.Second), c.ContentID, tail}
	state, ok := r.shared[key]
	if !ok && r.ShareState != nil {
		state = r.ShareState(key)
	}
	if state == ShareStored {
		c.SharedTail = tail
		return true
	}
	if !split(c, text) {
		return false
	}
	// Instructions, tools and resources are the same in most runs, so they are shared at once.
	if state == ShareUnseen && c.Kind == runmodel.ContentMessage {
		state = ShareSeenOnce
	} else {
		state = ShareStored
		r.Shared = append(r.Shared, runmodel.SharedContent{
			ProjectID: c.ProjectID, Day: c.Hour.Truncate(day), ContentID: c.ContentID, SharedTail: tail,
			Frame: c.Frame, Texts: c.Texts,
		})
		c.SharedTail, c.Frame, c.Texts = tail, "", nil
	}
	if r.shared == nil {
		r.shared = make(map[SharedKey]ShareState)
	}
	r.shared[key] = state
	return true
}

func split(c *runmodel.Content, text string) bool {
	var err error
	c.Frame, c.Texts, err = runmodel.SplitContent(c.Kind, text)
	return err == nil
}

// fingerprint is a fast hash to recognize the contents of a run.
func fingerprint(kind, text string) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(kind) // a hash never returns an error
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(text)
	return d.Sum64()
}
