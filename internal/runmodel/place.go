package runmodel

import (
	"time"

	"github.com/google/uuid"
)

// WaitingRecord is a version of a span that was made of log records which name their conversation and no span. It waits
// for the span of their call.
type WaitingRecord struct {
	ProjectID    uuid.UUID `ch:"project_id"`
	Conversation string    `ch:"conversation"`
	At           time.Time `ch:"at"`
	RecordID     uint64    `ch:"record_id"`
	// Traces is an ExportTraceServiceRequest in protobuf with the version alone. It is empty once the record has its call.
	Traces string `ch:"traces"`
}

// Records of a call are written when it ends, by the same clock. A client that is busy may write them later, or cut the end
// of a call.
const (
	placeBefore = 2 * time.Second
	placeAfter  = 30 * time.Second
)

// PlaceRecord returns the call that a record of its conversation names, which names no span: the call of a tool with the
// same id, or the call of a model with the same tokens that ended nearest to the record. It returns nil if there is none.
func PlaceRecord(record *Span, calls []Span) *Span {
	var best *Span
	var bestDistance time.Duration
	for i := range calls {
		call := &calls[i]
		if !record.isOf(call) {
			continue
		}
		if distance := record.EndTime.Sub(call.EndTime).Abs(); best == nil || distance < bestDistance {
			best, bestDistance = call, distance
		}
	}
	return best
}

// isOf reports whether a record may be of a call.
func (s *Span) isOf(call *Span) bool {
	if call.FromLog || s.Kind != call.EffectiveKind() {
		return false
	}
	if s.Kind == KindTool {
		return s.ToolCallID != "" && s.ToolCallID == call.ToolCallID
	}
	if s.EndTime.Before(call.StartTime.Add(-placeBefore)) || !IsAbsent(call.EndTime) && s.EndTime.After(call.EndTime.Add(placeAfter)) {
		return false
	}
	return s.statesUsageOf(call)
}

// statesUsageOf reports whether a record states the tokens of a call, which may lack those of reasoning.
func (s *Span) statesUsageOf(call *Span) bool {
	if s.InputTokens == nil || s.OutputTokens == nil || call.InputTokens == nil || call.OutputTokens == nil || *s.InputTokens != *call.InputTokens {
		return false
	}
	rest := *s.OutputTokens - *call.OutputTokens
	return rest == 0 || call.ReasoningTokens == nil && s.ReasoningTokens != nil && rest == *s.ReasoningTokens
}

// takeUsage takes the usage of a call from its record if that states more parts of it: a sum may lack those that it does
// not name.
func (s *Span) takeUsage(record *Span) {
	lacksParts := s.ReasoningTokens == nil && record.ReasoningTokens != nil || s.CacheReadTokens == nil && record.CacheReadTokens != nil
	if !lacksParts || !record.statesUsageOf(s) {
		return
	}
	s.OutputTokens = record.OutputTokens
	if s.CostSource == CostComputed && record.CostSource != "" { // it was computed from fewer parts
		s.CostUSD, s.CostSource, s.PriceVersion = record.CostUSD, record.CostSource, record.PriceVersion
	}
}
