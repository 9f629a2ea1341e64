package importing

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// syntax is the syntax of templates in a file.
type syntax int

const (
	// literal is text without variables.
	literal syntax = iota
	// fString is Python's str.format, as LangChain uses it.
	fString
	// jinja is Jinja2.
	jinja
	// nunjucks is the JavaScript relative of Jinja, as promptfoo uses it.
	nunjucks
	// doubleBraces has {{name}} for variables and nothing else. OpenAI leaves other text in braces alone.
	doubleBraces
	// strictDoubleBraces is doubleBraces where the SDKs of the source disagree about all other tags: that of Langfuse for
	// Python leaves them alone, that for JavaScript takes them as Mustache.
	strictDoubleBraces
	// mustache is our own syntax.
	mustache
)

// segment is a part of a template.
type segment struct {
	kind byte // 't' text, 'v' variable, '!' comment
	// text is the text, or what is between the delimiters of a tag.
	text   string
	source string
	line   int
}

// templateError is an error in a template of the source.
type templateError struct {
	line   int
	reason string
}

func (e *templateError) Error() string { return e.reason }

// scanner splits a template.
type scanner struct {
	rest string
	line int
	// textLine is where the text that is being collected begins.
	text     strings.Builder
	textLine int
	segments []segment
	changes  []Conversion
	// tooMany is set when there are more than maxConversions of them.
	tooMany bool
}

// convert converts a template to our syntax.
func convert(source string, from syntax) (string, []Conversion, error) {
	s := &scanner{rest: source, line: 1}
	var err error
	switch from {
	case literal:
		s.take(len(source))
	case fString:
		err = s.fString()
	case jinja:
		s.jinjaLines()
		err = s.jinja(jinja)
	case nunjucks:
		err = s.jinja(nunjucks)
	case doubleBraces, strictDoubleBraces:
		err = s.doubleBraces(from == strictDoubleBraces)
	case mustache:
		return source, nil, check(source)
	}
	if s.tooMany {
		err = s.fail(fmt.Sprintf("has more than %d variables and braces to convert", maxConversions))
	}
	if err != nil {
		return "", nil, err
	}
	s.flush()
	result, changes := write(s.segments)
	return result, append(s.changes, changes...), check(result)
}

// check parses a template as Looptrace does.
func check(template string) error {
	_, err := prompttemplate.Parse(template)
	if syntax, ok := err.(*prompttemplate.SyntaxError); ok { //nolint:errorlint // Parse does not wrap it
		return &templateError{syntax.Line, syntax.Message}
	}
	return err
}

// take adds the next n bytes to the text.
func (s *scanner) take(n int) { s.replace(n, s.rest[:n]) }

// replace adds a text in place of the next n bytes.
func (s *scanner) replace(n int, text string) {
	if s.text.Len() == 0 {
		s.textLine = s.line
	}
	s.text.WriteString(text)
	s.skip(n)
}

func (s *scanner) skip(n int) {
	s.line += strings.Count(s.rest[:n], "\n")
	s.rest = s.rest[n:]
}

// change replaces the next n bytes and lists it.
func (s *scanner) change(n int, text string) {
	s.changes = append(s.changes, Conversion{Line: s.line, From: utf8text.Cut(s.rest[:n], maxShown), To: utf8text.Cut(text, maxShown)})
	s.replace(n, text)
	s.limit()
}

// limit ends the text when it has too many tags.
func (s *scanner) limit() {
	if len(s.segments)+len(s.changes) > maxConversions {
		s.tooMany, s.rest = true, ""
	}
}

// tag adds a tag in place of the next n bytes.
func (s *scanner) tag(kind byte, n int, content string) {
	s.flush()
	s.segments = append(s.segments, segment{kind, content, s.rest[:n], s.line})
	s.skip(n)
	s.limit()
}

func (s *scanner) flush() {
	if s.text.Len() > 0 {
		s.segments = append(s.segments, segment{'t', s.text.String(), "", s.textLine})
		s.text.Reset()
	}
}

func (s *scanner) fail(reason string) error { return &templateError{s.line, reason} }

// shown is a tag within a message.
func shown(tag string) string { return "`" + utf8text.Cut(tag, 60) + "`" }

// fString reads the syntax of str.format.
func (s *scanner) fString() error {
	for s.rest != "" {
		i := strings.IndexAny(s.rest, "{}")
		if i < 0 {
			s.take(len(s.rest))
			break
		}
		s.take(i)
		if len(s.rest) > 1 && s.rest[1] == s.rest[0] {
			s.change(2, s.rest[:1])
			continue
		}
		if s.rest[0] == '}' {
			return s.fail("a single } is an error in an f-string: double it")
		}
		end := strings.IndexByte(s.rest, '}')
		if end < 0 {
			return s.fail("a { is not closed: double it, or close it")
		}
		name := s.rest[1:end]
		if reason := notFStringName(name); reason != "" {
			return s.fail(shown(s.rest[:end+1]) + " " + reason)
		}
		s.tag('v', end+1, name)
	}
	return nil
}

