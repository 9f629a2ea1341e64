package genaispans

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsonpull"
)

// writer writes messages in the newest format (gen-ai-input-messages.json and gen-ai-output-messages.json of the
// conventions). It copies JSON values unchanged.
type writer struct {
	b []byte
	// messages and parts count the elements written at the current level.
	messages, parts int
	inMessage       bool
	// roleAt and roleEnd are the offsets of the open message's role, which becomes "tool" if it has tool results only.
	roleAt, roleEnd int
	// results and others count the parts of the open message.
	results, others int
	depth           int
}

func (w *writer) begin(role, name string) {
	b := w.b
	if w.messages > 0 {
		b = append(b, ',')
	}
	w.messages++
	b = append(b, `{"role":`...)
	w.roleAt = len(b)
	b = appendString(b, canonicalRoleOf(role))
	w.roleEnd = len(b)
	if name != "" {
		b = append(b, `,"name":`...)
		b = appendString(b, name)
	}
	b = append(b, `,"parts":[`...)
	w.b = b
	w.parts, w.results, w.others, w.inMessage = 0, 0, 0, true
}

// end closes a message. A user message that consists of tool results becomes a tool message.
func (w *writer) end(finish string) {
	w.b = append(w.b, ']')
	if finish != "" {
		w.b = append(w.b, `,"finish_reason":`...)
		w.b = appendString(w.b, finish)
	}
	w.b = append(w.b, '}')
	w.inMessage = false
	if w.results > 0 && w.others == 0 && string(w.b[w.roleAt:w.roleEnd]) == `"user"` {
		copy(w.b[w.roleAt:], `"tool"`)
	}
}

func (w *writer) part() {
	if w.parts > 0 {
		w.b = append(w.b, ',')
	}
	w.parts++
}

func (w *writer) text(s string) { w.textPart(`{"type":"text","content":`, s) }

// reasoning writes reasoning with what else its block says. Reasoning that only its provider can read is a part of a type
// of its own, so that nobody takes it for empty.
func (w *writer) reasoning(s string, block object) {
	if s != "" {
		w.textPart(`{"type":"reasoning","content":`, s)
		w.also(block)
		return
	}
	if data := block.get("data", "redactedContent"); data != "" || block.get("encrypted_content", "encryptedContent", "signature") != "" {
		w.part()
		w.others++
		w.b = append(w.b, `{"type":"encrypted_reasoning"`...)
		if data != "" {
			w.b = append(append(w.b, `,"data":`...), data...)
		}
		w.b = append(w.b, '}')
		w.also(block)
	}
}

func (w *writer) textPart(head, s string) {
	w.part()
	w.others++
	b := w.b
	b = append(b, head...)
	b = appendString(b, s)
	b = append(b, '}')
	w.b = b
}

// isKept reports whether a member of a block has no name in the conventions, and says more than how it was sent.
func isKept(key string) bool {
	switch key {
	case "signature", "thought_signature", "thoughtSignature", "reasoning_signature", "encrypted_content", "encryptedContent",
		"is_error", "isError", "error", "citations", "annotations", "grounding_metadata", "groundingMetadata", "citation_metadata",
		"citationMetadata", "phase", "server_label", "approval_request_id":
		return true
	}
	return false
}

// also adds members of a block to the part that was written last.
func (w *writer) also(block object) {
	for i := range block {
		m := &block[i]
		if !isKept(m.key) {
			continue
		}
		switch m.value {
		case "", "null", `""`, "[]", "{}", "false":
		default:
			w.b = append(appendString(append(w.b[:len(w.b)-1], ','), m.key), ':')
			w.b = append(append(w.b, m.value...), '}')
		}
	}
}

// jsonText writes a value as text: the content of a JSON string, or other JSON unchanged.
func (w *writer) jsonText(value string) {
	if value != "" && value[0] == '"' {
		w.part()
		w.others++
		w.b = append(w.b, `{"type":"text","content":`...)
		w.b = append(w.b, value...)
		w.b = append(w.b, '}')
		return
	}
	w.text(value)
}

