package agentview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// step is a span of the run, and how much of it is shown.
type step struct {
	span  *runmodel.Span
	level int // 0: not shown
	parts []part
	mark  string
	// hasTexts reports that the texts were read, of which there may be none.
	hasTexts bool
}

// part is one recorded text of a step.
type part struct {
	name string
	text string
	// weight is the share of a level's tokens that the part gets, from the level from on.
	weight float64
	from   int
	// head and tail are how many bytes are shown at the beginning and at the end.
	head, tail int
	// more reports that the store has more of the text than was read.
	more bool
}

func stepsOf(outline runs.Outline) []step {
	steps := make([]step, len(outline.Spans))
	for i := range outline.Spans {
		steps[i].span = &outline.Spans[i]
	}
	return steps
}

// levels are the tokens that a step gets, one level after the other. The first shows 64 tokens of a text wherever it is cut.
var levels = []int{72, 144, 288, 576, 1152, 2304, 1 << 20}

// setTexts gives a step its texts. Those of its actions come before those of its inputs.
func (s *step) setTexts(span *runs.Span, key []byte) {
	add := func(name, text string, more bool, weight float64, from int) {
		text = visible(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
		if text == "" || slices.ContainsFunc(s.parts, func(p part) bool { return p.text == text }) {
			return
		}
		more = more || len(text) > maxPart
		text = text[:runeStartBefore(text, min(len(text), maxPart))]
		s.parts = append(s.parts, part{name: name, text: text, weight: weight, from: from, more: more})
	}
	addExcerpt := func(name, text string, weight float64, from int) {
		text, more := excerpt(text)
		add(name, text, more, weight, from)
	}
	messages := func(name string, list []json.RawMessage, weight float64, from int) {
		text, more := messagesText(list)
		add(name, text, more, weight, from)
	}
	if span.ErrorType != "" || span.ErrorMessage != "" {
		message, more := excerpt(span.ErrorMessage)
		add("error", strings.Trim(span.ErrorType+": "+message, ": "), more, 1, 0)
	}
	switch {
	case len(span.OutputMessages) > 0:
		messages("output", span.OutputMessages, 1, 0)
	case span.Outputs != nil && span.ToolResult == "":
		addExcerpt("output", *span.Outputs, 1, 0)
	}
	addExcerpt("arguments", span.ToolArguments, .5, 0)
	addExcerpt("result", span.ToolResult, .5, 0)
	if len(span.InputMessages) > 0 {
		user, others := runmodel.SinceAssistant(span.InputMessages)
		messages("user", user, 1, 0)
		messages("input", others, .5, 1)
	} else if span.Inputs != nil {
		addExcerpt("input", *span.Inputs, .5, 1)
	}
	addExcerpt("stack", span.ErrorStack, .25, 1)
	s.mark = markOf(key, s.span, s.parts)
}

// excerpt cuts a text that was read to what is shown. more reports that the store has more of it.
func excerpt(text string) (shown string, more bool) {
	if len(text) <= runs.MaxExcerpt {
		return text, false
	}
	return text[:runeStartBefore(text, runs.MaxExcerpt)], true
}

// excerptOf cuts the texts of a message that was read.
func excerptOf(raw json.RawMessage) (shown json.RawMessage, more bool) {
	if len(raw) <= runs.MaxExcerpt {
		return raw, false
	}
	frame, texts, err := runmodel.SplitContent(runmodel.ContentMessage, string(raw))
	if err != nil {
		return raw, false // not a message of the conventions
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

// messagesText returns messages of the GenAI conventions as text, with tool calls as name(arguments). more reports that the store has
// more of one of them.
func messagesText(messages []json.RawMessage) (text string, more bool) {
	var lines []string
	for _, raw := range messages {
		raw, cut := excerptOf(raw)
		more = more || cut
		message, ok := runmodel.ReadMessage(raw)
		if !ok {
			lines = append(lines, runmodel.PlainJSON(raw)) // not a message of the conventions
			continue
		}
		for i := range message.Parts {
			lines = append(lines, message.Parts[i].Text())
		}
	}
	return strings.Join(lines, "\n"), more
}

// raise shows more of the step's texts, never less.
func (s *step) raise(level int, tokens *counter) {
	s.level = level
	s.parts = slices.Clone(s.parts) // so that an operation that does not fit can be undone
	for i := range s.parts {
		p := &s.parts[i]
		if level <= p.from {
			continue
		}
		n := int(float64(levels[level-1]) * p.weight)
		if s.hasOneText() {
			n = levels[level-1]
		}
		if n >= len(p.text) {
			p.head, p.tail = len(p.text), 0
			continue
		}
		// Show the beginning and the end, because reasons are at one and conclusions at the other. A text that was not read to its end
		// has no end to show.
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

// hasOneText reports whether the step has at most one text at the first level.
func (s *step) hasOneText() bool {
	n := 0
	for i := range s.parts {
		if s.parts[i].from == 0 {
			n++
		}
	}
	return n <= 1
}

// bytesOfToken is about how many bytes of text a token takes.
const bytesOfToken = 4

// estimate returns about how many tokens the texts of the first level have.
func (s *step) estimate() float64 {
	n := 0
	for i := range s.parts {
		if s.parts[i].from == 0 {
			n += len(s.parts[i].text)
		}
	}
	return float64(n) / bytesOfToken
}

// firstWord returns the first word of the step's first text in lower case, with digits as 0.
func (s *step) firstWord() string {
	if len(s.parts) == 0 {
		return ""
	}
	word, _, _ := strings.Cut(s.parts[0].text[:min(len(s.parts[0].text), maxWord)], " ")
	word, _, _ = strings.Cut(word, "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return unicode.ToLower(r)
	}, word)
}

// maxWord limits a first word, in bytes.
const maxWord = 40

// isCut reports whether the step has text that is not shown.
func (s *step) isCut() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.more || p.head+p.tail < len(p.text) })
}

// recorded returns what is shown of the step's texts, between marks. clean makes a text fit the format.
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
