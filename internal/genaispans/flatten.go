package genaispans

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxSlots limits the indices in keys. An attribute with a higher index is not mapped.
const maxSlots = 10_001

// flattened holds the attributes whose keys have an index: llm.input_messages.0.message.role.
type flattened struct {
	input, output, tools, functions, documents, scores []entry
	// lossy is true when a message lacks required data: its content, or the id of a call. inputLossy and outputLossy
	// keep it for each list.
	lossy, inputLossy, outputLossy bool
	// parts and calls belong to the message that is being written.
	parts []flatPart
	calls []flatCall
}

// entry is one such attribute. rest is the part of its key after the index.
type entry struct {
	index int
	rest  string
	value pcommon.Value
}

type flatPart struct {
	index                     int
	kind, text, url, mimeType string
	id, name, arguments       string
	// more are the other members.
	more object
}

type flatCall struct {
	index               int
	id, name, arguments string
	more                object
}

func (f *flattened) reset() {
	f.input, f.output, f.tools = f.input[:0], f.output[:0], f.tools[:0]
	f.functions, f.documents, f.scores = f.functions[:0], f.documents[:0], f.scores[:0]
	f.parts, f.calls = f.parts[:0], f.calls[:0]
	f.lossy, f.inputLossy, f.outputLossy = false, false, false
}

// release drops references to the values of a batch.
func (f *flattened) release() {
	for _, list := range [...][]entry{f.input, f.output, f.tools, f.functions, f.documents, f.scores} {
		clear(list[:cap(list)])
	}
	clear(f.parts[:cap(f.parts)])
	clear(f.calls[:cap(f.calls)])
	f.reset()
}

// indexedKey is a parsed key with an index. rest is the part after the index.
type indexedKey struct {
	list  flatList
	index int
	rest  string
}

// flatList names a list of flattened.
type flatList uint8

const (
	notFlat flatList = iota
	flatInput
	flatOutput
	flatTool
	flatFunction
	flatDocument
	flatScore
)

func (f *flattened) list(of flatList) *[]entry {
	switch of {
	case flatInput:
		return &f.input
	case flatOutput:
		return &f.output
	case flatTool:
		return &f.tools
	case flatFunction:
		return &f.functions
	case flatDocument:
		return &f.documents
	default:
		return &f.scores
	}
}

// indexedKeyOf parses a key.
func indexedKeyOf(key string) indexedKey {
	list, rest := notFlat, ""
	switch {
	case strings.HasPrefix(key, "llm."):
		rest = key[len("llm."):]
		switch {
		case cut(&rest, "input_messages."):
			list = flatInput
		case cut(&rest, "output_messages."):
			list = flatOutput
		case cut(&rest, "prompts."):
			list = flatInput
		case cut(&rest, "completions."), cut(&rest, "choices."):
			list = flatOutput
		case cut(&rest, "tools."):
			list = flatTool
		case cut(&rest, "request.functions."):
			list = flatFunction
		}
	case strings.HasPrefix(key, "gen_ai."):
		rest = key[len("gen_ai."):]
		switch {
		case cut(&rest, "prompt."):
			list = flatInput
		case cut(&rest, "completion."):
			list = flatOutput
		case cut(&rest, "tool.definitions."), cut(&rest, "request.tools."):
			list = flatFunction
		}
		if (rest == "role" || rest == "content") && list != notFlat {
			return indexedKey{list, 0, rest}
		}
	case strings.HasPrefix(key, "retrieval.documents."):
		rest, list = key[len("retrieval.documents."):], flatDocument
	default:
		return indexedKeyOfScore(key)
	}
	index, rest, ok := cutIndex(rest)
	if list == notFlat || !ok || rest == "" {
		return indexedKey{}
	}
	return indexedKey{list, index, rest}
}

// add writes an entry in its final location. Copies of whole entries are expensive during garbage collection.
func (f *flattened) add(p *indexedKey, value pcommon.Value) {
	list := f.list(p.list)
	n := len(*list)
	if n == cap(*list) {
		*list = slices.Grow(*list, 1)
	}
	*list = (*list)[:n+1]
	e := &(*list)[n]
	e.index, e.rest, e.value = p.index, p.rest, value
}

func cut(s *string, prefix string) bool {
	if !strings.HasPrefix(*s, prefix) {
		return false
	}
	*s = (*s)[len(prefix):]
	return true
}