// toolCall writes a call. arguments are JSON; a string that holds a JSON object is decoded.
func (w *writer) toolCall(id, name, arguments string) {
	w.part()
	w.others++
	b := w.b
	b = append(b, `{"type":"tool_call"`...)
	if id != "" {
		b = append(b, `,"id":`...)
		b = appendString(b, id)
	}
	b = append(b, `,"name":`...)
	b = appendString(b, name)
	if arguments = decoded(arguments); arguments != "" {
		b = append(b, `,"arguments":`...)
		b = append(b, arguments...)
	}
	b = append(b, '}')
	w.b = b
}

// toolText writes a result that is text.
func (w *writer) toolText(id, text string) {
	w.beginResponse(id, "")
	w.b = appendString(w.b, text)
	w.b = append(w.b, '}')
}

// toolResponse writes a result that is JSON.
func (w *writer) toolResponse(id, name, response string) {
	if response == "" {
		response = "null"
	}
	w.beginResponse(id, name)
	w.b = append(w.b, response...)
	w.b = append(w.b, '}')
}

func (w *writer) beginResponse(id, name string) {
	w.part()
	w.results++
	b := w.b
	b = append(b, `{"type":"tool_call_response"`...)
	if id != "" {
		b = append(b, `,"id":`...)
		b = appendString(b, id)
	}
	if name != "" {
		b = append(b, `,"name":`...)
		b = appendString(b, name)
	}
	b = append(b, `,"response":`...)
	w.b = b
}

// media writes a part that is not text, by URI or by content.
func (w *writer) media(modality, mimeType, uri, content string) {
	w.part()
	w.others++
	if data, ok := strings.CutPrefix(uri, "data:"); ok {
		if head, body, found := strings.Cut(data, ","); found {
			uri, content = "", body
			if mimeType == "" {
				mimeType, _, _ = strings.Cut(head, ";")
			}
		}
	}
	if modality == "" {
		modality = modalityOf(mimeType)
	}
	if uri != "" {
		w.b = append(w.b, `{"type":"uri"`...)
	} else {
		w.b = append(w.b, `{"type":"blob"`...)
	}
	for _, m := range [...]member{{"modality", modality}, {"mime_type", mimeType}, {"uri", uri}, {"content", content}} {
		if m.value != "" {
			w.b = append(w.b, ',')
			w.b = appendString(w.b, m.key)
			w.b = append(w.b, ':')
			w.b = appendString(w.b, m.value)
		}
	}
	w.b = append(w.b, '}')
}

func modalityOf(mimeType string) string {
	kind, _, _ := strings.Cut(mimeType, "/")
	switch kind {
	case "image", "audio", "video":
		return kind
	case "":
		return "image"
	}
	return "document"
}

func (w *writer) verbatim(part string) {
	w.part()
	w.others++
	w.b = append(w.b, part...)
}

// decoded returns the JSON object or array in a JSON string, otherwise the value itself.
func decoded(value string) string {
	if plain, ok := jsonString(value); ok {
		if t := strings.TrimSpace(plain); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && isJSON(t) {
			return t
		}
		if plain == "" {
			return ""
		}
	}
	return value
}

// jsonOf returns text as JSON: unchanged if it is an object or array, else a JSON string.
func jsonOf(text string) string {
	if t := strings.TrimSpace(text); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && isJSON(t) {
		return t
	}
	return string(appendString(nil, text))
}

func canonicalRoleOf(role string) string {
	switch role {
	case "user", "assistant", "tool", "system":
		return role
	}
	switch strings.ToLower(role) {
	case "model", "ai", "aimessage", "aimessagechunk", "bot", "chatbot", "messagerole.assistant":
		return "assistant"
	case "human", "humanmessage", "messagerole.user":
		return "user"
	case "systemmessage", "messagerole.system":
		return "system"
	case "function", "toolmessage", "functionmessage":
		return "tool"
	case "":
		return "user"
	}
	return role
}

