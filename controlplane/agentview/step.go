package agentview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// step is a span of the run, and how much of it is shown.
type step struct {
	span  *runmodel.Span
	level int // 0: not shown
	parts []part
	mark  string
	// acts reports that a model acts in the step.
	acts bool
	// writes reports that its model calls a tool that changes something.
	writes bool
	// earlier is how many steps of its kind came before.
	earlier int
	// hasTexts reports that the texts were read, of which there may be none.
	hasTexts bool
}

// segment is a text of a part: a message of it, or all of it.
type segment struct {
	text string
	// more reports that the store has more of the text than was read.
	more bool
	// call is what of the text the arguments of a tool call are, and tool the name of the tool.
	call, tool string
}

// part is one recorded text of a step.
type part struct {
	name string
	// segments are the text as it was recorded, text is what of it can be shown, with notes between marks.
	segments []segment
	text     string
	// notes are where notes are in text, from and to which byte.
	notes [][2]int
	// repeats reports that text is one note: where else the step's text is shown.
	repeats bool
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

// setTexts gives a step its texts as they were recorded. Those of its actions come before those of its inputs.
func (s *step) setTexts(span *runs.Span, key []byte) {
	add := func(name string, segments []segment, weight float64, from int) {
		p := part{name: name, weight: weight, from: from}
		left := maxPart
		for _, g := range segments {
			g.text = visible(strings.TrimSpace(strings.ToValidUTF8(g.text, "\uFFFD")))
			if len(g.text) > left {
				g.text, g.more = g.text[:utf8text.RuneStart(g.text, left)], true
			}
			if left -= len(g.text); g.text != "" {
				p.segments = append(p.segments, g)
			}
			p.more = p.more || g.more
		}
		whole := p.whole()
		if whole != "" && !slices.ContainsFunc(s.parts, func(p part) bool { return p.whole() == whole }) {
			s.parts = append(s.parts, p)
		}
	}
	addExcerpt := func(name, text string, weight float64, from int) {
		text, more := excerpt(text)
		add(name, []segment{{text: text, more: more}}, weight, from)
	}
	if span.ErrorType != "" || span.ErrorMessage != "" {
		message, more := excerpt(span.ErrorMessage)
		add(partError, []segment{{text: strings.Trim(span.ErrorType+": "+message, ": "), more: more}}, 1, 0)
	}
	switch {
	case len(span.OutputMessages) > 0:
		said := messageSegments(span.OutputMessages)
		s.writes = slices.ContainsFunc(said, func(g segment) bool { return writes(g.tool) })
		add(partOutput, said, 1, 0)
	case span.Outputs != nil && span.ToolResult == "":
		addExcerpt(partOutput, *span.Outputs, 1, 0)
	}
	addExcerpt("arguments", span.ToolArguments, .5, 0)
	addExcerpt(partResult, span.ToolResult, .5, 0)
	if len(span.InputMessages) > 0 {
		user, others := runmodel.SinceAssistant(span.InputMessages)
		add("user", messageSegments(user), 1, 0)
		add("input", messageSegments(others), .5, 1)
	} else if span.Inputs != nil {
		addExcerpt("input", *span.Inputs, .5, 1)
	}
	addExcerpt(partStack, span.ErrorStack, .25, 1)
	s.mark = markOf(key, s.span, s.parts)
}

// Parts that end with a step. The others are what it was given.
const (
	partError  = "error"
	partOutput = "output"
	partResult = "result"
	partStack  = "stack"
)

// whole is the text of a part as it was recorded.
func (p *part) whole() string {
	texts := make([]string, len(p.segments))
	for i, g := range p.segments {
		texts[i] = g.text
	}
	return strings.Join(texts, "\n")
}

// excerpt cuts a text that was read to what is shown. more reports that the store has more of it.
func excerpt(text string) (shown string, more bool) {
	if len(text) <= runs.MaxExcerpt {
		return text, false
	}
	return text[:utf8text.RuneStart(text, runs.MaxExcerpt)], true
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

// messageSegments returns messages of the GenAI conventions as text, with tool calls as name(arguments).
func messageSegments(messages []json.RawMessage) (segments []segment) {
	for _, raw := range messages {
		raw, cut := excerptOf(raw)
		message, ok := runmodel.ReadMessage(raw)
		if !ok {
			segments = append(segments, segment{text: runmodel.PlainJSON(raw), more: cut}) // not a message of the conventions
			continue
		}
		for i := range message.Parts {
			g := segment{text: message.Parts[i].Text(), more: cut}
			if message.Parts[i].IsCall() {
				g.call, g.tool = runmodel.PlainJSON(message.Parts[i].Arguments), message.Parts[i].Name
			}
			segments = append(segments, g)
		}
	}
	return segments
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
		if n >= len(p.text) || p.repeats {
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
		p.head = max(p.head, p.after(tokens.head(p.text, head)))
		if n > head {
			p.tail = max(p.tail, len(p.text)-p.before(len(p.text)-tokens.tail(p.text, n-head)))
		}
		if p.head+p.tail >= len(p.text) {
			p.head, p.tail = len(p.text), 0
		}
	}
}

// after moves a place within a note behind it.
func (p *part) after(at int) int {
	for _, note := range p.notes {
		if note[0] < at && at < note[1] {
			return note[1]
		}
	}
	return at
}

// before moves a place within a note before it.
func (p *part) before(at int) int {
	for _, note := range p.notes {
		if note[0] < at && at < note[1] {
			return note[0]
		}
	}
	return at
}

// hasOneText reports whether the step has at most one text at the first level.
func (s *step) hasOneText() bool {
	n := 0
	for i := range s.parts {
		if s.parts[i].from == 0 && !s.parts[i].repeats {
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
		if p.repeats {
			b.WriteString("<" + s.mark + " " + p.name + " " + p.text + ">")
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
