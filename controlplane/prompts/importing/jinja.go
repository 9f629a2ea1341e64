package importing

import (
	"regexp"
	"slices"
	"strings"
)

// jinjaLines does what Jinja does to a template first: all line ends become \n, and one at the end is dropped.
func (s *scanner) jinjaLines() {
	if strings.Contains(s.rest, "\r") {
		line := strings.Count(s.rest[:strings.IndexByte(s.rest, '\r')], "\n") + 1
		s.changes = append(s.changes, Conversion{Line: line, From: `\r\n`, To: `\n`})
		s.rest = strings.ReplaceAll(strings.ReplaceAll(s.rest, "\r\n", "\n"), "\r", "\n")
	}
	if strings.HasSuffix(s.rest, "\n") {
		s.rest = s.rest[:len(s.rest)-1]
		s.changes = append(s.changes, Conversion{Line: strings.Count(s.rest, "\n") + 1, From: `\n at the end`, To: ""})
	}
}

var (
	jinjaName   = regexp.MustCompile(`^[\p{L}_][\p{L}\p{M}\p{N}_]*(\.[\p{L}_][\p{L}\p{M}\p{N}_]*)*$`)
	jinjaRaw    = regexp.MustCompile(`^\{%([-+]?)\s*(raw|verbatim)\s*([-+]?)%\}`)
	jinjaEndRaw = map[string]*regexp.Regexp{
		"raw":      regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`),
		"verbatim": regexp.MustCompile(`\{%([-+]?)\s*endverbatim\s*([-+]?)%\}`),
	}
	nestedRaw = regexp.MustCompile(`\{%[-+]?\s*(raw|verbatim)\s*[-+]?%\}`)
	// jinjaWords are no names of variables.
	jinjaWords = []string{"true", "false", "none", "null", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else", "elif", "self", "super", "caller"}
)

// jinja reads Jinja, or Nunjucks.
func (s *scanner) jinja(dialect syntax) error {
	for s.rest != "" {
		i := nextJinjaTag(s.rest)
		if end := strings.Index(s.rest[:i], "#}"); end >= 0 && dialect == nunjucks {
			s.take(end)
			return s.fail("a #} without a comment is an error in Nunjucks: put it in {% raw %}")
		}
		s.take(i)
		if s.rest == "" {
			break
		}
		var err error
		switch s.rest[1] {
		case '{':
			err = s.jinjaVariable(dialect)
		case '#':
			err = s.jinjaComment()
		default:
			err = s.jinjaBlock(dialect)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func nextJinjaTag(rest string) int {
	for at := 0; ; {
		i := strings.IndexByte(rest[at:], '{')
		if i < 0 || at+i+1 >= len(rest) {
			return len(rest)
		}
		at += i
		if strings.IndexByte("{#%", rest[at+1]) >= 0 {
			return at
		}
		at++
	}
}

const whitespaceControl = "trims the space around it: remove the - or + and the space itself"

func (s *scanner) jinjaVariable(dialect syntax) error {
	end := strings.Index(s.rest, "}}")
	if end < 0 {
		return s.fail("a {{ is not closed: close it, or put the text in {% raw %}")
	}
	tag, content := s.rest[:end+2], s.rest[2:end]
	name := strings.Trim(content, " \t\r\n")
	switch {
	case strings.HasPrefix(content, "-") || strings.HasPrefix(content, "+") || strings.HasSuffix(content, "-"):
		return s.fail(shown(tag) + " " + whitespaceControl)
	case !jinjaName.MatchString(name), slices.Contains(jinjaWords, name):
		return s.fail(shown(tag) + " is more than a variable: compute the value in your program and pass it as a variable")
	case dialect == nunjucks && strings.Contains(name+".", ".length."):
		return s.fail(shown(tag) + " is the length of a value in JavaScript: pass it as a variable of its own")
	}
	s.tag('v', len(tag), content)
	return nil
}

func (s *scanner) jinjaComment() error {
	end := strings.Index(s.rest[2:], "#}")
	if end < 0 {
		return s.fail("a comment {# is not closed: close it, or put the text in {% raw %}")
	}
	content := s.rest[2 : 2+end]
	if strings.HasPrefix(content, "-") || strings.HasPrefix(content, "+") || strings.HasSuffix(content, "-") || strings.HasSuffix(content, "+") {
		return s.fail(shown(s.rest[:end+4]) + " " + whitespaceControl)
	}
	s.tag('!', end+4, content)
	return nil
}

func (s *scanner) jinjaBlock(dialect syntax) error {
	begin := jinjaRaw.FindStringSubmatch(s.rest)
	if begin == nil || begin[2] == "verbatim" && dialect == jinja {
		tag := s.rest
		if end := strings.Index(tag, "%}"); end >= 0 {
			tag = tag[:end+2]
		}
		return s.fail(shown(tag) + " is more than a variable: render it in your program, or write one prompt for each case")
	}
	after := s.rest[len(begin[0]):]
	end := jinjaEndRaw[begin[2]].FindStringSubmatchIndex(after)
	if end == nil {
		return s.fail(shown(begin[0]) + " is not closed")
	}
	content := after[:end[0]]
	switch closing := after[end[0]:end[1]]; {
	case begin[1]+begin[3] != "" || strings.ContainsAny(closing, "-+"):
		return s.fail(shown(begin[0]) + " " + whitespaceControl)
	case dialect == nunjucks && nestedRaw.MatchString(content):
		return s.fail(shown(begin[0]) + " has another one inside")
	}
	s.change(len(begin[0])+end[1], content)
	return nil
}
