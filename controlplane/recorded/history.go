package recorded

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// History is the messages of a request as they are compared. The next request of its loop adds to it, so that all requests of a loop share the
// memory of their messages, and take the time of the new ones. It is not changed by that: what it has is, what comes after it is the next one's.
type History struct {
	Conversation
	// raw are the messages, read what was read of them.
	raw  []json.RawMessage
	read []*Message

	numbers map[string]int // of calls by their ids
	open    []int          // calls without a result
	calls   int
}

// Next returns the history of a request. If the request begins with the messages of h, which may be nil, it takes over their memory, and h must
// have no other next one.
func (h *History) Next(cache MessageCache, list []json.RawMessage) *History {
	if h == nil || !beginsWith(list, h.raw) {
		return new(History).with(cache, list)
	}
	return h.with(cache, list[len(h.raw):])
}

// with is next for the messages of h and more.
func (h *History) with(cache MessageCache, more []json.RawMessage) *History {
	n := *h
	if n.numbers == nil {
		n.numbers, n.chain = map[string]int{}, []Digest{{}}
	}
	n.raw = append(n.raw, more...)
	for _, raw := range more {
		n.read = append(n.read, cache.Read(raw))
	}
	n.extend(len(h.read))
	return &n
}

// Messages are those of the request, in the memory that the history shares.
func (h *History) Messages() []json.RawMessage { return slices.Clip(h.raw) }

// beginsWith reports whether a list begins with another one. Lists that share their memory are not compared.
func beginsWith(list, with []json.RawMessage) bool {
	switch {
	case len(with) > len(list):
		return false
	case len(with) == 0 || &list[0] == &with[0]:
		return true
	}
	for i := range with {
		if !bytes.Equal(list[i], with[i]) {
			return false
		}
	}
	return true
}

// extend compares the messages from a number on. Ids of calls become their numbers, in the order of the calls.
func (h *History) extend(from int) {
	for from < len(h.read) && h.Leading == from && h.read[from].Role == RoleSystem {
		h.system = join(h.system, h.read[from].Content)
		h.Leading++
		from++
	}
	before := len(h.body)
	for i := from; i < len(h.read); i++ {
		m := h.read[i]
		if m.isEmpty() {
			if n := len(h.body); n > 0 {
				before = h.own(before, n-1)
				h.body[n-1].upTo = i + 1
			}
			continue
		}
		for _, call := range m.Calls {
			h.calls++
			if call.ID != "" {
				h.numbers[call.ID] = h.calls
			}
			h.open = append(h.open, h.calls)
		}
		e := entry{role: m.Role, text: m.Answer, upTo: i + 1}
		if m.Role == RoleTool {
			number, known := h.numbers[m.callID]
			if !known && len(h.open) > 0 {
				number = h.open[0]
			}
			if at := slices.Index(h.open, number); at >= 0 {
				h.open = slices.Delete(h.open, at, at+1)
			}
			e.text = strconv.Itoa(number) + "\x03" + e.text
		}
		if n := len(h.body); n > 0 && m.Role == RoleAssistant && h.body[n-1].role == RoleAssistant {
			before = h.own(before, n-1)
			last := &h.body[n-1]
			last.text, last.upTo = joinAnswers(last.text, e.text), e.upTo
			continue
		}
		h.body = append(h.body, e)
	}
	// Results that follow those of the request before are sorted with them.
	results := before
	for results > 0 && results < len(h.body) && h.body[results].role == RoleTool && h.body[results-1].role == RoleTool {
		results--
	}
	if results < before {
		before = h.own(before, results)
	}
	sortResults(h.body[before:])
	for i := len(h.chain) - 1; i < len(h.body); i++ {
		h.chain = append(h.chain, link(h.chain[i], h.body[i].role, h.body[i].text))
	}
}

// own makes an entry before the shared ones this history's own, so that it can be changed. It returns how many entries are shared then.
func (h *History) own(shared, entry int) int {
	if entry >= shared {
		return shared
	}
	h.body, h.chain = slices.Clone(h.body), slices.Clone(h.chain[:entry+1])
	return entry
}
