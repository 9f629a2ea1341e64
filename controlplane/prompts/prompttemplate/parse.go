// Package prompttemplate renders the text of prompts. The Python SDK and the UI render the same; the cases in
// test/conformance/templates.json hold all three together.
//
// The syntax is that of Mustache: {{name}}, {{a.b}}, sections {{#name}}…{{/name}}, inverted sections {{^name}}…{{/name}},
// comments {{! … }} and changes of delimiters {{=<% %>=}}. A tag of a section, comment or delimiter that stands alone on
// its line takes the line with it. There are no partials and no HTML escapes: {{{name}}} and {{&name}} are {{name}}.
package prompttemplate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError is an error in the text of a template.
type SyntaxError struct {
	// Line and Column are where the tag begins, from 1. Columns count characters.
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Template is a parsed text.
type Template struct {
	nodes []node
}

// node is a part of a template.
type node struct {
	kind byte   // 't' text, 'v' variable, '#' section, '^' inverted section
	text string // of 't'
	path []string
	// source is the text of the tag, for a section with everything up to the end of its closing tag.
	source   string
	children []node
}

// Parse parses the text of a template.
func Parse(text string) (*Template, error) {
	p := parser{text: text, open: "{{", closing: "}}"}
	nodes, err := p.nodes("", 0)
	if err != nil {
		return nil, err
	}
	return &Template{nodes}, nil
}

type parser struct {
	text string
	// at is where the rest begins.
	at            int
	open, closing string
	// depth is how many sections are open.
	depth int
}

// maxDepth is how deep sections may be nested. The renderers recurse.
const maxDepth = 50

func (p *parser) fail(at int, format string, args ...any) error {
	before := p.text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{line, column, fmt.Sprintf(format, args...)}
}

// nodes parses up to the tag that closes the section, or up to the end without one. start is where its tag begins.
func (p *parser) nodes(section string, start int) ([]node, error) {
	var list []node
	for {
		i := strings.Index(p.text[p.at:], p.open)
		if i < 0 {
			if section != "" {
				return nil, p.fail(start, "the section %s is not closed", section)
			}
			return appendText(list, p.text[p.at:]), nil
		}
		begin := p.at + i
		tag, err := p.tag(begin)
		if err != nil {
			return nil, err
		}
		text := p.text[p.at:begin]
		p.at = tag.end
		if tag.kind != 'v' {
			if before, after, alone := p.alone(begin, tag.end); alone {
				text = strings.TrimSuffix(text, before)
				p.at = after
			}
		}
		list = appendText(list, text)
		switch tag.kind {
		case '/':
			if tag.name != section {
				if section == "" {
					return nil, p.fail(begin, "%s closes a section that is not open", tag.name)
				}
				return nil, p.fail(begin, "%s closes the section %s", tag.name, section)
			}
			return list, nil
		case '#', '^':
			if p.depth++; p.depth > maxDepth {
				return nil, p.fail(begin, "sections are nested more than %d deep", maxDepth)
			}
			children, err := p.nodes(tag.name, begin)
			p.depth--
			if err != nil {
				return nil, err
			}
			list = append(list, node{kind: tag.kind, path: tag.path, source: p.text[begin:p.at], children: children})
		case 'v':
			list = append(list, node{kind: 'v', path: tag.path, source: p.text[begin:tag.end]})
		}
	}
}

func appendText(list []node, text string) []node {
	if text == "" {
		return list
	}
	return append(list, node{kind: 't', text: text})
}

// tag is a tag with the position after it. Comments and delimiters have the kinds '!' and '='.
type tag struct {
	kind byte
	name string
	path []string
	end  int
}

// tag parses the tag that begins at a position.
func (p *parser) tag(begin int) (tag, error) {
	inner, closing := begin+len(p.open), p.closing
	triple := p.open == "{{" && strings.HasPrefix(p.text[inner:], "{")
	if triple {
		inner++
		closing = "}}}"
	}
	length := strings.Index(p.text[inner:], closing)
	if length < 0 {
		return tag{}, p.fail(begin, "the tag is not closed; %s is missing", closing)
	}
	content, end := p.text[inner:inner+length], inner+length+len(closing)
	if triple {
		return p.named('v', content, begin, end)
	}
	if content == "" {
		return tag{}, p.fail(begin, "the tag is empty")
	}
	switch content[0] {
	case '!':
		return tag{kind: '!', end: end}, nil
	case '=':
		return p.delimiters(content, begin, end)
	case '>':
		return tag{}, p.fail(begin, "partials are not supported; put the text in its place")
	case '&':
		return p.named('v', content[1:], begin, end)
	case '#', '^', '/':
		return p.named(content[0], content[1:], begin, end)
	default:
		return p.named('v', content, begin, end)
	}
}

func (p *parser) delimiters(content string, begin, end int) (tag, error) {
	parts := strings.Fields(strings.TrimSuffix(content[1:], "="))
	if !strings.HasSuffix(content[1:], "=") || len(parts) != 2 || strings.ContainsRune(parts[0]+parts[1], '=') {
		return tag{}, p.fail(begin, "a change of delimiters has the form {{=<%% %%>=}}")
	}
	p.open, p.closing = parts[0], parts[1]
	return tag{kind: '=', end: end}, nil
}

func (p *parser) named(kind byte, name string, begin, end int) (tag, error) {
	name = strings.TrimSpace(name)
	t := tag{kind: kind, name: name, end: end}
	if name == "." {
		return t, nil
	}
	t.path = strings.Split(name, ".")
	for _, part := range t.path {
		if part == "" || strings.IndexFunc(part, notInName) >= 0 {
			return tag{}, p.fail(begin, "%q is not a name; to write %s as text, change the delimiters with %s=<%% %%>=%s", name, p.open, p.open, p.closing)
		}
	}
	return t, nil
}

func notInName(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// alone reports whether a tag is alone on its line. It returns the space before the tag and the position after the line.
func (p *parser) alone(begin, end int) (before string, after int, alone bool) {
	start := begin
	for start > 0 && (p.text[start-1] == ' ' || p.text[start-1] == '\t') {
		start--
	}
	if start > 0 && p.text[start-1] != '\n' {
		return "", 0, false
	}
	line := p.text[start:begin]
	rest := p.text[end:]
	trimmed := strings.TrimLeft(rest, " \t")
	after = end + len(rest) - len(trimmed)
	switch {
	case trimmed == "":
		return line, after, true
	case trimmed[0] == '\n':
		return line, after + 1, true
	case strings.HasPrefix(trimmed, "\r\n"):
		return line, after + 2, true
	default:
		return "", 0, false
	}
}