// cutIndex takes an index and the dot behind it from the beginning of s.
func cutIndex(s string) (index int, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if index = index*10 + int(s[i]-'0'); index >= maxSlots {
			return 0, "", false
		}
		i++
	}
	if i == 0 {
		return 0, "", false
	}
	if i == len(s) {
		return index, "", true
	}
	if s[i] != '.' {
		return 0, "", false
	}
	return index, s[i+1:], true
}

func byIndex(a, b entry) int { return cmp.Compare(a.index, b.index) }

// groups calls each for the entries of every index, in order.
func groups(list []entry, each func(group []entry)) {
	if !slices.IsSortedFunc(list, byIndex) {
		slices.SortStableFunc(list, byIndex)
	}
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].index == list[from].index {
			to++
		}
		each(list[from:to])
		from = to
	}
}

// flatMessages returns the messages of entries as JSON, or "" if there are none.
func (x *span) flatMessages(list []entry, role string) string {
	if len(list) == 0 {
		return ""
	}
	w := writer{b: append(x.buffer(messagesLen(list)), '[')}
	groups(list, func(group []entry) { x.flat.message(&w, group, role) })
	w.b = append(w.b, ']')
	if w.messages == 0 {
		return ""
	}
	return x.keep(w.b)
}

// messagesLen estimates the encoded length of messages, so that they are written without a copy.
func messagesLen(list []entry) int {
	const frame = 32 // what is written around a value
	n := 0
	for i := range list {
		n += frame
		if v := list[i].value; v.Type() == pcommon.ValueTypeStr {
			n += len(v.Str())
		}
	}
	return encodedLen(n)
}

// flatMessage is one message, read from its entries.
type flatMessage struct {
	role, name, callID, finish, reasoning string
	content                               string
	hasContent                            bool
	function, functionArguments           string
}

func (f *flattened) message(w *writer, group []entry, role string) {
	f.parts, f.calls = f.parts[:0], f.calls[:0]
	m := flatMessage{role: role}
	for i := range group {
		f.field(&m, group[i].rest, group[i].value)
	}
	if !m.hasContent && len(f.parts) == 0 && len(f.calls) == 0 && m.function == "" && m.reasoning == "" {
		f.lossy = true
		return
	}
	if blocks := blocksOf(m.content); blocks != nil {
		m.write(w, f, blocks)
		return
	}
	m.write(w, f, nil)
}

func (m *flatMessage) write(w *writer, f *flattened, blocks []string) {
	role := canonicalRoleOf(m.role)
	if role == "user" && m.callID != "" && blocks == nil {
		role = "tool" // an old OpenInference for Anthropic keeps its API's role
	}
	f.lossy = f.lossy || role == "tool" && blocks == nil && m.callID == ""
	for i := range f.calls {
		f.lossy = f.lossy || f.calls[i].id == ""
	}
	if isCalls(blocks) {
		role = "assistant" // Koog writes tool
	}
	w.begin(role, m.name)
	if m.reasoning != "" {
		w.reasoning(m.reasoning, nil)
	}
	switch {
	case role != "tool" && blocks == nil && f.repeats(m.content):
		// The content is repeated in its parts.
	case role == "tool" && blocks == nil:
		response := m.content
		if !m.hasContent {
			texts := make([]string, 0, len(f.parts))
			for _, p := range f.parts {
				texts = append(texts, p.text)
			}
			response = strings.Join(texts, "\n")
		}
		w.toolText(m.callID, response)
		w.end(m.finish)
		return
	case blocks != nil:
		for _, block := range blocks {
			if o, ok := parseObject(block); ok {
				w.blockOrCall(o, block)
			}
		}
	case m.content != "":
		w.text(m.content)
	}
	slices.SortStableFunc(f.parts, func(a, b flatPart) int { return cmp.Compare(a.index, b.index) })
	for i := range f.parts {
		f.parts[i].write(w)
	}
	slices.SortStableFunc(f.calls, func(a, b flatCall) int { return cmp.Compare(a.index, b.index) })
	for _, call := range f.calls {
		if blocks == nil && len(f.parts) == 0 || call.id == "" || !w.hasID(call.id) { // do not repeat a call that is in the blocks
			w.toolCall(call.id, call.name, argumentsOf(call.arguments))
			w.also(call.more)
		}
	}
	if m.function != "" {
		w.toolCall("", m.function, argumentsOf(m.functionArguments))
	}
	w.end(m.finish)
}

