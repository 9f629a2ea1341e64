package replay

import "encoding/json"

// ToChat converts messages of the GenAI conventions to the shape of chat completions. System instructions become the
// first message. A message with results of tools becomes one message for each of them. Parts that chat completions do not have
// are kept as they are.
func ToChat(instructions, messages []json.RawMessage) ([]json.RawMessage, error) {
	return toChat(instructions, messages)
}

// FromChat converts messages of chat completions to the GenAI conventions. ToChat of the result is the same as messages, but for spaces,
// the order of members and members that are null or empty.
func FromChat(messages []json.RawMessage) ([]json.RawMessage, error) { return fromChat(messages) }

// ToolsFromChat converts definitions of tools of chat completions to the GenAI conventions.
func ToolsFromChat(tools []json.RawMessage) ([]json.RawMessage, error) { return toolsFromChat(tools) }
