package runmodel

import (
	"slices"
)

// joinCalls merges the versions of log records that name a call with the span of that call. A record names a call of a
// tool by its id. A call of a model is the span that the record has the id of, else the call below that span that has the
// same tokens, else the one that was under way, or the last before it. What finds no call stays a span of its own: a
// client may record a call in its log only.
func joinCalls(folded []Span) []Span {
	if !slices.ContainsFunc(folded, func(s Span) bool { return s.isRecordOfCall() }) {
		return folded
	}
	tools, index, below := map[string]int{}, map[uint64]int{}, map[uint64][]int{}
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
			below[s.ParentSpanID] = append(below[s.ParentSpanID], i)
		}
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
				owner, ok = callAt(folded, below[record.ParentSpanID], record)
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

// callAt returns the call that a record is about.
func callAt(spans []Span, calls []int, record *Span) (call int, ok bool) {
	best := -1
	for _, i := range calls {
		s := &spans[i]
		if s.StartTime.After(record.EndTime) || record.HasUsage() && s.HasUsage() && !s.sameUsage(record) {
			continue
		}
		if best < 0 || spans[best].isBetterFor(s, record) {
			best = i
		}
	}
	return best, best >= 0
}

// isBetterFor reports whether another call fits a record better than s: it was under way at the time, or ended later.
func (s *Span) isBetterFor(other, record *Span) bool {
	at := record.EndTime
	underWay := func(c *Span) bool { return IsAbsent(c.EndTime) || !c.EndTime.Before(at) }
	if a, b := underWay(s), underWay(other); a != b {
		return b
	} else if a {
		return other.StartTime.After(s.StartTime)
	}
	return other.EndTime.After(s.EndTime)
}

// sameUsage reports whether two spans state the same tokens.
func (s *Span) sameUsage(other *Span) bool {
	return same(s.InputTokens, other.InputTokens) && same(s.OutputTokens, other.OutputTokens)
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
