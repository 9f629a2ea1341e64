package runmodel

import (
	"encoding/json"
	"slices"
)

// Message is a message of the GenAI conventions (gen_ai-input-messages.json, gen_ai-output-messages.json).
type Message struct {
	Role  string        `json:"role"`
	Parts []MessagePart `json:"parts"`
}

// MessagePart is a part of a message. Members that its type does not have are nil or empty.
type MessagePart struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	ID        json.RawMessage `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Response  json.RawMessage `json:"response"`
	Result    json.RawMessage `json:"result"`
}

// ReadMessage parses a message. It returns false if the message does not follow the conventions.
func ReadMessage(raw json.RawMessage) (Message, bool) {
	var message Message
	if err := json.Unmarshal(raw, &message); err != nil || len(message.Parts) == 0 {
		return Message{}, false
	}
	return message, true
}

// IsCall reports whether the part asks for a tool call.
func (p *MessagePart) IsCall() bool { return p.Type == "tool_call" || p.Type == "server_tool_call" }

// Text returns the text of the part: its content, a tool call as name(arguments), a tool's response, or else its
// type.
func (p *MessagePart) Text() string {
	switch {
	case p.IsCall():
		return p.Name + "(" + PlainJSON(p.Arguments) + ")"
	case p.Type == "tool_call_response" || p.Type == "server_tool_call_response":
		return PlainJSON(p.Response) + PlainJSON(p.Result)
	}
	if text := PlainJSON(p.Content); text != "" {
		return text
	}
	return "[" + p.Type + "]"
}

// PlainJSON returns the value of a JSON string, and other JSON unchanged.
func PlainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// SinceAssistant returns the messages after the last one that the model wrote, those of users apart from the others.
// They are what is new in a call.
func SinceAssistant(messages []json.RawMessage) (user, others []json.RawMessage) {
	for _, message := range slices.Backward(messages) {
		role, text, _ := MessageText(string(message))
		if role == "assistant" && len(user)+len(others) > 0 {
			break
		}
		if role == "user" && text != "" {
			user = append(user, message)
		} else {
			others = append(others, message)
		}
	}
	slices.Reverse(user)
	slices.Reverse(others)
	return user, others
}
