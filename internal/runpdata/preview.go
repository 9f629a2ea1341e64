package runpdata

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxState limits the state whose messages are read, in bytes.
const maxState = 1 << 20

// lastSaid returns the text of the last message in the state of a graph ({"messages": […], …}) that is by one of the
// given roles, "" if there is none. The state begins with the question, so its own beginning says nothing of the answer.
func lastSaid(state string, by func(role string) bool) string {
	if len(state) > maxState || !strings.HasPrefix(state, "{") || !strings.Contains(state, `"messages"`) {
		return ""
	}
	var decoded struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal([]byte(state), &decoded) != nil {
		return ""
	}
	for _, raw := range slices.Backward(decoded.Messages) {
		if role, text := said(raw); text != "" && by(role) {
			return text
		}
	}
	return ""
}

func isQuestion(role string) bool { return role == "user" || role == "human" || role == "HumanMessage" }

func isAnswer(role string) bool {
	return role == "assistant" || role == "ai" || role == "model" || role == "AIMessage" || role == "AIMessageChunk"
}

// said returns the role and the text of a message of OpenAI's or Anthropic's shape, or one of LangChain's:
// {type, content}, {type, data: {content}}, or a serialized object {id: […], kwargs: {content}}.
func said(raw json.RawMessage) (role, text string) {
	var m struct {
		Role, Type   string
		ID           json.RawMessage
		Content      json.RawMessage
		Data, Kwargs struct{ Type, Content json.RawMessage }
	}
	if json.Unmarshal(raw, &m) != nil {
		return "", ""
	}
	role = m.Role
	if role == "" {
		role = m.Type
	}
	content := m.Content
	switch {
	case m.Data.Content != nil:
		content = m.Data.Content
	case m.Kwargs.Content != nil:
		content = m.Kwargs.Content
		var path []string
		if json.Unmarshal(m.ID, &path) == nil && len(path) > 0 {
			role = path[len(path)-1]
		}
	}
	return role, textOf(content)
}

// textOf returns the text of a content: a string, or a list of strings and parts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return strings.TrimSpace(text)
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, raw := range parts {
		var part struct{ Text string }
		if json.Unmarshal(raw, &text) == nil {
			texts = append(texts, text)
		} else if json.Unmarshal(raw, &part) == nil && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}