// aliasParts are other names for the conventions' part types.
var aliasParts = map[string]bool{
	"thinking": true, "redacted_thinking": true, "tool_use": true, "tool_result": true, "tool-call": true, "tool-result": true,
	"image": true, "image_url": true, "image-url": true, "input_image": true, "binary": true, "file_data": true,
	"input_text": true, "output_text": true, "input_audio": true, "output_audio": true, "audio-url": true, "video-url": true, "document-url": true,
	"function_call": true, "function_call_output": true, "custom_tool_call": true, "custom_tool_call_output": true, "toolUse": true, "toolResult": true, "toolCall": true,
	"function_result": true, "function_approval_request": false,
}

// messagesOf writes messages of any known format in the newest one. role is for messages that have none. ok is false
// if there is no message.
func messagesOf(buffer []byte, text, role string) (w writer, ok bool) {
	w.b = buffer
	w.b = append(w.b, '[')
	w.value(text, role)
	w.b = append(w.b, ']')
	return w, w.messages > 0
}

// maxWrapped limits the nesting of objects that wrap messages.
const maxWrapped = 6

// value writes the messages of a JSON value, or of text that is not JSON.
func (w *writer) value(text, role string) {
	w.depth++
	defer func() { w.depth-- }()
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed == "null" {
		return
	}
	if w.depth > maxWrapped {
		w.plainMessage(text, role)
		return
	}
	switch trimmed[0] {
	case '[':
		if w.common(trimmed) {
			return
		}
		if elements, ok := parseArray(trimmed); ok {
			w.list(elements, role)
			return
		}
	case '{':
		if o, ok := parseObject(trimmed); ok {
			w.object(o, trimmed, role)
			return
		}
	case '"':
		if plain, ok := jsonString(trimmed); ok {
			w.value(plain, role)
			return
		}
	}
	w.plainMessage(text, role)
}

// common writes messages of the most common format in one pass: {role, content} with text or blocks, and OpenAI's
// tool calls. It writes nothing and returns false for any other format.
func (w *writer) common(text string) bool {
	r := jsonpull.NewReader(bytesOf(text), maxDepth, math.MaxInt64)
	before, good := *w, true
	r.Open('[')
	for first := true; good && r.More(']', first); first = false {
		good = r.Kind() == jsonpull.Object && w.commonMessage(r)
	}
	r.End()
	if good && r.Err() == nil && w.messages > before.messages {
		return true
	}
	b := w.b[:len(before.b)]
	*w = before
	w.b = b
	return false
}

func (w *writer) commonMessage(r *jsonpull.Reader) bool {
	role, content, callID, calls := "", "", "", ""
	begun, good := false, true
	r.Open('{')
	for first := true; good && r.More('}', first); first = false {
		switch key := r.Key(); string(key) {
		case "role":
			good = role == ""
			role, _ = jsonString(aliasOf(r.Text()))
		case "content":
			good = content == "" && calls == "" && !begun
			if r.Kind() != jsonpull.Array {
				content = aliasOf(r.Text())
				good = good && (content != "" && content[0] == '"' || content == "null")
				continue
			}
			if good = good && isCommonRole(role); good {
				w.begin(role, "")
				begun = true
				good = w.commonBlocks(r, role == "tool")
			}
		case "tool_calls":
			good = calls == ""
			calls = aliasOf(r.Text())
		case "tool_call_id":
			callID, good = jsonString(aliasOf(r.Text()))
		default:
			good = false
		}
	}
	if !good || r.Err() != nil || !isCommonRole(role) {
		return false
	}
	if !begun {
		w.begin(role, "")
	}
	if content == "null" {
		content = ""
	}
	switch {
	case begun:
	case role == "tool":
		w.toolResponse(callID, "", content)
	default:
		w.content(content)
	}
	if calls != "" {
		w.calls(object{{"tool_calls", calls}})
	}
	w.end("")
	return true
}

func isCommonRole(role string) bool {
	switch role {
	case "user", "assistant", "system", "tool":
		return true
	}
	return false
}

