package genaisemconvprocessor

import "strings"

// skimmer goes over JSON text without checking it: it looks only at quotes and brackets, and skips strings by the
// quote that ends them. That is many times faster than parsing, and enough to see which keys stand where.
type skimmer struct {
	text string
	pos  int
	ok   bool
}

// next is the next byte that is not white space, 0 at the end.
func (s *skimmer) next() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	s.ok = false
	return 0
}

// take takes a byte if it is the next.
func (s *skimmer) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.pos++
	return true
}

// str takes a string and returns what stands between its quotes.
func (s *skimmer) str() string {
	if !s.take('"') {
		s.ok = false
		return ""
	}
	from := s.pos
	for {
		end := strings.IndexByte(s.text[s.pos:], '"')
		if end < 0 {
			s.ok = false
			return ""
		}
		s.pos += end + 1
		slashes := 0
		for i := s.pos - 2; i >= from && s.text[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return s.text[from : s.pos-1]
		}
	}
}

// skip skips a value.
func (s *skimmer) skip() {
	depth := 0
	for s.ok {
		switch s.next() {
		case '"':
			s.str()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
			continue
		default:
			for s.pos < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.pos])) {
				s.pos++
			}
		}
		if depth <= 0 {
			s.ok = s.ok && depth == 0
			return
		}
	}
}

// members goes through an object; each must read the member's value.
func (s *skimmer) members(each func(key string)) {
	if !s.take('{') {
		s.ok = false
		return
	}
	for first := true; s.ok; first = false {
		if s.take('}') {
			return
		}
		if !first && !s.take(',') {
			s.ok = false
			return
		}
		key := s.str()
		if !s.take(':') {
			s.ok = false
			return
		}
		each(key)
	}
}

// elements goes through an array; each must read the element.
func (s *skimmer) elements(each func()) {
	if !s.take('[') {
		s.ok = false
		return
	}
	for first := true; s.ok; first = false {
		if s.take(']') {
			return
		}
		if !first && !s.take(',') {
			s.ok = false
			return
		}
		each()
	}
}

// isCanonical tells whether messages have the newest shape already, so that nothing is to be done. Types of parts that
// are not of the conventions are valid there, unless they are another spelling of one that is.
func isCanonical(text string) bool {
	s := skimmer{text: text, ok: true}
	good := true
	s.elements(func() {
		hasRole, hasParts, isUser, onlyResults := false, false, false, false
		s.members(func(key string) {
			switch key {
			case "role":
				hasRole = true
				if s.next() != '"' {
					good = false
					break
				}
				role := s.str()
				isUser = role == "user"
				good = good && canonicalRole(role)
			case "parts":
				hasParts = true
				var canonical bool
				canonical, onlyResults = s.canonicalParts()
				good = canonical && good
			case "content", "tool_calls", "tool_call_id", "function_call", "kwargs", "message":
				good = false
				s.skip()
			default:
				s.skip()
			}
			s.ok = s.ok && good
		})
		good = good && hasRole && hasParts && (!isUser || !onlyResults)
		s.ok = s.ok && good
	})
	return s.ok && good && s.atEnd()
}

func (s *skimmer) atEnd() bool {
	return strings.TrimSpace(s.text[s.pos:]) == ""
}

func canonicalRole(role string) bool {
	switch role {
	case "model", "human", "ai", "function", "":
		return false
	}
	return role[0] >= 'a' && role[0] <= 'z'
}

// canonicalParts goes through a list of parts. onlyResults tells that there are some, and all are results of tools.
func (s *skimmer) canonicalParts() (good, onlyResults bool) {
	if s.next() != '[' {
		return false, false
	}
	good = true
	results, others := 0, 0
	s.elements(func() {
		kind := ""
		bare, hasContent := false, false
		s.members(func(key string) {
			switch key {
			case "type":
				if s.next() != '"' {
					good = false
					s.skip()
					return
				}
				kind = s.str()
			case "content":
				hasContent = true
				s.skip()
			case "result", "data", "text", "thinking", "thought", "input", "url":
				bare = true
				s.skip()
			default:
				s.skip()
			}
		})
		switch kind {
		case "text", "reasoning":
			good = good && hasContent && !bare
		case "tool_call", "tool_call_response", "blob", "uri", "file":
			good = good && !bare
		default:
			good = good && kind != "" && !aliasParts[kind]
		}
		if kind == "tool_call_response" {
			results++
		} else {
			others++
		}
		s.ok = s.ok && good
	})
	return good, results > 0 && others == 0
}

// canonicalTools tells whether tool definitions have the newest shape: a list of objects with a type and a name.
func canonicalTools(text string) bool {
	s := skimmer{text: text, ok: true}
	good := true
	s.elements(func() {
		hasType, hasName := false, false
		s.members(func(key string) {
			switch key {
			case "type":
				hasType = true
			case "name":
				hasName = true
			case "function", "input_schema", "inputSchema", "toolSpec", "functionDeclarations", "function_declarations",
				"parametersJsonSchema", "parameters_json_schema":
				good = false
			}
			s.skip()
			s.ok = s.ok && good
		})
		good = good && hasType && hasName
		s.ok = s.ok && good
	})
	return s.ok && good && s.atEnd()
}

// canonicalInstructions tells whether system instructions are a list of parts with a content.
func canonicalInstructions(text string) bool {
	s := skimmer{text: text, ok: true}
	good, _ := s.canonicalParts()
	return good && s.ok && s.atEnd()
}
