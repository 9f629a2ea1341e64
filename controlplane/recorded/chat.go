package recorded

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// MessageCall is a tool call in a message.
type MessageCall struct {
	ID, Name, Arguments string
}

// callsOf reads tool calls of chat completions.
func callsOf(raw json.RawMessage) []MessageCall {
	list := jsontext.List(raw)
	calls := make([]MessageCall, 0, len(list))
	for _, one := range list {
		call := jsontext.Members(one)
		function := jsontext.Members(call["function"])
		if name := jsontext.String(function["name"]); name != "" {
			calls = append(calls, MessageCall{jsontext.String(call["id"]), name, jsontext.String(function["arguments"])})
		}
	}
	return calls
}

// Message is what is compared of a message.
type Message struct {
	Role    string
	Text    string // of its content
	Content string // normalised
	Calls   []MessageCall
	Answer  string // content and calls
	callID  string // of a result
}

// MessageCache keeps what was read of messages: each is in all later requests of its loop.
type MessageCache map[string]*Message

func (c MessageCache) Read(raw json.RawMessage) *Message {
	if known, ok := c[string(raw)]; ok {
		return known
	}
	m := ReadMessage(raw)
	c[string(raw)] = m
	return m
}

func (c MessageCache) readAll(list []json.RawMessage) []*Message {
	out := make([]*Message, len(list))
	for i, raw := range list {
		out[i] = c.Read(raw)
	}
	return out
}

// ReadMessage reads a message of chat completions.
func ReadMessage(raw json.RawMessage) *Message {
	members := jsontext.Members(raw)
	m := &Message{Role: jsontext.String(members["role"])}
	switch m.Role {
	case RoleDeveloper:
		m.Role = RoleSystem
	case "human":
		m.Role = RoleUser
	case "ai", "model":
		m.Role = RoleAssistant
	}
	if m.Role == "" || members["parts"] != nil { // it does not follow the conventions
		m.Text, m.Content = jsontext.String(raw), CanonicalText(jsontext.String(raw))
		m.Answer = m.Content
		return m
	}
	m.Text = textOf(members["content"])
	m.Content = contentText(members["content"], m.Text)
	if refusal := jsontext.String(members["refusal"]); refusal != "" {
		m.Content = strings.TrimSpace(m.Content + " " + Collapsed(refusal))
	}
	m.Calls = callsOf(members[KeyToolCalls])
	m.Answer = m.Content + callsText(m.Calls)
	if m.Role == RoleTool {
		m.callID = jsontext.String(members["tool_call_id"])
	}
	return m
}

// contentText is a content as it is compared: its text, and its other parts as canonical JSON.
func contentText(content json.RawMessage, text string) string {
	out := CanonicalText(text)
	if jsontext.IsString(content) {
		return out
	}
	list := jsontext.List(content)
	if list == nil && !jsontext.IsNull(content) {
		return CanonicalText(string(content))
	}
	pieces := []string{out}
	for _, raw := range list {
		part := jsontext.Members(raw)
		if jsontext.String(part["type"]) != TypeText || !jsontext.IsString(part["text"]) {
			pieces = append(pieces, CanonicalText(string(raw)))
		}
	}
	return strings.Join(pieces, "\x00")
}

func (m *Message) isEmpty() bool {
	return m.Content == "" && len(m.Calls) == 0 && m.Role != RoleTool
}

// Conversation is the messages of a request as they are compared: without ids, the system messages at its beginning apart.
type Conversation struct {
	system string
	// Leading is how many messages are the system's.
	Leading int
	body    []entry
	// chain are the digests of the beginnings of body: chain[n] is that of the first n entries.
	chain []Digest
}

// entry is a message, or several of an assistant that follow each other.
type entry struct {
	role string
	text string // normalised
	// upTo is the number of messages of the request up to the end of this entry.
	upTo int
}

// compared returns messages as they are compared.
func compared(messages []*Message) Conversation {
	h := History{read: messages, numbers: map[string]int{}, Conversation: Conversation{chain: []Digest{{}}}}
	h.extend(0)
	return h.Conversation
}

// joinAnswers joins the texts of two messages of an assistant, calls last.
func joinAnswers(a, b string) string {
	textA, callsA, _ := strings.Cut(a, "\x01")
	textB, callsB, _ := strings.Cut(b, "\x01")
	pieces := []string{strings.TrimSpace(textA + " " + textB)}
	for _, calls := range []string{callsA, callsB} {
		if calls != "" {
			pieces = append(pieces, calls)
		}
	}
	return strings.Join(pieces, "\x01")
}

// sortResults sorts results that follow each other by their calls: parallel calls end in any order.
func sortResults(body []entry) {
	for from := 0; from < len(body); {
		to := from
		for to < len(body) && body[to].role == RoleTool {
			to++
		}
		if to-from > 1 {
			ends := make([]int, 0, to-from)
			for _, e := range body[from:to] {
				ends = append(ends, e.upTo)
			}
			slices.SortStableFunc(body[from:to], func(a, b entry) int { return strings.Compare(a.text, b.text) })
			for i := range ends {
				body[from+i].upTo = ends[i]
			}
		}
		from = max(to, from+1)
	}
}

// CanonicalArguments is the canonical form of arguments. Without any they are an empty object.
func CanonicalArguments(text string) string {
	if jsontext.IsNull(json.RawMessage(text)) {
		return "{}"
	}
	if out, ok := Canonical(text); ok {
		return out
	}
	return Collapsed(text)
}

// digest names the whole conversation, and bodyDigest what comes after the system messages.
func (c *Conversation) digest() Digest {
	body := c.BodyDigest()
	return digestOf(c.system, string(body[:]))
}

// BodyDigest names what comes after the system messages.
func (c *Conversation) BodyDigest() Digest { return c.chain[len(c.body)] }

// ToolCache keeps the canonical forms of definitions of tools: they are in all requests of a loop.
type ToolCache map[string]string

func (c ToolCache) canonical(raw json.RawMessage) string {
	known, ok := c[string(raw)]
	if !ok {
		known = CanonicalText(string(raw))
		c[string(raw)] = known
	}
	return known
}

// Digest names a request: two requests with the same are the same to the model.
func (r *Request) Digest(cache MessageCache) Digest {
	c := compared(cache.readAll(r.Messages))
	return r.DigestOf(&c, ToolCache{})
}

// DigestOf is the digest of a request with the conversation that its messages are.
func (r *Request) DigestOf(c *Conversation, tools ToolCache) Digest {
	messages := c.digest()
	texts := []string{r.Model, string(messages[:])}
	for _, tool := range r.Tools {
		texts = append(texts, tools.canonical(tool))
	}
	return digestOf(append(texts, canonicalParams(r.Params))...)
}

// canonicalParams leaves out what does not change an answer.
func canonicalParams(params map[string]json.RawMessage) string {
	kept := make(map[string]json.RawMessage, len(params))
	for name, value := range params {
		if !jsontext.IsNull(value) && name != "stream" && name != "stream_options" {
			kept[name] = value
		}
	}
	raw, err := jsontext.Encode(kept)
	if err != nil {
		return "" // a value that is not JSON: it was refused when it was read
	}
	return CanonicalText(string(raw))
}

// callsText is tool calls as they are compared, without their ids.
func callsText(calls []MessageCall) string {
	var text strings.Builder
	for _, call := range calls {
		text.WriteString("\x01" + call.Name + "\x02" + CanonicalArguments(call.Arguments))
	}
	return text.String()
}
