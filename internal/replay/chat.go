package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// chatCall is a tool call in a message.
type chatCall struct {
	id, name, arguments string
}

// callsOf reads tool calls of chat completions.
func callsOf(raw json.RawMessage) []chatCall {
	list := jsontext.List(raw)
	calls := make([]chatCall, 0, len(list))
	for _, one := range list {
		call := jsontext.Members(one)
		function := jsontext.Members(call["function"])
		if name := jsontext.String(function["name"]); name != "" {
			calls = append(calls, chatCall{jsontext.String(call["id"]), name, jsontext.String(function["arguments"])})
		}
	}
	return calls
}

// chatMessage is what is compared of a message.
type chatMessage struct {
	role    string
	text    string // of its content
	content string // normalised
	calls   []chatCall
	answer  string // content and calls
	callID  string // of a result
}

// messageCache keeps what was read of messages: each is in all later requests of its loop.
type messageCache map[string]*chatMessage

func (c messageCache) read(raw json.RawMessage) *chatMessage {
	if known, ok := c[string(raw)]; ok {
		return known
	}
	m := readChat(raw)
	c[string(raw)] = m
	return m
}

func (c messageCache) readAll(list []json.RawMessage) []*chatMessage {
	out := make([]*chatMessage, len(list))
	for i, raw := range list {
		out[i] = c.read(raw)
	}
	return out
}

func readChat(raw json.RawMessage) *chatMessage {
	members := jsontext.Members(raw)
	m := &chatMessage{role: jsontext.String(members["role"])}
	switch m.role {
	case roleDeveloper:
		m.role = roleSystem
	case "human":
		m.role = roleUser
	case "ai", "model":
		m.role = roleAssistant
	}
	if m.role == "" || members["parts"] != nil { // it does not follow the conventions
		m.text, m.content = jsontext.String(raw), canonicalText(jsontext.String(raw))
		m.answer = m.content
		return m
	}
	m.text = textOf(members["content"])
	m.content = contentText(members["content"], m.text)
	if refusal := jsontext.String(members["refusal"]); refusal != "" {
		m.content = strings.TrimSpace(m.content + " " + collapsed(refusal))
	}
	m.calls = callsOf(members[keyToolCalls])
	m.answer = m.content + callsText(m.calls)
	if m.role == roleTool {
		m.callID = jsontext.String(members["tool_call_id"])
	}
	return m
}

// contentText is a content as it is compared: its text, and its other parts as canonical JSON.
func contentText(content json.RawMessage, text string) string {
	out := canonicalText(text)
	if jsontext.IsString(content) {
		return out
	}
	list := jsontext.List(content)
	if list == nil && !jsontext.IsNull(content) {
		return canonicalText(string(content))
	}
	pieces := []string{out}
	for _, raw := range list {
		part := jsontext.Members(raw)
		if jsontext.String(part["type"]) != typeText || !jsontext.IsString(part["text"]) {
			pieces = append(pieces, canonicalText(string(raw)))
		}
	}
	return strings.Join(pieces, "\x00")
}

func (m *chatMessage) isEmpty() bool {
	return m.content == "" && len(m.calls) == 0 && m.role != roleTool
}

// conversation is the messages of a request as they are compared: without ids, the system messages at its beginning apart.
type conversation struct {
	system string
	// leading is how many messages are the system's.
	leading int
	body    []entry
	// chain are the digests of the beginnings of body: chain[n] is that of the first n entries.
	chain []digest
}

// entry is a message, or several of an assistant that follow each other.
type entry struct {
	role string
	text string // normalised
	// upTo is the number of messages of the request up to the end of this entry.
	upTo int
}

// compared returns messages as they are compared.
func compared(messages []*chatMessage) conversation {
	h := history{read: messages, numbers: map[string]int{}, conversation: conversation{chain: []digest{{}}}}
	h.extend(0)
	return h.conversation
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
		for to < len(body) && body[to].role == roleTool {
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

// canonicalArguments is the canonical form of arguments. Without any they are an empty object.
func canonicalArguments(text string) string {
	if jsontext.IsNull(json.RawMessage(text)) {
		return "{}"
	}
	if out, ok := canonical(text); ok {
		return out
	}
	return collapsed(text)
}

// digest names the whole conversation, and bodyDigest what comes after the system messages.
func (c *conversation) digest() digest {
	body := c.bodyDigest()
	return digestOf(c.system, string(body[:]))
}

func (c *conversation) bodyDigest() digest { return c.chain[len(c.body)] }

// toolCache keeps the canonical forms of definitions of tools: they are in all requests of a loop.
type toolCache map[string]string

func (c toolCache) canonical(raw json.RawMessage) string {
	known, ok := c[string(raw)]
	if !ok {
		known = canonicalText(string(raw))
		c[string(raw)] = known
	}
	return known
}

// digest names a request: two requests with the same are the same to the model.
func (r *Request) digest(cache messageCache) digest {
	c := compared(cache.readAll(r.Messages))
	return r.digestOf(&c, toolCache{})
}

// digestOf is the digest of a request with the conversation that its messages are.
func (r *Request) digestOf(c *conversation, tools toolCache) digest {
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
	return canonicalText(string(raw))
}

// callsText is tool calls as they are compared, without their ids.
func callsText(calls []chatCall) string {
	var text strings.Builder
	for _, call := range calls {
		text.WriteString("\x01" + call.name + "\x02" + canonicalArguments(call.arguments))
	}
	return text.String()
}
