package agentview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Limits of what is shown of a run's attributes, in bytes. Short metadata comes first: it tells runs apart, long metadata is payload.
const (
	maxAttribute     = 80
	maxMetadata      = 480
	maxMetadataCount = 16
)

// Attributes returns what the program says of a run, a line each, named as the filters of runs are: session_id: s1, metadata.worker: w1.
func Attributes(run *runmodel.Run) []string {
	var lines []string
	add := func(name, value string) {
		if value = oneLine(value); value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("session_id", run.SessionID)
	if run.ConversationID != run.SessionID {
		add("conversation_id", run.ConversationID)
	}
	add("user_id", run.UserID)
	add("release", run.Release)
	add("environment", run.Environment)
	add("tags", strings.Join(run.Tags, ", "))
	keys := slices.SortedFunc(maps.Keys(run.Metadata), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a)+len(run.Metadata[a]), len(b)+len(run.Metadata[b])), cmp.Compare(a, b))
	})
	size, shown := 0, 0
	for _, key := range keys {
		size += min(len(key), maxAttribute) + min(len(run.Metadata[key]), maxAttribute)
		if shown == maxMetadataCount || size > maxMetadata {
			break
		}
		shown++
	}
	for _, key := range slices.Sorted(slices.Values(keys[:shown])) {
		add("metadata."+oneLine(key), run.Metadata[key])
	}
	if more := len(keys) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("(%d more metadata left out)", more))
	}
	return lines
}

// oneLine writes a value in one line and says how many bytes it leaves out.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(visible(strings.ToValidUTF8(text, "\uFFFD")), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(text) <= maxAttribute {
		return text
	}
	at := utf8text.RuneStart(text, maxAttribute)
	return fmt.Sprintf("%s… (%d bytes left out)", text[:at], len(text)-at)
}

// fencedAttributes returns the attributes of the run between marks, empty if it has none.
func (v *view) fencedAttributes() string {
	text := strings.Join(Attributes(&v.outline.Run), "\n")
	if text == "" {
		return ""
	}
	s := step{span: &runmodel.Span{RunID: v.outline.Run.RunID}, parts: []part{{name: "attributes", segments: []segment{{text: text}}, text: text, head: len(text)}}}
	s.mark = markOf(v.options.Key, s.span, s.parts)
	return s.recorded(v.render.clean)
}
