package judge

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// tags are between which a model writes.
type tags struct{ open, close string }

// reasoningTags are between which models write reasoning in their text.
var reasoningTags = []tags{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
}

// withoutReasoning removes the reasoning that some models write before their answer. The tag that begins it may be missing: some templates
// have it in the prompt. So what stands before a tag that is only closed is reasoning, unless the answer is in it and nothing after it.
func withoutReasoning(text string) (string, error) {
	after := 0 // the last tag that is only closed
	for _, tag := range reasoningTags {
		if inside, opened := strings.CutPrefix(text, tag.open); opened {
			_, rest, closed := strings.Cut(inside, tag.close)
			if !closed {
				return "", unended(tag)
			}
			text = strings.TrimSpace(rest)
		}
	}
	for _, tag := range reasoningTags {
		if at := strings.LastIndex(text, tag.close); at >= 0 {
			after = max(after, at+len(tag.close))
		}
	}
	if after > 0 && (hasAnswer(text[after:]) || !hasAnswer(text)) {
		text = strings.TrimSpace(text[after:])
	}
	for _, tag := range reasoningTags {
		// A tag within a line may be what the text is about.
		if before, _, opened := strings.Cut(text, "\n"+tag.open); opened {
			if !hasAnswer(before) {
				return "", unended(tag)
			}
			return before, nil
		}
	}
	return text, nil
}

func unended(t tags) error {
	return &unreadableError{fmt.Sprintf("The answer is reasoning that does not end: %s without %s. Raise max_output_tokens in the judge's model_config, or lower reasoning_effort.", t.open, t.close)}
}

// hasAnswer reports whether a text has an object with reason and value, or several.
func hasAnswer(text string) bool {
	_, err := embedded([]byte(text))
	return !errors.Is(err, errNone)
}

// asJSON returns a text that is JSON, nil for another one. See [escapeControls].
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if escaped, length := escapeControls([]byte(text)); length == len(text) && json.Valid(escaped) {
		return escaped
	}
	return nil
}

// escapeControls returns the object with which a text begins, and its length in the text, 0 for none. Line breaks and other control
// characters within its texts, which JSON does not allow and models write all the same, are escaped.
func escapeControls(text []byte) (escaped []byte, length int) {
	depth, inText := 0, false
	for i := 0; i < min(len(text), maxEscaped); i++ {
		c := text[i]
		switch {
		case inText && c == '\\' && i+1 < len(text) && text[i+1] >= ' ':
			escaped = append(escaped, c)
			i++
			c = text[i]
		case inText && c < ' ':
			escaped = hex.AppendEncode(append(escaped, `\u00`...), []byte{c})
			continue
		case c == '"':
			inText = !inText
		case inText:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		escaped = append(escaped, c)
		if depth <= 0 {
			return escaped, i + 1
		}
	}
	return nil, 0
}

// withoutFence removes a code fence around the whole of an answer.
func withoutFence(text string) string {
	rest, opened := strings.CutPrefix(text, "```")
	inside, closed := strings.CutSuffix(rest, "```")
	if !opened || !closed {
		return text
	}
	if language, body, found := strings.Cut(inside, "\n"); found && !strings.ContainsAny(language, "{}\" ") {
		inside = body
	}
	if inside = strings.TrimSpace(inside); asJSON(inside) != nil {
		return inside
	}
	return text
}

// readAnswer reads an object. A strict one has reason and value and nothing else.
func readAnswer(raw []byte, strict bool) (*answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, &unreadableError{"The answer " + quote(string(raw)) + " is JSON, but no object with reason and value."}
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, &unreadableError{"The answer is no JSON: " + err.Error() + "."}
		}
		key, _ := name.(string)
		if _, twice := members[key]; twice {
			return nil, &unreadableError{"The answer has " + quote(key) + " twice."}
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, &unreadableError{"The answer is no JSON: " + err.Error() + "."}
		}
		members[key] = value
	}
	a := &answer{value: members[memberValue]}
	if a.value == nil {
		return nil, &unreadableError{"The answer has no value."}
	}
	if reason := members[memberReason]; !jsontext.IsNull(reason) && json.Unmarshal(reason, &a.reason) != nil {
		return nil, &unreadableError{"The reason in the answer is not a text."}
	}
	if strict && (len(members) != 2 || jsontext.IsNull(members[memberReason])) {
		return nil, &unreadableError{"The answer has other members than reason and value."}
	}
	return a, nil
}

var errNone = &unreadableError{"The answer has no JSON object with reason and value."}

// embedded finds the one object with reason and value in other text.
func embedded(text []byte) (*answer, error) {
	var found *answer
	for tried := 0; ; tried++ {
		at := bytes.IndexByte(text, '{')
		switch {
		case at < 0 && found == nil:
			return nil, errNone
		case at < 0:
			return found, nil
		case tried == maxObjects:
			return nil, &unreadableError{fmt.Sprintf("The answer has more than %d braces.", maxObjects)}
		}
		text = text[at:]
		var object json.RawMessage
		length := 0
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&object); err == nil {
			length = len(object)
		} else if object, length = escapeControls(text); !json.Valid(object) {
			text = text[1:]
			continue
		}
		text = text[length:]
		a, err := readAnswer(object, true)
		switch {
		case err != nil: // another object
		case found == nil:
			found = a
		case found.reason != a.reason || canonical(found.value) != canonical(a.value):
			return nil, &unreadableError{"The answer has two different objects with reason and value."}
		}
	}
}

// canonical returns a value in the one way in which it is compared: 4.0 as 4.
func canonical(value json.RawMessage) string {
	var number float64
	if json.Unmarshal(value, &number) == nil && !jsontext.IsNull(value) {
		return plain(number)
	}
	return string(jsontext.Compact(value))
}

// quotes reports whether the reason and the value of an answer stand together in what is judged: no judge comes to the same words by
// itself. Spaces, quotes and the escapes of JSON do not count.
func (q *Question) quotes(a *answer) bool {
	reason := squeeze(string(jsontext.MustEncode(a.reason)))
	if reason == "" {
		return false
	}
	for i := range q.parts {
		text := squeeze(unescape(q.parts[i].text))
		for _, value := range []string{squeeze(string(a.value)), squeeze(canonical(a.value))} {
			if strings.Contains(text, "reason:"+reason+",value:"+value) || strings.Contains(text, "value:"+value+",reason:"+reason) {
				return true
			}
		}
	}
	return false
}

// controlEscapes are the escapes that JSON has for line breaks and other control characters.
var controlEscapes = regexp.MustCompile(`\\(?:[nrtbf]|u00[01][0-9a-fA-F])`)

// squeeze removes from a text what may differ between two ways to write the same JSON.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' || r == '"' {
			return -1
		}
		return r
	}, controlEscapes.ReplaceAllLiteralString(text, ""))
}

// quote quotes the beginning of a text.
func quote(text string) string {
	const most = 80
	return strconv.Quote(utf8text.Cut(text, most))
}