// commonBlocks writes a list of blocks. It fails for a tool's message with a block that is not a result.
func (w *writer) commonBlocks(r *jsonpull.Reader, results bool) bool {
	n := 0
	const typical = 8
	members := make(object, 0, typical)
	r.Open('[')
	for first := true; r.More(']', first); first = false {
		if r.Kind() != jsonpull.Object {
			return false
		}
		from := r.Offset()
		o := members[:0]
		r.Open('{')
		for first := true; r.More('}', first); first = false {
			key := r.Key()
			o = append(o, member{aliasOf(key), aliasOf(r.Text())})
		}
		if r.Err() != nil {
			return false
		}
		if results {
			switch o.str("type") {
			case "tool_result", "tool-result", "tool_call_response", "toolResult":
			default:
				return false
			}
		}
		n++
		w.partOf(o, aliasOf(r.Since(from)))
	}
	return n > 0 || !results
}

func (w *writer) plainMessage(text, role string) {
	w.begin(role, "")
	w.text(text)
	w.end("")
}

// list writes the elements of an array: messages, or the parts of one message.
func (w *writer) list(elements []string, role string) {
	if len(elements) == 0 {
		return
	}
	open := false
	mixed := slices.ContainsFunc(elements, func(element string) bool {
		o, _ := cutObject(element)
		return o.get("role") != ""
	})
	for _, element := range elements {
		o, isObject := cutObject(element)
		switch kind := o.str("type"); {
		case mixed && kind != "" && !aliasParts[kind] && kind != "text" && o.get("role") == "" && isPart(o):
			// Beside messages, what is no part of any other API is an item of the Responses API.
			w.item(o, element, kind)
			continue
		case isObject && isPart(o):
			if !open {
				w.begin(role, "")
				open = true
			}
			w.partOf(o, element)
			continue
		case open:
			w.end("")
			open = false
		}
		if isObject {
			w.object(o, element, role)
		} else {
			w.value(element, role)
		}
	}
	if open {
		w.end("")
	}
}

// isPart reports whether an object is a part or content block rather than a message.
func isPart(o object) bool {
	if o.get("role", "lc", "kwargs", "messages", "message") != "" {
		return false
	}
	switch o.str("type") {
	case "":
		return o.get("text", "toolUse", "toolResult", "functionCall", "function_call", "functionResponse", "function_response",
			"inlineData", "inline_data", "fileData", "file_data", "toolRequest", "toolResponse", "reasoningContent", "media") != "" &&
			o.get("finish_reason", "content") == ""
	case "message", "human", "ai", "system", "tool", "function", "reasoning",
		"HumanMessage", "AIMessage", "SystemMessage", "ToolMessage", "generic":
		// Items of the Responses API and LangChain's messages are not parts. A reasoning part has a content or text.
		return o.str("type") == "reasoning" && o.get("content", "text", "reasoning") != "" && o.get("summary") == ""
	}
	return !isItem(o.str("type"))
}

// wrappers are the members in which frameworks wrap messages, in order of preference.
var wrappers = []string{"messages", "contents", "input", "prompt", "output", "outputs", "inputs", "generations", "choices", "candidates", "response", "completion"}

// object writes the messages of an object: a message, or an object that contains messages.
func (w *writer) object(o object, text, role string) {
	if kwargs := o.at("kwargs"); kwargs != nil && o.get("lc", "id") != "" {
		w.langChain(kwargs, o.get("id"), role)
		return
	}
	switch kind := o.str("type"); kind {
	case "human", "ai", "system", "tool", "function", "HumanMessage", "AIMessage", "SystemMessage", "ToolMessage", "AIMessageChunk":
		if data := o.at("data"); data != nil {
			o = data
		}
		if o.get("content", "tool_calls", "additional_kwargs") != "" {
			w.message(o, kind)
			return
		}
	case "reasoning":
		w.begin("assistant", "")
		w.reasoning(summaryOf(o), o)
		w.end("")
		return
	default:
		if isItem(kind) && o.get("role") == "" {
			w.item(o, text, kind)
			return
		}
	}
	if inner := o.at("message"); inner != nil { // a choice
		if inner.at("kwargs") != nil { // a generation of LangChain
			w.object(inner, text, role)
			return
		}
		w.choice(inner, o)
		return
	}
	if inner := o.at("content"); inner.get("parts") != "" { // a candidate of Gemini
		w.choice(inner, o)
		return
	}
	if o.get("role") != "" || isMessage(o) {
		w.message(o, role)
		return
	}
	if system := o.get("system", "system_instruction"); system != "" && o.get("messages", "prompt", "contents") != "" {
		if plain, ok := jsonString(system); ok && plain != "" {
			w.plainMessage(plain, "system")
		}
	}
	for _, key := range wrappers {
		if inner := o.get(key); inner != "" && inner != `""` && inner != "[]" {
			w.value(inner, role)
			return
		}
	}
	if isPart(o) {
		w.begin(role, "")
		w.partOf(o, text)
		w.end(o.str("finish_reason"))
		return
	}
	if text := o.str("text", "output_text", "answer", "question", "query"); text != "" {
		w.begin(role, "")
		w.text(text)
		w.end(o.str("finish_reason"))
		return
	}
	w.plainMessage(text, role)
}

