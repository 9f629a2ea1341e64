package runmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/looptrace/looptrace/internal/jsonpull"
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

// IdentifyContent returns the identity of a content: the two halves of the first 128 bits of the SHA-256 of its kind and its
// JSON text, neither of them 0, which means absent. The id alone tells contents of a run apart; among those of a
// project, where others choose what is recorded and must not be able to choose another's text, it takes both.
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

// bytesOf shares the memory of text, for those who do not change what they read.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // it is only read
}

// maxContentDepth is how deep a content may nest; the doors of ingest let in less.
const maxContentDepth = 1000

// read makes a reader of JSON text, without a copy of it: a jsonpull.Reader does not change what it reads.
func read(text string) *jsonpull.Reader {
	return jsonpull.NewReader(bytesOf(text), maxContentDepth, math.MaxInt64)
}

// SplitContent takes the searchable strings of a message out of its JSON text, in document order, and leaves
// "" in their places. JoinContent puts them back. Contents of other kinds are not searched and stay whole.
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

// eachString reads a value and calls found with the place of every string that is a value, with its quotes.
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

// isSearchable tells the members of a message under which every string is text that a person or a model wrote or
// read (gen_ai-input-messages.json and gen_ai-output-messages.json of the GenAI conventions).
func isSearchable(key []byte) bool {
	switch string(key) {
	case "content", "arguments", "response", "result":
		return true
	}
	return false
}

// unquote is the value of a JSON string that was read before.
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

// MessageText returns the role of a message and its text parts, joined by newlines. calls tells that the
// message asks for a tool call. A message of another shape than the conventions' has none of them.
func MessageText(text string) (role, joined string, calls bool) {
	return MessageBeginning(text, math.MaxInt)
}

// MessageBeginning is MessageText for callers that need no more than the first wanted bytes of the text. It may return more.
func MessageBeginning(text string, wanted int) (role, joined string, calls bool) {
	r := read(text)
	if r.Kind() != jsonpull.Object {
		return "", "", false
	}
	r.Object(func(key []byte) {
		switch {
		case string(key) == "role" && r.Kind() == jsonpull.String:
			role = plainString(r)
		case string(key) == "parts" && r.Kind() == jsonpull.Array:
			r.Array(func(int) {
				kind, content := messagePart(r)
				switch kind {
				case "text":
					switch {
					case len(joined) >= wanted || len(content) <= len(`""`):
					case joined == "":
						joined = beginning(content, wanted)
					default:
						joined += "\n" + beginning(content, wanted)
					}
				case "tool_call", "server_tool_call":
					calls = true
				}
			})
		default:
			r.Text()
		}
	})
	if r.Err() != nil {
		return "", "", false
	}
	return role, joined, calls
}

// messagePart reads a part of a message and returns its content as it is quoted.
func messagePart(r *jsonpull.Reader) (kind, content string) {
	if r.Kind() != jsonpull.Object {
		r.Text()
		return "", ""
	}
	r.Object(func(key []byte) {
		switch {
		case string(key) == "type" && r.Kind() == jsonpull.String:
			kind = plainString(r)
		case string(key) == "content" && r.Kind() == jsonpull.String:
			content = stringOf(r.Text())
		default:
			r.Text()
		}
	})
	return kind, content
}

// plainString reads a string. Where nothing in it is escaped, it is no copy.
func plainString(r *jsonpull.Reader) string {
	quoted := stringOf(r.Text())
	if r.Err() != nil {
		return ""
	}
	return unquote(quoted)
}

// beginning is the first bytes of the value of a quoted JSON string, as many as are wanted, and maybe more.
func beginning(quoted string, wanted int) string {
	if value := quoted[1 : len(quoted)-1]; wanted < len(value) && strings.IndexByte(value[:wanted], '\\') < 0 {
		for wanted < len(value) && !utf8.RuneStart(value[wanted]) {
			wanted++
		}
		return value[:wanted]
	}
	const longest = len(`\ud83d\ude00`) // of what stands for one character
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
			wanted += len(`\u0000`) - 1 // it is one byte at least
		default:
			at += len(`\n`)
			wanted++
		}
	}
	for at < len(quoted)-1 && !utf8.RuneStart(quoted[at]) {
		at++
	}
	return unquote(quoted[:at] + `"`)
}

// stringOf shares the memory of bytes that nobody changes.
func stringOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // what was read from a string
}
