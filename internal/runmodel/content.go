package runmodel

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Kinds of Content.
const (
	// ContentMessage is one message of gen_ai.input.messages or gen_ai.output.messages.
	ContentMessage = "message"
	// ContentInstructions is a whole gen_ai.system_instructions, ContentToolDefinitions a whole
	// gen_ai.tool.definitions.
	ContentInstructions    = "instructions"
	ContentToolDefinitions = "tool_definitions"
	// ContentResource is the attributes of a resource as a JSON object.
	ContentResource = "resource"
)

// IdentifyContent returns the identity of a content: the two halves of the first 128 bits of the SHA-256 of its kind
// and JSON text. Neither half is 0, which means absent. Within a run the id alone is enough. Across the runs of a
// project both halves are needed: other people choose what is recorded there, and must not be able to forge a
// content.
func IdentifyContent(kind, text string) (id, tail uint64) {
	digest := sha256.New()
	_, _ = digest.Write([]byte(kind)) // a hash never returns an error
	_, _ = digest.Write([]byte{0})
	_, _ = digest.Write(bytesOf(text))
	var buffer [sha256.Size]byte
	sum := digest.Sum(buffer[:0])
	const half = 8
	return max(binary.BigEndian.Uint64(sum), 1), max(binary.BigEndian.Uint64(sum[half:]), 1)
}

// SystemTextID returns the id of the text that a program gives a model as its system prompt, 0 for none. Unlike the id of
// a content, it does not depend on how an instrumentation writes the text down: as instructions or as a message, in
// whatever JSON. Space around the text does not count.
func SystemTextID(text string) uint64 {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	id, _ := IdentifyContent("system_text", text)
	return id
}

// ContentSystemText returns the text of instructions, or of a message by the system, "" for any other content.
func ContentSystemText(kind, text string) string {
	switch kind {
	case ContentInstructions:
		return instructionsText(text)
	case ContentMessage:
		if !strings.Contains(text, `"system"`) && !strings.Contains(text, `"developer"`) { // saves parsing
			return ""
		}
		if role, said, _ := MessageText(text); role == "system" || role == "developer" {
			return said
		}
	}
	return ""
}

// instructionsText returns the text parts of instructions, joined by newlines.
func instructionsText(text string) string {
	r := read(text)
	if r.Kind() != jsonpull.Array {
		return ""
	}
	var texts []string
	r.Array(func(int) {
		if part := readPart(r); part.kind == "text" && part.content != "" {
			texts = append(texts, unquote(part.content))
		}
	})
	if r.Err() != nil {
		return ""
	}
	return strings.Join(texts, "\n")
}

// bytesOf returns the bytes of text without a copy. Callers must not change them.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // read only
}

// maxContentDepth limits how deep a content may nest. Ingest accepts less.
const maxContentDepth = 1000

// read returns a reader of JSON text. It copies nothing: a jsonpull.Reader does not change its input.
func read(text string) *jsonpull.Reader {
	return jsonpull.NewReader(bytesOf(text), maxContentDepth, math.MaxInt64)
}

// SplitContent moves the searchable strings of a message out of its JSON text, in document order, and leaves "" in
// their stead. JoinContent reverses it. Contents of other kinds are not searched, so they stay whole.
func SplitContent(kind, text string) (frame string, texts []string, err error) {
	r := read(text)
	if kind != ContentMessage {
		frame = r.CompactText()
	} else {
		frame, texts = splitMessage(r, text)
	}
	r.End()
	if err := r.Err(); err != nil {
		return "", nil, fmt.Errorf("parse %s: %w", kind, err)
	}
	return frame, texts, nil
}

func splitMessage(r *jsonpull.Reader, text string) (frame string, texts []string) {
	var b strings.Builder
	copied := 0
	eachString(r, false, func(from, to int, searchable bool) {
		if !searchable && to-from > len(`""`) {
			return
		}
		texts = append(texts, unquote(text[from:to]))
		b.WriteString(text[copied : from+1])
		copied = to - 1
	})
	b.WriteString(text[copied:])
	return b.String(), texts
}

// eachString reads a value and calls found with the offsets of every string value, quotes included.
func eachString(r *jsonpull.Reader, searchable bool, found func(from, to int, searchable bool)) {
	switch r.Kind() {
	case jsonpull.Object:
		r.Object(func(key []byte) { eachString(r, searchable || isSearchable(key), found) })
	case jsonpull.Array:
		r.Array(func(int) { eachString(r, searchable, found) })
	case jsonpull.String:
		from := r.Offset()
		if r.Text(); r.Err() == nil {
			found(from, r.Offset(), searchable)
		}
	default:
		r.Text()
	}
}

// isSearchable reports whether the strings below a member of a message are text that a person or a model wrote or
// read (gen_ai-input-messages.json and gen_ai-output-messages.json of the GenAI conventions).
func isSearchable(key []byte) bool {
	switch string(key) {
	case "content", "arguments", "response", "result":
		return true
	}
	return false
}

// unquote returns the value of a JSON string that is known to be valid.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return read(quoted).String()
}

var errFrame = errors.New("content frame and texts do not fit")