// isMessage reports whether an object without a role is a message.
func isMessage(o object) bool {
	return o.get("parts") != "" || o.get("tool_calls") != "" || o.get("content") != "" && o.get("messages") == ""
}

// summaryOf returns the text of reasoning: its summary, then its content, each a list of texts or a text.
func summaryOf(o object) string {
	var texts []string
	for _, key := range [...]string{"summary", "content"} {
		elements, isList := cutArray(o.get(key))
		if plain := o.str(key); !isList && plain != "" {
			texts = append(texts, plain)
		}
		for _, element := range elements {
			if inner, ok := cutObject(element); ok {
				texts = append(texts, inner.plain("text"))
			}
		}
	}
	return strings.Join(texts, "\n")
}

// choice writes the message of a choice, with its finish reason.
func (w *writer) choice(message, outer object) {
	if message.get("finish_reason") == "" {
		if finish := outer.get("finish_reason", "finishReason"); finish != "" {
			message = append(message, member{"finish_reason", finish})
		}
	}
	w.message(message, "assistant")
}

// langChain writes a message in LangChain's serialization: {lc, type, id: [..., "AIMessage"], kwargs}.
func (w *writer) langChain(kwargs object, id, role string) {
	if class := langChainClass(id); class != "" {
		role = strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message")
	}
	if role == "Chat" {
		role = kwargs.str("role")
	}
	w.message(kwargs, strings.ToLower(role))
}

// langChainClass returns the name of the class that LangChain's serialization names as the last of id, empty if none.
func langChainClass(id string) string {
	path, ok := cutArray(id)
	if !ok || len(path) == 0 {
		return ""
	}
	class, _ := jsonString(path[len(path)-1])
	return class
}

// message writes one message of any format.
func (w *writer) message(o object, role string) {
	if sent := o.str("role"); sent != "" {
		role = sent
	}
	canonical := canonicalRoleOf(role)
	w.begin(canonical, o.str("name"))
	w.reasoningOf(o)
	callID := o.str("tool_call_id", "toolCallId")
	switch content := o.get("parts", "content", "contents", "text"); {
	case canonical == "tool" && (callID != "" || o.get("parts") == ""):
		if !w.toolContent(content) {
			w.toolResponse(callID, "", contentValue(content))
		}
	default:
		w.content(content)
	}
	w.besides(o)
	w.calls(o)
	if refusal := o.str("refusal"); refusal != "" {
		w.text(refusal)
	}
	if kind := o.str("type"); w.parts == 0 && kind != "" && kind != "message" && o.get("content") == "" && o.without("role", "type") != "" {
		w.verbatim(o.without("role", "id", "status")) // an item that has a role, such as more tools
	}
	w.end(o.str("finish_reason", "finishReason", "stop_reason"))
}

func isContainer(s string) bool { return s != "" && (s[0] == '{' || s[0] == '[') }

// toolContent writes the content of a tool's message if one of its blocks is a result itself, or an answer to a request
// for approval.
func (w *writer) toolContent(content string) bool {
	elements, _ := cutArray(content)
	if !slices.ContainsFunc(elements, isResult) {
		return false
	}
	w.content(content)
	return true
}

func isResult(block string) bool {
	o, _ := cutObject(block)
	switch o.str("type") {
	case "tool_result", "tool-result", "tool_call_response", "toolResult", "tool-approval-response":
		return true
	}
	return o.get("toolResult", "functionResponse", "function_response", "toolResponse") != ""
}

