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

// MessagePart is a part of a message; what its type does not have is nil or empty.
type MessagePart struct {
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Response  json.RawMessage `json:"response"`
	Result    json.RawMessage `json:"result"`
}

// ReadMessage reads a message; false where it is of another shape.
func ReadMessage(raw json.RawMessage) (Message, bool) {
	var message Message
	if err := json.Unmarshal(raw, &message); err != nil || len(message.Parts) == 0 {
		return Message{}, false
	}
	return message, true
}

// IsCall tells that the part asks for a tool to be called.
func (p *MessagePart) IsCall() bool { return p.Type == "tool_call" || p.Type == "server_tool_call" }

// Text is what the part says: its content, a tool call as name(arguments), a tool's response, or else its type.
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

// PlainJSON is the text of a JSON string, or other JSON as it is.
func PlainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// SinceAssistant are the messages after the last one that the model wrote, which were new to the call: those of users,
// and the others.
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
