package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// conversation is the messages of a request in the shape of Anthropic's API.
type conversation struct {
	system   []json.RawMessage
	messages []*turn
}

// turn is a message with its blocks.
type turn struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// convertMessages converts the messages of chat completions. System messages become the system prompt, wherever they
// are. The name of an assistant is left out: the API knows one. Results of tools that follow each other are blocks of one message of the user, as the API requires of parallel
// calls, together with what the user says next. Reasoning of other providers is left out: there is no signature to it.
func convertMessages(messages []json.RawMessage) (*conversation, error) {
	c := &conversation{messages: []*turn{}}
	for i, raw := range messages {
		message, err := llm.Members(raw)
		if err == nil {
			err = c.add(message)
		}
		if err != nil {
			return nil, llm.Invalid("messages", fmt.Sprintf("messages[%d] cannot be sent to Anthropic: %s.", i, err), "")
		}
	}
	return c, nil
}

func (c *conversation) add(message map[string]json.RawMessage) error {
	role := llm.TextOf(message["role"])
	if role != "tool" && role != "assistant" && llm.TextOf(message["name"]) != "" {
		return fmt.Errorf("its messages have no name (%q): write it into the text", llm.TextOf(message["name"]))
	}
	switch role {
	case "system", "developer":
		blocks, err := contentBlocks(message["content"])
		c.system = append(c.system, blocks...)
		return err
	case "user":
		blocks, err := contentBlocks(message["content"])
		c.append("user", blocks)
		return err
	case "assistant":
		blocks, err := assistantBlocks(message)
		c.append("assistant", blocks)
		return err
	case "tool":
		block, err := toolResult(message)
		c.append("user", []json.RawMessage{block})
		return err
	}
	return fmt.Errorf("the role %q is not known", role)
}

// append adds blocks to the conversation: to the last turn if it has the same role, as the API itself would do. A turn
// without blocks says nothing, and the API refuses it.
func (c *conversation) append(role string, blocks []json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
		return
	}
	c.messages = append(c.messages, &turn{Role: role, Content: blocks})
}

func textBlock(s string) json.RawMessage {
	var block llm.Object
	block.Set("type", "text")
	block.Set("text", s)
	return block.Encode()
}