// content writes the content of a message: text, or blocks.
func (w *writer) content(content string) {
	if content == "" || content == `""` {
		return
	}
	if elements, ok := cutArray(content); ok {
		for _, element := range elements {
			if o, isObject := cutObject(element); isObject {
				w.partOf(o, element)
			} else if element != "null" {
				w.jsonText(element)
			}
		}
		return
	}
	if o, ok := cutObject(content); ok && isPart(o) {
		w.partOf(o, content)
		return
	}
	w.jsonText(content)
}

// calls writes the calls beside the content, unless the content has them too, and those that could not be parsed.
func (w *writer) calls(o object) {
	calls := o.get("tool_calls", "toolCalls")
	if calls == "" || calls == "[]" {
		if extra := o.at("additional_kwargs"); extra != nil {
			calls = extra.get("tool_calls")
		}
	}
	elements, _ := parseArray(calls)
	for _, element := range elements {
		call, ok := cutObject(element)
		if !ok {
			continue
		}
		id := call.str("id", "toolCallId", "call_id")
		if id != "" && w.hasID(id) {
			continue
		}
		w.call(call, id)
	}
	if function := o.at("function_call"); function != nil && !bytes.Contains(w.b[w.roleAt:], appendString([]byte(`"name":`), function.str("name"))) {
		w.toolCall("", function.str("name"), function.get("arguments"))
	}
	invalid, _ := cutArray(o.get("invalid_tool_calls")) // LangChain's
	for _, element := range invalid {
		if call, ok := cutObject(element); ok {
			w.call(call, call.str("id"))
		}
	}
}

// call writes a call of OpenAI's API, of a function or a custom tool, or of another API.
func (w *writer) call(call object, id string) {
	called := call.at("function", "custom")
	if called == nil {
		called = call
	}
	w.toolCall(id, called.str("name", "toolName"), called.get("arguments", "args", "input", "parameters"))
	w.also(call)
	if provider := call.at("extra_content").at("google"); provider != nil { // Gemini's in OpenAI's format
		w.also(provider)
	}
}

// hasID reports whether a part of the open message has the id.
func (w *writer) hasID(id string) bool {
	return bytes.Contains(w.b[w.roleAt:], appendString([]byte(`"id":`), id))
}

// contentValue returns a tool's result as JSON. A list of one text becomes that text.
func contentValue(content string) string {
	elements, ok := cutArray(content)
	if !ok {
		if value, _ := typedValue(content); value != "" {
			return value
		}
		return content
	}
	var texts []string
	for _, element := range elements {
		o, isObject := cutObject(element)
		if !isObject {
			return content
		}
		switch {
		case len(o) == 1 && o.get("json") != "" && len(elements) == 1:
			return o.get("json")
		case o.get("text") != "" && (o.str("type") == "text" || len(o) == 1 || o.str("type") == "output_text"):
			texts = append(texts, o.plain("text"))
		default:
			return content
		}
	}
	if len(texts) == 0 {
		return content
	}
	return string(appendString(nil, strings.Join(texts, "\n")))
}

// typedValue returns the value of the AI SDK's {type: json | text | error-text, value} and its type, "" for anything else.
func typedValue(content string) (value, kind string) {
	if content == "" || content[0] != '{' {
		return "", ""
	}
	s := scanner{text: content, pos: 1, ok: true}
	n := 0
	for first := true; s.more('}', first); first = false {
		key := s.key()
		s.next()
		from := s.pos
		s.skip()
		if !s.ok {
			return "", ""
		}
		switch member := content[from:s.pos]; {
		case member == "null":
		case key == "value" && value == "":
			value = member
		case key == "type":
			kind = strings.Trim(member, `"`)
		}
		n++
	}
	const maxMembers = 3
	if !s.ok || kind == "" || n > maxMembers {
		return "", ""
	}
	return value, kind
}