// repeats reports whether the text parts together equal the content.
func (f *flattened) repeats(content string) bool {
	if len(f.parts) == 0 || content == "" {
		return false
	}
	rest := content
	for i := range f.parts {
		if kind := f.parts[i].kind; (kind == "text" || kind == "") && !cut(&rest, f.parts[i].text) {
			return false
		}
	}
	return rest == ""
}

// blockOrCall writes a block that may be a call in OpenAI's format.
func (w *writer) blockOrCall(o object, raw string) {
	if o.at("function") != nil {
		w.call(o, o.str("id"))
		return
	}
	w.partOf(o, raw)
}

// argumentsOf returns arguments that were sent as text: unchanged if they are JSON, else as a JSON string.
func argumentsOf(text string) string {
	if text == "" {
		return ""
	}
	return jsonOf(text)
}

func (p *flatPart) write(w *writer) {
	switch {
	case p.kind == "tool_use" || p.kind == "tool_call":
		w.toolCall(p.id, p.name, argumentsOf(p.arguments))
		w.also(p.more)
	case p.kind == "tool_result":
		w.toolText(p.id, p.text)
		w.also(p.more)
	case p.url != "":
		modality := "image"
		if p.kind == "audio" {
			modality = "audio"
		}
		w.media(modality, p.mimeType, p.url, "")
	case p.kind == "reasoning" || p.kind == "thinking":
		w.reasoning(p.text, p.more)
	case p.text != "" || p.kind == "text":
		w.text(p.text)
		w.also(p.more)
	case p.kind != "":
		w.verbatim(append(object{{"type", string(appendString(nil, p.kind))}}, p.more...).without())
	}
}

// field adds one entry to its message. An entry with an unknown key is not mapped.
func (f *flattened) field(m *flatMessage, rest string, value pcommon.Value) {
	cut(&rest, "message.")
	switch rest {
	case "role":
		if sent := unquoted(value.AsString()); sent != "" {
			m.role = sent
		}
	case "content", "text", "prompt.text", "completion.text":
		m.content, m.hasContent = valueText(value), true
	case "name":
		m.name = value.AsString()
	case "tool_call_id":
		m.callID = value.AsString()
	case "finish_reason":
		m.finish = value.AsString()
	case "reasoning", "reasoning_content":
		m.reasoning = value.AsString()
	case "function_call_name", "function_call.name":
		m.function = value.AsString()
	case "function_call_arguments_json", "function_call.arguments":
		m.functionArguments = valueText(value)
	default:
		switch {
		case cut(&rest, "function."): // AutoGen's message with the result of a tool
			if result, ok := parseObject(valueText(value)); ok && result.get("call_id") != "" {
				m.content, m.hasContent, m.callID = result.plain("content"), true, result.str("call_id")
			}
		case cut(&rest, "tool_calls."):
			if index, field, ok := cutIndex(rest); ok {
				f.call(index, field, value)
			}
		case cut(&rest, "contents."), cut(&rest, "content."):
			if index, field, ok := cutIndex(rest); ok {
				f.part(index, field, value)
			}
		}
	}
}

func (f *flattened) call(index int, field string, value pcommon.Value) {
	i := slices.IndexFunc(f.calls, func(c flatCall) bool { return c.index == index })
	if i < 0 {
		f.calls = append(f.calls, flatCall{index: index})
		i = len(f.calls) - 1
	}
	cut(&field, "tool_call.")
	if !cut(&field, "function.") {
		cut(&field, "custom.")
	}
	switch field {
	case "id":
		f.calls[i].id = value.AsString()
	case "name":
		f.calls[i].name = value.AsString()
	case "arguments", "input":
		f.calls[i].arguments = valueText(value)
	default:
		f.calls[i].more = append(f.calls[i].more, member{field, valueJSON(value)})
	}
}

func (f *flattened) part(index int, field string, value pcommon.Value) {
	i := slices.IndexFunc(f.parts, func(p flatPart) bool { return p.index == index })
	if i < 0 {
		f.parts = append(f.parts, flatPart{index: index})
		i = len(f.parts) - 1
	}
	p := &f.parts[i]
	cut(&field, "message_content.")
	switch field {
	case "", "text", "content", "reasoning", "thinking":
		p.text = valueText(value)
		if field == "reasoning" || field == "thinking" {
			p.kind = field
		}
	case "type":
		p.kind = value.AsString()
	case "image.image.url", "image.url", "audio.audio.url", "audio.url":
		p.url = value.AsString()
	case "audio.audio.mime_type", "image.image.mime_type", "mime_type":
		p.mimeType = value.AsString()
	case "id", "tool_use_id", "tool_call.id":
		p.id = value.AsString()
	case "name", "tool_call.function.name":
		p.name = value.AsString()
	case "input", "arguments", "tool_call.function.arguments":
		p.arguments = valueText(value)
	default:
		p.more = append(p.more, member{field, valueJSON(value)})
	}
}