// JoinContent rebuilds the JSON text of a content.
func JoinContent(kind, frame string, texts []string) (json.RawMessage, error) {
	if kind != ContentMessage {
		return json.RawMessage(frame), nil
	}
	var b strings.Builder
	copied, used := 0, 0
	r := read(frame)
	eachString(r, false, func(from, to int, _ bool) {
		if to-from > len(`""`) {
			return
		}
		if used < len(texts) {
			b.WriteString(frame[copied:from])
			writeString(&b, texts[used])
			copied = to
		}
		used++
	})
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("parse %s frame: %w", kind, err)
	}
	if used != len(texts) {
		return nil, errFrame
	}
	b.WriteString(frame[copied:])
	return json.RawMessage(b.String()), nil
}

func writeString(b *strings.Builder, s string) {
	encoder := json.NewEncoder(trimNewline{b})
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes, and a strings.Builder never fails
}

// trimNewline drops the newline that json.Encoder writes after each value.
type trimNewline struct{ b *strings.Builder }

func (w trimNewline) Write(p []byte) (int, error) {
	w.b.Write(bytes.TrimSuffix(p, []byte("\n")))
	return len(p), nil
}

// MessageText returns the role of a message and its text parts, joined by newlines. calls reports whether the message
// asks for a tool call. All are zero for a message that does not follow the conventions.
func MessageText(text string) (role, joined string, calls bool) {
	role, joined, named := MessageBeginning(text, math.MaxInt)
	return role, joined, named != ""
}

// MessageBeginning is MessageText for callers that need only the first wanted bytes of the text. It may return more.
// calls lists the tool calls, such as `get_weather({"city":"Paris"}), get_time()`, and may be cut as the text is.
func MessageBeginning(text string, wanted int) (role, joined, calls string) {
	r := read(text)
	if r.Kind() != jsonpull.Object {
		return "", "", ""
	}
	r.Object(func(key []byte) {
		switch {
		case string(key) == "role" && r.Kind() == jsonpull.String:
			role = plainString(r)
		case string(key) == "parts" && r.Kind() == jsonpull.Array:
			r.Array(func(int) {
				part := readPart(r)
				content := part.content
				switch part.kind {
				case "text":
					switch {
					case len(joined) >= wanted || len(content) <= len(`""`):
					case joined == "":
						joined = beginning(content, wanted)
					default:
						joined += "\n" + beginning(content, wanted)
					}
				case "tool_call", "server_tool_call":
					if calls != "" && len(calls) < wanted {
						calls += ", "
					}
					if len(calls) < wanted {
						calls += part.call(wanted)
					}
				}
			})
		default:
			r.Text()
		}
	})
	if r.Err() != nil {
		return "", "", ""
	}
	return role, joined, calls
}

// messagePart is a part of a message. The content is still quoted, and the arguments are JSON text.
type messagePart struct{ kind, content, name, arguments string }

func readPart(r *jsonpull.Reader) (p messagePart) {
	if r.Kind() != jsonpull.Object {
		r.Text()
		return p
	}
	r.Object(func(key []byte) {
		switch {
		case string(key) == "type" && r.Kind() == jsonpull.String:
			p.kind = plainString(r)
		case string(key) == "content" && r.Kind() == jsonpull.String:
			p.content = stringOf(r.Text())
		case string(key) == "name" && r.Kind() == jsonpull.String:
			p.name = plainString(r)
		case string(key) == "arguments":
			p.arguments = stringOf(r.Text())
		default:
			r.Text()
		}
	})
	return p
}

// call returns a tool call as name(arguments), with at least the first wanted bytes of the arguments.
func (p messagePart) call(wanted int) string {
	arguments := p.arguments
	switch {
	case arguments == "null":
		arguments = ""
	case strings.HasPrefix(arguments, `"`): // JSON text in a string
		arguments = beginning(arguments, wanted)
	case wanted < len(arguments):
		arguments = arguments[:utf8text.NextRuneStart(arguments, wanted)]
	}
	return cmp.Or(p.name, "tool") + "(" + arguments + ")"
}

// plainString reads a string. It copies nothing where the string has no escapes.
func plainString(r *jsonpull.Reader) string {
	quoted := stringOf(r.Text())
	if r.Err() != nil {
		return ""
	}
	return unquote(quoted)
}

// beginning returns at least the first wanted bytes of the value of a quoted JSON string.
func beginning(quoted string, wanted int) string {
	if value := quoted[1 : len(quoted)-1]; wanted < len(value) && strings.IndexByte(value[:wanted], '\\') < 0 {
		return value[:utf8text.NextRuneStart(value, wanted)]
	}
	const longest = len(`\ud83d\ude00`) // the longest escape of one character
	if len(quoted)-longest <= wanted {
		return unquote(quoted)
	}
	at := 1
	for at <= wanted+longest && at < len(quoted)-1 {
		switch {
		case quoted[at] != '\\':
			at++
		case quoted[at+1] == 'u':
			at += len(`\u0000`)
			wanted += len(`\u0000`) - 1 // one byte at least
		default:
			at += len(`\n`)
			wanted++
		}
	}
	return unquote(quoted[:utf8text.NextRuneStart(quoted, at)] + `"`)
}

// stringOf returns b as a string without a copy. Nobody may change b afterwards.
func stringOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // b was read from a string
}