// partOf writes a part or block of any format.
func (w *writer) partOf(o object, raw string) {
	switch kind := o.str("type"); kind {
	case "text", "input_text", "output_text":
		switch {
		case kind == "text" && o.get("content") != "" && o.get("text") == "":
			w.verbatim(raw)
		default:
			w.jsonText(o.get("text", "content"))
			w.also(o)
		}
	case "reasoning", "thinking":
		switch content := o.get("content"); {
		case kind == "reasoning" && content != "" && content != `""` && content[0] == '"' && o.get("text") == "":
			w.verbatim(raw)
		default:
			w.reasoning(cmp.Or(o.plain("thinking", "reasoning", "text"), summaryOf(o)), o)
		}
	case "redacted_thinking":
		w.verbatim(raw)
	case "output_audio", "audio":
		w.audio(o, raw)
	case "tool_call":
		w.toolCallPart(o, raw)
	case "tool_use", "tool-call", "toolUse", "toolCall", "function_call", "custom_tool_call", "invalid_tool_call":
		w.call(o, o.str("id", "toolCallId", "call_id", "tool_call_id"))
	case "tool_call_response", "tool_result", "tool-result", "toolResult", "function_result", "function_call_output", "custom_tool_call_output":
		w.toolResult(o, raw)
	case "image_url", "image-url", "input_image", "image":
		w.image(o, raw)
	case "binary", "blob":
		if kind == "blob" && o.get("content") != "" {
			w.verbatim(raw)
			return
		}
		w.media("", o.str("media_type", "mime_type", "mimeType", "mediaType"), "", o.str("content", "data"))
	case "file_data":
		w.media("", o.str("mime_type", "mimeType"), o.str("uri", "file_uri", "fileUri"), "")
	case "audio-url":
		w.media("audio", o.str("media_type"), o.str("url"), "")
	case "video-url":
		w.media("video", o.str("media_type"), o.str("url"), "")
	case "document-url":
		w.media("document", o.str("media_type"), o.str("url"), "")
	case "input_audio":
		if audio := o.at("input_audio"); audio != nil {
			w.media("audio", mimeOf("audio", audio.str("format")), "", audio.str("data"))
		} else {
			w.audio(o, raw)
		}
	case "file":
		if o.get("data", "url") != "" && o.get("file_id") == "" { // AI SDK
			w.file(o)
			return
		}
		w.verbatim(raw)
	case "":
		w.untyped(o, raw)
	default:
		w.verbatim(raw)
	}
}

func mimeOf(modality, format string) string {
	if format == "" {
		return ""
	}
	return modality + "/" + format
}

func (w *writer) file(o object) {
	data := o.str("data", "url")
	mediaType := o.str("mediaType", "mimeType")
	if strings.Contains(data, "://") {
		w.media("", mediaType, data, "")
		return
	}
	if strings.HasPrefix(data, "data:") {
		w.media("", mediaType, data, "")
		return
	}
	w.media("", mediaType, "", data)
}

func (w *writer) toolCallPart(o object, raw string) {
	switch {
	case o.get("name") != "" && o.get("args", "input") == "" && o.get("function") == "":
		w.verbatim(raw)
	case o.get("function") != "":
		w.call(o, o.str("id"))
	default:
		w.toolCall(o.str("id", "tool_call_id"), o.str("name"), o.get("args", "input", "arguments"))
	}
}

func (w *writer) toolResult(o object, raw string) {
	kind := o.str("type")
	if kind == "tool_call_response" && o.get("response") != "" && o.get("result") == "" {
		w.part()
		w.results++
		w.b = append(w.b, raw...)
		return
	}
	id := o.str("id", "tool_use_id", "toolCallId", "call_id", "tool_call_id", "toolUseId")
	if kind == "tool_result" || kind == "tool-result" {
		id = o.str("tool_use_id", "toolCallId", "tool_call_id", "id")
	}
	sent := o.get("result", "response", "output", "content")
	response, typed := typedValue(sent)
	if response == "" {
		response = contentValue(sent)
	}
	w.toolResponse(id, o.str("name", "toolName"), response)
	w.also(o)
	if strings.HasPrefix(typed, "error-") || typed == "execution-denied" {
		w.also(object{{"is_error", "true"}})
	}
}

