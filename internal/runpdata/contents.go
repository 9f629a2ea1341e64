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

// RunHour is where contents of a run stand in the store. Hour is in seconds since 1970.
type RunHour struct {
	runmodel.RunKey
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

// ShareState is how far a content has come from one run to many.
type ShareState uint8

// A content is stored with the first run that has it, among the shared ones when a second run brings it, and from
// then on not again.
const (
	ShareUnseen ShareState = iota
	ShareSeenOnce
	ShareStored
)

// runContents are the contents of one run and hour: those that the store has, and those that Rows adds.
type runContents struct {
	stored, added KnownContents
	history       history
	// names is which row of Rows.Contents takes the names of shared contents of a kind.
	names map[string]int
}

// setMessages stores each message of a list once and keeps their ids in order. The preview is the text of
// a first question (one message that is not of the system) or of an answer (text without a tool call): what
// stands in between says little about the run, and is long.
func (r *Rows) setMessages(s *runmodel.Span, ids *[]uint64, preview *string, value pcommon.Value) bool {
	text := strings.TrimSpace(rawText(value))
	contents := r.contentsOf(s)
	list, elements, ok := contents.history.begins(text)
	if !ok {
		text = valid(text)
		if elements, ok = splitElements(text); !ok {
			return false
		}
	}
	const maxForPreview = 2 // a system message and a question
	long := len(list)+len(elements) > maxForPreview
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
func (r *Rows) addMessage(s *runmodel.Span, text string, preview *string) (id uint64, ok bool) {
	id = r.addContent(s, runmodel.ContentMessage, text)
	if id != 0 && preview != nil {
		if role, said, calls := runmodel.MessageBeginning(text, runmodel.PreviewLength); role != "system" && !calls {
			*preview = cut(said)
		}
	}
	return id, id != 0
}

func (r *Rows) setContent(s *runmodel.Span, id *uint64, kind string, value pcommon.Value) bool {
	*id = r.addContent(s, kind, jsonText(value))
	return *id != 0
}

// addContent adds a content unless it is there, and returns its id; 0 where the text is not valid JSON.
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
		r.nameContent(known, &content)
	}
	return content.ContentID
}

// nameContent adds the name of a shared content to the row of such names that the run and hour have in the batch.
func (r *Rows) nameContent(known *runContents, content *runmodel.Content) {
	at, ok := known.names[content.Kind]
	if !ok {
		if known.names == nil {
			known.names = make(map[string]int)
		}
		at = len(r.Contents)
		known.names[content.Kind] = at
		r.Contents = append(r.Contents, runmodel.Content{ProjectID: content.ProjectID, Hour: content.Hour, RunID: content.RunID, Kind: content.Kind})
	}
	row := &r.Contents[at]
	row.ContentID ^= content.ContentID
	row.SharedIDs = append(row.SharedIDs, content.ContentID)
	row.SharedTails = append(row.SharedTails, content.SharedTail)
}

func hourOf(s *runmodel.Span) time.Time { return s.StartTime.Truncate(time.Hour) }

// contentsOf are the contents of the span's run and hour.
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

// sharedFrom is the shortest content, in bytes, for which the name of a shared one costs less than itself.
const sharedFrom = 256

// fill gives a content its id, and its text or the name of the shared content that has it. false: the text is not
// valid JSON.
func (r *Rows) fill(c *runmodel.Content, text string) bool {
	var tail uint64
	c.ContentID, tail = runmodel.IdentifyContent(c.Kind, text)
	if len(text) < sharedFrom {
		return split(c, text)
	}
	const day = 24 * time.Hour
	key := SharedKey{c.ProjectID, c.Hour.Unix() / int64(day/time.Second), c.ContentID, tail}
	sharing, ok := r.shared[key]
	if !ok && r.ShareState != nil {
		sharing = r.ShareState(key)
	}
	if sharing == ShareStored {
		c.SharedTail = tail
		return true
	}
	if !split(c, text) {
		return false
	}
	// What is not a message is the same in most runs from the start.
	if sharing == ShareUnseen && c.Kind == runmodel.ContentMessage {
		sharing = ShareSeenOnce
	} else {
		sharing = ShareStored
		r.Shared = append(r.Shared, runmodel.SharedContent{
			ProjectID: c.ProjectID, Day: c.Hour.Truncate(day), ContentID: c.ContentID, SharedTail: tail,
			Frame: c.Frame, Texts: c.Texts,
		})
		c.SharedTail, c.Frame, c.Texts = tail, "", nil
	}
	if r.shared == nil {
		r.shared = make(map[SharedKey]ShareState)
	}
	r.shared[key] = sharing
	return true
}

func split(c *runmodel.Content, text string) bool {
	var err error
	c.Frame, c.Texts, err = runmodel.SplitContent(c.Kind, text)
	return err == nil
}

// fingerprint is a fast hash by which the contents of a run are known again.
func fingerprint(kind, text string) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(kind) // a hash never returns an error
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(text)
	return d.Sum64()
}
