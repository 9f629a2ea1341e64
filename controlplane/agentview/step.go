package agentview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// step is a span of the run and how much of it is shown.
type step struct {
	span  *runmodel.Span
	level int // 0: not shown
	parts []part
	mark  string
}

// part is one recorded text of a step.
type part struct {
	name string
	text string
	// weight is the share of a level's tokens that the part gets, and from which level on.
	weight float64
	from   int
	// What is shown: so many bytes at the beginning and at the end.
	head, tail int
	// more tells that the store has more of the text than was read.
	more bool
}

func stepsOf(outline runs.Outline) []step {
	steps := make([]step, len(outline.Spans))
	for i := range outline.Spans {
		steps[i].span = &outline.Spans[i]
	}
	return steps
}

// levels are the tokens that a step gets, one after the other. The first lets 64 tokens of a text be seen, wherever
// the cut falls.
var levels = []int{72, 144, 288, 576, 1152, 2304, 1 << 20}

// say gives a step its texts. What a step did comes before what it was given.
func (s *step) say(span *runs.Span, key []byte) {
	say := func(name, text string, more bool, weight float64, from int) {
		text = visible(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
		if text == "" || slices.ContainsFunc(s.parts, func(p part) bool { return p.text == text }) {
			return
		}
		more = more || len(text) > maxPart
		text = text[:boundary(text, min(len(text), maxPart))]
		s.parts = append(s.parts, part{name: name, text: text, weight: weight, from: from, more: more})
	}
	add := func(name, text string, weight float64, from int) {
		text, more := excerpt(text)
		say(name, text, more, weight, from)
	}
	messages := func(name string, list []json.RawMessage, weight float64, from int) {
		text, more := messagesText(list)
		say(name, text, more, weight, from)
	}
	if span.ErrorType != "" || span.ErrorMessage != "" {
		message, more := excerpt(span.ErrorMessage)
		say("error", strings.Trim(span.ErrorType+": "+message, ": "), more, 1, 0)
	}
	switch {
	case len(span.OutputMessages) > 0:
		messages("output", span.OutputMessages, 1, 0)
	case span.Outputs != nil && span.ToolResult == "":
		add("output", *span.Outputs, 1, 0)
	}
	add("arguments", span.ToolArguments, .5, 0)
	add("result", span.ToolResult, .5, 0)
	if len(span.InputMessages) > 0 {
		user, others := runmodel.SinceAssistant(span.InputMessages)
		messages("user", user, 1, 0)
		messages("input", others, .5, 1)
	} else if span.Inputs != nil {
		add("input", *span.Inputs, .5, 1)
	}
	add("stack", span.ErrorStack, .25, 1)
	s.mark = markOf(key, s.span, s.parts)
}

// excerpt cuts what was read of one text to what is shown; more tells that there is more of it in the store.
func excerpt(text string) (shown string, more bool) {
	if len(text) <= runs.MaxExcerpt {
		return text, false
	}
	return text[:boundary(text, runs.MaxExcerpt)], true
}

// excerptOf cuts what was read of the texts of a message.
func excerptOf(raw json.RawMessage) (shown json.RawMessage, more bool) {
	if len(raw) <= runs.MaxExcerpt {
		return raw, false
	}
	frame, texts, err := runmodel.SplitContent(runmodel.ContentMessage, string(raw))
	if err != nil {
		return raw, false // of another shape
	}
	for i := range texts {
		var cut bool
		texts[i], cut = excerpt(texts[i])
		more = more || cut
	}
	if !more {
		return raw, false
	}
	if shown, err = runmodel.JoinContent(runmodel.ContentMessage, frame, texts); err != nil {
		return raw, true
	}
	return shown, true
}

// messagesText writes messages of the GenAI conventions as text: what is said, and tool calls as name(arguments). more tells
// that the store has more of one of them.
func messagesText(messages []json.RawMessage) (text string, more bool) {
	var said []string
	for _, raw := range messages {
		raw, cut := excerptOf(raw)
		more = more || cut
		message, ok := runmodel.ReadMessage(raw)
		if !ok {
			said = append(said, runmodel.PlainJSON(raw)) // of another shape: as it is
			continue
		}
		for i := range message.Parts {
			said = append(said, message.Parts[i].Text())
		}
	}
	return strings.Join(said, "\n"), more
}

// raise shows more of the step's texts, never less.
func (s *step) raise(level int, tokens *counter) {
	s.level = level
	s.parts = slices.Clone(s.parts) // an operation that does not fit is undone
	for i := range s.parts {
		p := &s.parts[i]
		if level <= p.from {
			continue
		}
		n := int(float64(levels[level-1]) * p.weight)
		if s.alone() {
			n = levels[level-1]
		}
		if n >= len(p.text) {
			p.head, p.tail = len(p.text), 0
			continue
		}
		// Beginning and end, because reasons stand at one and conclusions at the other; what was not read to its end
		// has none to show.
		headShare := 2. / 3
		if p.more {
			headShare = 1
		}
		head := int(float64(n) * headShare)
		p.head = max(p.head, tokens.head(p.text, head))
		if n > head {
			p.tail = max(p.tail, tokens.tail(p.text, n-head))
		}
		if p.head+p.tail >= len(p.text) {
			p.head, p.tail = len(p.text), 0
		}
	}
}

// alone tells that the step has no more than one text at the first level.
func (s *step) alone() bool {
	n := 0
	for i := range s.parts {
		if s.parts[i].from == 0 {
			n++
		}
	}
	return n <= 1
}

// isCut reports whether the step has text that is not shown.
func (s *step) isCut() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.more || p.head+p.tail < len(p.text) })
}

// recorded is what is shown of the step's texts, between marks. clean makes a text fit the format.
func (s *step) recorded(clean func(string) string) string {
	var b strings.Builder
	for _, p := range s.parts {
		if p.head+p.tail == 0 {
			continue
		}
		b.WriteString("<" + s.mark + " " + p.name + ">")
		b.WriteString(clean(p.text[:p.head]))
		switch left := len(p.text) - p.head - p.tail; {
		case p.more:
			fmt.Fprintf(&b, "<%s %d+ bytes left out>", s.mark, max(left, 1))
		case left > 0:
			fmt.Fprintf(&b, "<%s %d bytes left out>", s.mark, left)
		}
		b.WriteString(clean(p.text[len(p.text)-p.tail:]))
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "</" + s.mark + ">"
}