func (w *writer) image(o object, raw string) {
	if source := o.at("source"); source != nil { // Anthropic
		w.media("image", source.str("media_type"), source.str("url"), source.str("data"))
		return
	}
	if url := o.at("image_url"); url != nil { // OpenAI
		w.media("image", "", url.str("url"), "")
		return
	}
	address := o.str("image_url", "url", "image", "data")
	mediaType := o.str("media_type", "mediaType", "mimeType")
	switch {
	case address == "":
		w.verbatim(raw)
	case strings.Contains(address, "://") || strings.HasPrefix(address, "data:"):
		w.media("image", mediaType, address, "")
	default:
		w.media("image", mediaType, "", address)
	}
}

// untyped writes the blocks that have no type but a characteristic member: Gemini's, Bedrock's and Genkit's.
func (w *writer) untyped(o object, raw string) {
	if call := o.at("functionCall", "function_call"); call != nil {
		w.toolCall(call.str("id"), call.str("name"), call.get("args", "arguments"))
		w.also(o)
		return
	}
	if result := o.at("functionResponse", "function_response"); result != nil {
		response := result.get("response")
		if inner, ok := cutObject(response); ok && len(inner) == 1 && inner.get("result", "output") != "" {
			response = inner.get("result", "output")
		}
		w.toolResponse(result.str("id"), result.str("name"), response)
		if parts := result.get("parts"); parts != "" && parts != "[]" {
			w.b = append(append(append(w.b[:len(w.b)-1], `,"parts":`...), parts...), '}')
		}
		return
	}
	if call := o.at("toolUse"); call != nil {
		w.toolCall(call.str("toolUseId"), call.str("name"), call.get("input"))
		return
	}
	if result := o.at("toolResult"); result != nil {
		w.toolResponse(result.str("toolUseId"), "", contentValue(result.get("content")))
		if result.str("status") == "error" {
			w.also(object{{"is_error", "true"}})
		}
		return
	}
	if call := o.at("toolRequest"); call != nil {
		w.toolCall(call.str("ref"), call.str("name"), call.get("input"))
		return
	}
	if result := o.at("toolResponse"); result != nil { // Genkit's, and Gemini's of its own tools
		w.toolResponse(result.str("ref", "id"), result.str("name", "toolType"), result.get("output", "response"))
		return
	}
	if call := o.at("toolCall"); call != nil {
		w.toolCall(call.str("id"), call.str("name", "toolType"), call.get("args"))
		return
	}
	if content := o.at("reasoningContent"); content != nil {
		text := content.at("reasoningText")
		w.reasoning(text.str("text"), append(text, content...))
		return
	}
	if data := o.at("inlineData", "inline_data"); data != nil {
		w.media("", data.str("mimeType", "mime_type"), "", data.str("data"))
		return
	}
	if data := o.at("fileData", "file_data"); data != nil {
		w.media("", data.str("mimeType", "mime_type"), data.str("fileUri", "file_uri"), "")
		return
	}
	if media := o.at("media"); media != nil {
		w.media("", media.str("contentType"), media.str("url"), "")
		return
	}
	if text := o.get("text"); text != "" {
		if o.get("thought") == "true" {
			w.reasoning(o.plain("text"), o)
			return
		}
		w.jsonText(text)
		w.also(o)
		return
	}
	if text := o.get("content"); text != "" && text[0] == '"' {
		w.jsonText(text)
		return
	}
	w.unknown(o, raw)
}

// unknown writes a block of no type. The member that it consists of, such as Gemini's executableCode, names it.
func (w *writer) unknown(o object, raw string) {
	var at member
	for _, m := range o {
		if isContainer(m.value) && !isKept(m.key) {
			if at.key != "" {
				at = member{}
				break
			}
			at = m
		}
	}
	inner, ok := cutObject(at.value)
	if !ok {
		w.typed("unknown", o, raw)
		return
	}
	w.typed(snake(at.key), inner, at.value)
	w.also(o)
}

// snake converts a name from camel case.
func snake(name string) string {
	var b []byte
	for word := range wordsOf(name) {
		if len(b) > 0 {
			b = append(b, '_')
		}
		b = append(b, word...)
	}
	return string(b)
}