func notFStringName(name string) string {
	switch {
	case name == "":
		return "is a positional field: give it a name"
	case strings.ContainsAny(name, "{"):
		return "has a { inside: double the braces that are text"
	case strings.ContainsAny(name, "!:"):
		return "formats its value: pass the formatted value as text"
	case strings.ContainsAny(name, ".[]"):
		return "reads a part of a value: pass the part as a variable of its own"
	case strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }) < 0:
		return "is a positional field: give it a name"
	case strings.IndexFunc(name, notInName) >= 0:
		return "is not a name of letters, digits, _ and -"
	default:
		return ""
	}
}

func notInName(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// doubleBraces reads {{name}}.
func (s *scanner) doubleBraces(strict bool) error {
	for s.rest != "" {
		i := strings.Index(s.rest, "{{")
		if i < 0 {
			s.take(len(s.rest))
			break
		}
		s.take(i)
		// A name has no braces, so what is up to the next one decides.
		end := strings.IndexAny(s.rest[2:], "{}") + 2
		if end >= 2 && strings.HasPrefix(s.rest[end:], "}}") && plainName(strings.TrimSpace(s.rest[2:end])) {
			s.tag('v', end+2, s.rest[2:end])
			continue
		}
		tag := s.rest[:min(len(s.rest), maxShown)]
		if end := strings.Index(tag, "}}"); end >= 0 {
			tag = tag[:end+2]
		}
		sign := strings.TrimLeft(tag[2:], " \t\r\n")
		isMustache := tag[2:] != "" && tag[2] == '{' || sign != "" && strings.IndexByte("#^/>&!=", sign[0]) >= 0
		switch {
		case isMustache && strict:
			return s.fail(shown(tag) + " is no variable: the SDK of Langfuse for Python leaves it as text, that for JavaScript renders it; remove it")
		case isMustache:
			return s.fail(shown(tag) + " is no variable: prompts of OpenAI have only variables; remove it")
		case strict:
			return s.fail(shown(tag) + " is no variable, and the SDKs of Langfuse render it differently: remove the double braces")
		}
		s.take(2)
	}
	return nil
}

func plainName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.IndexFunc(part, notInName) >= 0 {
			return false
		}
	}
	return true
}

// write writes segments in our syntax. If a text would be taken for a tag, the first line changes the delimiters.
func write(segments []segment) (string, []Conversion) {
	opening, closing := "{{", "}}"
	var (
		b       strings.Builder
		changes []Conversion
	)
	if line := clash(segments); line > 0 {
		opening, closing = delimiters(segments)
		change := "{{=" + opening + " " + closing + "=}}"
		changes = append(changes, Conversion{Line: line, From: "{{ as text", To: change})
		b.WriteString(change + "\n") // alone on its line, so it takes the line with it
	}
	blank := true // whether nothing but space is on the line so far
	for i, s := range segments {
		if s.kind == 't' {
			lastLine := s.text[strings.LastIndexByte(s.text, '\n')+1:]
			blank = (blank || len(lastLine) < len(s.text)) && strings.Trim(lastLine, " \t") == ""
			b.WriteString(s.text)
			continue
		}
		tag := opening + s.text + closing
		if s.kind == '!' {
			tag = opening + "!" + s.text + closing
			if blank && endsLine(segments[i+1:]) {
				tag += opening + "!" + closing // a comment alone on its line would take the line with it
			}
		}
		blank = false
		if tag != s.source {
			changes = append(changes, Conversion{Line: s.line, From: utf8text.Cut(s.source, maxShown), To: utf8text.Cut(tag, maxShown)})
		}
		b.WriteString(tag)
	}
	return b.String(), changes
}

// endsLine reports whether the rest of the line is blank.
func endsLine(rest []segment) bool {
	if len(rest) == 0 {
		return true
	}
	if rest[0].kind != 't' {
		return false
	}
	trimmed := strings.TrimLeft(rest[0].text, " \t")
	return trimmed == "" && len(rest) == 1 || strings.HasPrefix(trimmed, "\n") || strings.HasPrefix(trimmed, "\r\n")
}

// clash returns the line of the first text that would be taken for a tag, or part of one, and 0 if there is none.
func clash(segments []segment) int {
	for i, s := range segments {
		switch s.kind {
		case 't':
			if at := strings.Index(s.text, "{{"); at >= 0 {
				return s.line + strings.Count(s.text[:at], "\n")
			}
			if strings.HasSuffix(s.text, "{") && i+1 < len(segments) {
				return segments[i+1].line
			}
		case '!':
			if strings.Contains(s.text, "}}") || strings.HasSuffix(s.text, "}") {
				return s.line
			}
		}
	}
	return 0
}

// delimiters returns delimiters that no text has: <% and %> with as many % as that takes. Their characters differ, so they
// cannot overlap with the text beside them.
func delimiters(segments []segment) (opening, closing string) {
	before, after := 0, 0
	for _, s := range segments {
		switch s.kind {
		case 't':
			before = max(before, longest(s.text, afterLess))
		case '!':
			after = max(after, longest(s.text, beforeGreater))
		}
	}
	return "<" + strings.Repeat("%", before+1), strings.Repeat("%", after+1) + ">"
}

var afterLess, beforeGreater = regexp.MustCompile(`<%+`), regexp.MustCompile(`%+>`)

// longest returns how many % the longest match has.
func longest(text string, runs *regexp.Regexp) int {
	length := 1
	for _, match := range runs.FindAllStringIndex(text, -1) {
		length = max(length, match[1]-match[0])
	}
	return length - 1
}
