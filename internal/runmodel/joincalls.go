package runmodel

import (
	"slices"
	"time"
)

// joinCalls merges the versions of log records that name a call with the span of that call. A record names a call of a
// tool by its id. A call of a model is the span that the record has the id of, else the call below that span that has the
// same tokens, else the one that was under way, or the last before it. What finds no call stays a span of its own: a
// client may record a call in its log only.
func joinCalls(folded []Span) []Span {
	if !slices.ContainsFunc(folded, func(s Span) bool { return s.isRecordOfCall() }) {
		return folded
	}
	tools, index, below := map[string]int{}, map[uint64]int{}, map[callsBelow]*timeline{}
	for i := range folded {
		s := &folded[i]
		if s.isRecordOfCall() {
			continue
		}
		index[s.SpanID] = i
		switch s.EffectiveKind() {
		case KindTool:
			if _, ok := tools[s.ToolCallID]; !ok && s.ToolCallID != "" {
				tools[s.ToolCallID] = i
			}
		case KindLLM:
			at := s.callsBelow()
			if below[at] == nil {
				below[at] = &timeline{}
			}
			below[at].calls = append(below[at].calls, i)
		}
	}
	anyCall := map[uint64]*timeline{}
	for at, calls := range below {
		if anyCall[at.parent] == nil {
			anyCall[at.parent] = &timeline{}
		}
		anyCall[at.parent].calls = append(anyCall[at.parent].calls, calls.calls...)
		calls.sort(folded)
	}
	for _, calls := range anyCall {
		calls.sort(folded)
	}
	joined := make([]bool, len(folded))
	for i := range folded {
		record := &folded[i]
		if !record.isRecordOfCall() {
			continue
		}
		owner, ok := tools[record.ToolCallID]
		if record.Kind == KindLLM {
			if owner, ok = index[record.ParentSpanID]; !ok || folded[owner].EffectiveKind() != KindLLM {
				candidates := anyCall[record.ParentSpanID]
				if record.HasUsage() {
					candidates = below[record.callsBelow()]
					if candidates == nil { // a span may lack the tokens
						candidates = below[callsBelow{parent: record.ParentSpanID}]
					}
				}
				owner, ok = candidates.at(folded, record.EndTime)
			}
		}
		if !ok {
			continue
		}
		folded[owner].fill(record)
		folded[owner].Records = append(folded[owner].Records, record.SpanID)
		joined[i] = true
	}
	kept := folded[:0]
	for i := range folded {
		if !joined[i] {
			kept = append(kept, folded[i])
		}
	}
	clear(folded[len(kept):])
	return kept
}

// settleTools lets a call of a tool end as its parts did, if it does not say itself: a plain span below it that executed
// the same call and failed, or that was cancelled since somebody refused the call.
func settleTools(spans []Span) {
	tools := map[uint64]int{}
	for i := range spans {
		if s := &spans[i]; s.EffectiveKind() == KindTool && s.Status == "" && s.ErrorType == "" && s.ErrorMessage == "" {
			tools[s.SpanID] = i
		}
	}
	if len(tools) == 0 {
		return
	}
	for i := range spans {
		part := &spans[i]
		at, ok := tools[part.ParentSpanID]
		if !ok || part.EffectiveKind() != KindSpan {
			continue
		}
		tool := &spans[at]
		switch status := part.EffectiveStatus(); {
		case status == StatusCancelled, status == StatusError && part.ToolCallID != "" && part.ToolCallID == tool.ToolCallID:
			tool.Status, tool.ErrorType, tool.ErrorMessage = status, part.ErrorType, part.ErrorMessage
		}
	}
}

// isRecordOfCall reports whether a folded span is made of log records alone, which name a call.
func (s *Span) isRecordOfCall() bool { return s.FromLog && s.Kind != "" }

// callsBelow are the calls of a model below a span that state the same tokens, or none.
type callsBelow struct {
	parent        uint64
	hasUsage      bool
	input, output int64 // -1 for absent
}

func (s *Span) callsBelow() callsBelow {
	if !s.HasUsage() {
		return callsBelow{parent: s.ParentSpanID}
	}
	usage := s.usageBelow()
	return callsBelow{s.ParentSpanID, true, usage.input, usage.output}
}

// timeline finds which of some calls was under way at a time.
type timeline struct {
	calls []int // by start
	// last is for each call that of it and those before it that ended last.
	last []int
}

func (t *timeline) sort(spans []Span) {
	slices.SortFunc(t.calls, func(a, b int) int { return spans[a].StartTime.Compare(spans[b].StartTime) })
	t.last = make([]int, len(t.calls))
	for n, i := range t.calls {
		if t.last[n] = i; n > 0 && endsAfter(&spans[t.last[n-1]], &spans[i]) {
			t.last[n] = t.last[n-1]
		}
	}
}

func endsAfter(a, b *Span) bool {
	return IsAbsent(a.EndTime) && !IsAbsent(b.EndTime) || !IsAbsent(b.EndTime) && a.EndTime.After(b.EndTime)
}

// at returns the call that began last among those under way, else the one that ended last before the time.
func (t *timeline) at(spans []Span, at time.Time) (call int, ok bool) {
	if t == nil {
		return 0, false
	}
	begun, _ := slices.BinarySearchFunc(t.calls, at, func(i int, at time.Time) int {
		if spans[i].StartTime.After(at) {
			return 1
		}
		return -1
	})
	// More calls than this are not under way at once, as far as anybody would tell them apart.
	const atOnce = 64
	for n := begun - 1; n >= max(0, begun-atOnce); n-- {
		if end := spans[t.calls[n]].EndTime; IsAbsent(end) || !end.Before(at) {
			return t.calls[n], true
		}
	}
	if begun == 0 {
		return 0, false
	}
	return t.last[begun-1], true
}