// contentBlocks converts content. The API refuses empty texts.
func contentBlocks(content json.RawMessage) ([]json.RawMessage, error) {
	if jsontext.IsNull(content) {
		return nil, nil
	}
	if content[0] == '"' {
		if s := llm.TextOf(content); s != "" {
			return []json.RawMessage{textBlock(s)}, nil
		}
		return nil, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	blocks := make([]json.RawMessage, 0, len(parts))
	for i, raw := range parts {
		block, err := contentBlock(raw)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		if block != nil {
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}

// contentBlock converts a part. Parts of types that chat completions do not have are Anthropic's own.
func contentBlock(raw json.RawMessage) (json.RawMessage, error) {
	part, err := llm.Members(raw)
	if err != nil {
		return nil, err
	}
	switch llm.TextOf(part["type"]) {
	case "text":
		if llm.TextOf(part["text"]) == "" {
			return nil, nil
		}
		return raw, nil
	case "refusal":
		return textBlock(llm.TextOf(part["refusal"])), nil
	case "image_url":
		return imageBlock(part)
	case "file":
		return documentBlock(part)
	case "input_audio":
		return nil, errors.New("the API takes no audio")
	}
	return raw, nil
}

// imageBlock converts an image, which is an address or a data: URL.
func imageBlock(part map[string]json.RawMessage) (json.RawMessage, error) {
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(part["image_url"], &image); err != nil {
		return nil, fmt.Errorf("image_url: %w", err)
	}
	if image.Detail != "" && image.Detail != "auto" {
		return nil, fmt.Errorf("image_url.detail: the API has no level of detail (%q)", image.Detail)
	}
	source := map[string]string{"type": "url", "url": image.URL}
	if strings.HasPrefix(image.URL, "data:") {
		media, data, err := dataURL(image.URL)
		if err != nil {
			return nil, fmt.Errorf("image_url.url: %w", err)
		}
		source = map[string]string{"type": "base64", "media_type": media, "data": data}
	}
	return sourceBlock("image", source, part, "image_url"), nil
}

// documentBlock converts a file, which is a data: URL or the id of an uploaded file.
func documentBlock(part map[string]json.RawMessage) (json.RawMessage, error) {
	var file struct {
		FileID   string `json:"file_id"`
		FileData string `json:"file_data"`
		Filename string `json:"filename"`
	}
	if err := json.Unmarshal(part["file"], &file); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if file.Filename != "" {
		part["title"] = jsontext.MustEncode(file.Filename)
	}
	if file.FileID != "" {
		return sourceBlock("document", map[string]string{"type": "file", "file_id": file.FileID}, part, "file"), nil
	}
	media, data, err := dataURL(file.FileData)
	if err != nil {
		return nil, fmt.Errorf("file.file_data: %w", err)
	}
	if media != "application/pdf" {
		return nil, fmt.Errorf("file.file_data: the API takes application/pdf, not %.100s: send a text as a text part", media)
	}
	return sourceBlock("document", map[string]string{"type": "base64", "media_type": media, "data": data}, part, "file"), nil
}

// sourceBlock returns a block with a source and the part's other members, such as cache_control.
func sourceBlock(kind string, source map[string]string, part map[string]json.RawMessage, converted string) json.RawMessage {
	delete(part, converted)
	part["type"] = jsontext.MustEncode(kind)
	part["source"] = jsontext.MustEncode(source)
	return jsontext.MustEncode(part)
}

// dataURL returns the media type and the data of a data: URL in base64.
func dataURL(address string) (media, data string, err error) {
	rest, found := strings.CutPrefix(address, "data:")
	head, data, comma := strings.Cut(rest, ",")
	media, base64 := strings.CutSuffix(head, ";base64")
	if !found || !comma || !base64 || media == "" {
		return "", "", errors.New("it must be like data:image/png;base64,iVBORw0KGgo")
	}
	media, _, _ = strings.Cut(media, ";")
	return media, data, nil
}

// toolResult converts the result of a tool.
func toolResult(message map[string]json.RawMessage) (json.RawMessage, error) {
	id := llm.TextOf(message["tool_call_id"])
	if id == "" {
		return nil, errors.New("it has no tool_call_id")
	}
	blocks, err := contentBlocks(message["content"])
	if err != nil {
		return nil, err
	}
	var result llm.Object
	result.Set("type", "tool_result")
	result.Set("tool_use_id", id)
	if len(blocks) > 0 {
		result.Set("content", blocks)
	}
	return result.Encode(), nil
}

// assistantBlocks converts what the assistant said. Blocks that came from Anthropic go back as they are.
func assistantBlocks(message map[string]json.RawMessage) ([]json.RawMessage, error) {
	for _, other := range []string{"audio", "function_call"} {
		if !jsontext.IsNull(message[other]) {
			return nil, fmt.Errorf("the API has no %s", other)
		}
	}
	blocks, err := contentBlocks(message["content"])
	if err != nil {
		return nil, err
	}
	if refusal := llm.TextOf(message["refusal"]); refusal != "" {
		blocks = append(blocks, textBlock(refusal))
	}
	calls, err := toolUses(message["tool_calls"])
	if err != nil {
		return nil, err
	}
	blocks = append(blocks, calls...)
	if jsontext.IsNull(message["anthropic_content"]) {
		return blocks, nil
	}
	var original []json.RawMessage
	if err := json.Unmarshal(message["anthropic_content"], &original); err != nil {
		return nil, fmt.Errorf("anthropic_content: %w", err)
	}
	if sameContent(original, blocks) {
		return original, nil
	}
	return append(thinking(original), blocks...), nil
}

func toolUses(raw json.RawMessage) ([]json.RawMessage, error) {
	if jsontext.IsNull(raw) {
		return nil, nil
	}
	var calls []struct {
		ID       string `json:"id"`
		Function *struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("tool_calls: %w", err)
	}
	blocks := make([]json.RawMessage, 0, len(calls))
	for i, call := range calls {
		if call.Function == nil {
			return nil, fmt.Errorf("tool_calls[%d] is not of a function", i)
		}
		input := json.RawMessage("{}")
		if strings.TrimSpace(call.Function.Arguments) != "" {
			input = json.RawMessage(call.Function.Arguments)
		}
		if _, err := llm.Members(input); err != nil {
			return nil, fmt.Errorf("tool_calls[%d].function.arguments: %w", i, err)
		}
		var block llm.Object
		block.Set("type", "tool_use")
		block.Set("id", call.ID)
		block.Set("name", call.Function.Name)
		block.Set("input", input)
		blocks = append(blocks, block.Encode())
	}
	return blocks, nil
}

// sameContent reports whether the texts and tool calls of the original blocks are still those of the message.
func sameContent(original, blocks []json.RawMessage) bool {
	var a, b spoken
	return a.read(original) && b.read(blocks) && a.text.String() == b.text.String() && bytes.Equal(jsontext.MustEncode(a.calls), jsontext.MustEncode(b.calls))
}

// spoken is what blocks say, without thinking and what servers' tools do.
type spoken struct {
	text  strings.Builder
	calls []any
}

func (s *spoken) read(blocks []json.RawMessage) bool {
	for _, raw := range blocks {
		var block struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			ID    string `json:"id"`
			Name  string `json:"name"`
			Input any    `json:"input"`
		}
		if json.Unmarshal(raw, &block) != nil {
			return false
		}
		switch block.Type {
		case "text":
			s.text.WriteString(block.Text)
		case "tool_use":
			s.calls = append(s.calls, []any{block.ID, block.Name, block.Input})
		}
	}
	return true
}

// thinking returns the thinking blocks of a message, which must come first.
func thinking(blocks []json.RawMessage) []json.RawMessage {
	var kept []json.RawMessage
	for _, raw := range blocks {
		var block struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &block) == nil && (block.Type == "thinking" || block.Type == "redacted_thinking") {
			kept = append(kept, raw)
		}
	}
	return kept
}