// blocksOf returns the blocks of content that is a JSON list of blocks, nil for any other text.
func blocksOf(content string) []string {
	if content == "" || content[0] > ' ' && content[0] != '[' && content[0] < utf8.RuneSelf {
		return nil
	}
	trimmed := strings.TrimSpace(content)
	if len(trimmed) < len(`[{}]`) || trimmed[0] != '[' || trimmed[len(trimmed)-1] != ']' ||
		strings.TrimLeft(trimmed[1:], " \r\n\t")[0] != '{' {
		return nil
	}
	elements, ok := parseArray(trimmed)
	if !ok {
		return nil
	}
	for _, element := range elements {
		o, isObject := parseObject(element)
		if !isObject || !isBlock(o) {
			return nil
		}
	}
	return elements
}

// isBlock reports whether an object is a content block. Other objects may have a type too.
func isBlock(o object) bool {
	kind := o.str("type")
	switch kind {
	case "text":
		return o.get("text", "content") != ""
	case "tool_call", "tool_call_response", "reasoning", "blob", "uri", "file":
		return true
	case "function":
		return o.at("function") != nil
	case "":
		return isPart(o)
	}
	return aliasParts[kind]
}

func isCalls(blocks []string) bool {
	for _, block := range blocks {
		if o, ok := parseObject(block); !ok || o.at("function") == nil || o.str("type") != "function" {
			return false
		}
	}
	return len(blocks) > 0
}

// flatTools returns the tool definitions in indexed keys: whole JSON schemas, or their members.
func (x *span) flatTools() string {
	if len(x.flat.tools) == 0 && len(x.flat.functions) == 0 {
		return ""
	}
	b := append(x.buffer(0), '[')
	n := 0
	groups(x.flat.tools, func(group []entry) {
		for _, e := range group {
			if e.rest == "tool.json_schema" || e.rest == "json_schema" {
				if appended, ok := appendTool(b, valueText(e.value), n > 0); ok {
					b, n = appended, n+1
				}
			}
		}
	})
	groups(x.flat.functions, func(group []entry) {
		var tool object
		for _, e := range group {
			switch e.rest {
			case "name", "description":
				tool = append(tool, member{e.rest, string(appendString(nil, valueText(e.value)))})
			case "parameters", "input_schema":
				tool = append(tool, member{"parameters", jsonOf(valueText(e.value))})
			}
		}
		if tool.get("name") != "" {
			b, n = appendFlatTool(b, tool, n > 0), n+1
		}
	})
	if n == 0 {
		return ""
	}
	return x.keep(append(b, ']'))
}

// flatDocuments returns the retrieved documents in indexed keys, in the format of gen-ai-retrieval-documents.json.
func (x *span) flatDocuments() string {
	if len(x.flat.documents) == 0 {
		return ""
	}
	b := append(x.buffer(0), '[')
	n := 0
	groups(x.flat.documents, func(group []entry) {
		if n > 0 {
			b = append(b, ',')
		}
		n++
		b = append(b, '{')
		for i, e := range group {
			if i > 0 {
				b = append(b, ',')
			}
			field := strings.TrimPrefix(e.rest, "document.")
			b = append(appendString(b, field), ':')
			text := valueText(e.value)
			if field == "metadata" || e.value.Type() != pcommon.ValueTypeStr {
				b = append(b, jsonOrString(text)...)
			} else {
				b = appendString(b, text)
			}
		}
		b = append(b, '}')
	})
	return x.keep(append(b, ']'))
}

// valueJSON returns a value as JSON.
func valueJSON(v pcommon.Value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return jsonOf(v.Str())
	}
	return jsonOrString(valueText(v))
}

// jsonOrString returns text that is valid JSON unchanged, and other text as a JSON string.
func jsonOrString(text string) string {
	if isJSON(text) {
		return strings.TrimSpace(text)
	}
	return string(appendString(nil, text))
}
