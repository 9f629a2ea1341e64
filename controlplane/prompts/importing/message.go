package importing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// placeholderPattern is that of names of placeholders in Looptrace.
var placeholderPattern = regexp.MustCompile(`^[\p{L}\p{N}\p{M}_.-]{1,64}$`)

// builder builds a version. The first error stays.
type builder struct {
	// syntax is that of the texts.
	syntax   syntax
	version  Version
	messages []message
	listed   map[Conversion]bool
	err      error
}

func newBuilder(s syntax) *builder { return &builder{syntax: s, listed: map[Conversion]bool{}} }

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// message is a message of chat completions, or a placeholder.
type message struct {
	Type       string            `json:"type,omitempty"`
	Role       string            `json:"role,omitempty"`
	Name       string            `json:"name,omitempty"`
	Content    any               `json:"content,omitempty"` // a text, or []any with parts
	ToolCalls  []json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type     string   `json:"type"`
	ImageURL imageURL `json:"image_url"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

type filePart struct {
	Type string `json:"type"`
	File file   `json:"file"`
}

type file struct {
	FileID   string `json:"file_id,omitempty"`
	FileData string `json:"file_data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// finish encodes the messages.
func (b *builder) finish() (Version, error) {
	if b.err == nil && len(b.messages) == 0 {
		b.err = reject("", "has no messages")
	}
	if b.err == nil && len(b.messages) > maxMessages {
		b.err = reject("messages", "has %d messages; a prompt has at most %d", len(b.messages), maxMessages)
	}
	if b.err != nil {
		return Version{}, b.err
	}
	var err error
	if b.version.Messages, err = jsontext.Encode(b.messages); err != nil {
		return Version{}, err
	}
	config, err := jsontext.Encode(b.version.ModelConfig)
	if err != nil {
		return Version{}, err
	}
	variables, err := jsontext.Encode(b.version.Variables)
	if err != nil {
		return Version{}, err
	}
	for path, raw := range map[string]json.RawMessage{
		"messages": b.version.Messages, "tools": b.version.Tools, "response_format": b.version.ResponseFormat, "model_config": config, "variables": variables,
	} {
		if hasNUL(raw) {
			return Version{}, reject(path, "has the character U+0000, which cannot be stored")
		}
	}
	return b.version, nil
}

// hasNUL reports whether JSON has U+0000 in a text, which is always written as an escape.
func hasNUL(raw json.RawMessage) bool {
	const escape = `\u0000`
	for rest := string(raw); ; {
		i := strings.Index(rest, escape)
		if i < 0 {
			return false
		}
		before := rest[:i]
		if (len(before)-len(strings.TrimRight(before, `\`)))%2 == 0 {
			return true
		}
		rest = rest[i+len(escape):]
	}
}

// place is where the next message goes.
func (b *builder) place() string { return fmt.Sprintf("messages[%d]", len(b.messages)) }

// converted converts a text.
func (b *builder) converted(path, source string, from syntax) string {
	result, conversions, err := convert(source, from)
	var bad *templateError
	if errors.As(err, &bad) {
		err = &rejection{path, bad.line, bad.reason}
	}
	b.fail(err)
	slices.SortStableFunc(conversions, func(a, b Conversion) int { return a.Line - b.Line })
	for _, c := range conversions {
		c.Path = path
		if !b.listed[c] {
			b.listed[c] = true
			b.version.Conversions = append(b.version.Conversions, c)
		}
	}
	return result
}

// role takes the roles of chat completions, and LangChain's names of them.
func (b *builder) role(role, path string) string {
	switch role {
	case "system", "developer", "user", "assistant", "tool":
		return role
	case "human", "ai":
		named := map[string]string{"human": "user", "ai": "assistant"}[role]
		b.version.Conversions = append(b.version.Conversions, Conversion{path + ".role", 1, role, named})
		return named
	default:
		b.fail(reject(path+".role", "%s is none of system, developer, user, assistant and tool", shown(role)))
		return ""
	}
}

// addText adds a message that is one text.
func (b *builder) addText(role, text string) {
	path := b.place()
	b.messages = append(b.messages, message{Role: b.role(role, path), Content: b.converted(path+".content", text, b.syntax)})
}

// addPlaceholder adds a place for messages.
func (b *builder) addPlaceholder(name string) {
	if !placeholderPattern.MatchString(name) {
		b.fail(reject(b.place()+".name", "%s is no name of a placeholder: it has up to 64 letters, digits, and any of _ . -", shown(name)))
	}
	b.messages = append(b.messages, message{Type: "placeholder", Name: name})
}

// addMessage adds a message in the shape of chat completions or of the Responses API.
func (b *builder) addMessage(o object) {
	path := b.place()
	switch kind := o.text("type"); kind {
	case "function_call":
		b.addFunctionCall(o)
		return
	case "function_call_output":
		b.addMessage(object{"role": json.RawMessage(`"tool"`), "tool_call_id": o["call_id"], "content": o["output"]})
		return
	case "placeholder":
		b.addPlaceholder(o.text("name"))
		return
	case "reasoning":
		b.version.leaveOut(path, "the reasoning of a model has no place in a prompt")
		return
	case "", "message", "chatmessage":
	default:
		if o.text("role") == "" {
			b.fail(reject(path, "is an item of the type %s, which is no message", shown(kind)))
			return
		}
	}
	m := message{
		Role: b.role(o.text("role"), path), Name: o.text("name"), ToolCallID: o.text("tool_call_id"),
		Content: b.content(o["content"], path),
	}
	calls, _ := value{raw: o["tool_calls"]}.list()
	for i, call := range calls {
		b.checkToolCall(call, fmt.Sprintf("%s.tool_calls[%d]", path, i))
		m.ToolCalls = append(m.ToolCalls, call.raw)
	}
	switch {
	case m.Content == nil && m.ToolCalls == nil:
		b.fail(reject(path+".content", "has no text"))
	case m.ToolCalls != nil && m.Role != "assistant":
		b.fail(reject(path+".tool_calls", "only an assistant calls tools"))
	case m.Role == "tool" && m.ToolCallID == "":
		b.fail(reject(path+".tool_call_id", "is missing"))
	}
	rest := maps.Clone(o)
	for _, name := range []string{"type", "id", "status", "role", "name", "content", "tool_calls", "tool_call_id"} {
		delete(rest, name)
	}
	b.leaveOutMembers(rest, path, "messages of chat completions do not have it")
	b.messages = append(b.messages, m)
}

// checkToolCall refuses calls that are not as in chat completions.
func (b *builder) checkToolCall(v value, path string) {
	call, _ := v.object()
	f, _ := asObject(call["function"])
	_, hasArguments := text(f["arguments"])
	if call.text("id") == "" || call.text("type") == "function" && (f.text("name") == "" || !hasArguments) {
		b.fail(reject(path, "is no call of a tool with id, and function.name and function.arguments as texts"))
	}
}

// addFunctionCall adds a call of the Responses API. Calls in a row are one message of chat completions.
func (b *builder) addFunctionCall(o object) {
	call, err := jsontext.Encode(toolCall{o.text("call_id"), "function", functionCall{o.text("name"), o.text("arguments")}})
	b.fail(err)
	b.checkToolCall(value{raw: call}, b.place())
	if last := len(b.messages) - 1; last >= 0 && b.messages[last].Role == "assistant" && b.messages[last].ToolCalls != nil {
		b.messages[last].ToolCalls = append(b.messages[last].ToolCalls, call)
		return
	}
	b.messages = append(b.messages, message{Role: "assistant", ToolCalls: []json.RawMessage{call}})
}

// content takes a text, or a list of parts in the shape of chat completions or of the Responses API.
func (b *builder) content(raw json.RawMessage, path string) any {
	path += ".content"
	if jsontext.IsNull(raw) {
		return nil
	}
	if s, ok := text(raw); ok {
		return b.converted(path, s, b.syntax)
	}
	items, isList := value{raw: raw}.list()
	if !isList {
		b.fail(reject(path, "is neither a text nor a list of parts; a text that begins with {{ needs quotes in YAML"))
		return nil
	}
	if len(items) == 1 { // one text is the same as a text
		if o, ok := items[0].object(); ok && isTextPart(o) {
			return b.converted(path, o.text("text"), b.syntax)
		}
	}
	parts := make([]any, 0, len(items))
	for i, item := range items {
		parts = append(parts, b.part(item.raw, fmt.Sprintf("%s[%d]", path, i)))
	}
	return parts
}

func isTextPart(o object) bool {
	_, ok := text(o["text"])
	return ok && slices.Contains([]string{"text", "input_text", "output_text"}, o.text("type"))
}

func (b *builder) part(raw json.RawMessage, path string) any {
	if s, ok := text(raw); ok {
		return textPart{"text", b.converted(path+".text", s, b.syntax)}
	}
	o, isObject := asObject(raw)
	if !isObject {
		b.fail(reject(path, "is no part of a message"))
		return nil
	}
	kind := o.text("type")
	switch {
	case isTextPart(o):
		return textPart{"text", b.converted(path+".text", o.text("text"), b.syntax)}
	case kind == "image_url" || kind == "input_image":
		image := imageURL{URL: o.text("image_url"), Detail: o.text("detail")}
		if inner, ok := asObject(o["image_url"]); ok {
			image = imageURL{inner.text("url"), inner.text("detail")}
		}
		if image.URL == "" {
			b.fail(reject(path, "is an image without a URL: a file of an account at OpenAI cannot be a part of a prompt"))
			return nil
		}
		image.URL = b.converted(path+".image_url.url", image.URL, b.syntax)
		return imagePart{"image_url", image}
	case kind == "input_file" && o.text("file_id")+o.text("file_data") != "":
		return filePart{"file", file{o.text("file_id"), o.text("file_data"), o.text("filename")}}
	case kind == "file" || kind == "input_audio" || kind == "refusal":
		return raw
	default:
		b.fail(reject(path, "is a part of the type %s, which messages of chat completions do not have", shown(kind)))
		return nil
	}
}
