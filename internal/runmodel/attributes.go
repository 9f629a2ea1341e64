package runmodel

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// StringFields maps the attributes that have a column of their own to their fields of a span.
var StringFields = map[string]func(*Span) *string{
	KeyKind:              func(s *Span) *string { return &s.Kind },
	KeyStatus:            func(s *Span) *string { return &s.Status },
	KeyInputs:            func(s *Span) *string { return &s.Inputs },
	KeyOutputs:           func(s *Span) *string { return &s.Outputs },
	KeyOperationName:     func(s *Span) *string { return &s.Operation },
	KeyProviderName:      func(s *Span) *string { return &s.Provider },
	KeyRequestModel:      func(s *Span) *string { return &s.RequestModel },
	KeyResponseModel:     func(s *Span) *string { return &s.ResponseModel },
	KeyToolName:          func(s *Span) *string { return &s.ToolName },
	KeyToolCallID:        func(s *Span) *string { return &s.ToolCallID },
	KeyAgentName:         func(s *Span) *string { return &s.AgentName },
	KeyConversationID:    func(s *Span) *string { return &s.ConversationID },
	KeySessionID:         func(s *Span) *string { return &s.SessionID },
	KeyUserID:            func(s *Span) *string { return &s.UserID },
	KeyEnvironment:       func(s *Span) *string { return &s.Environment },
	KeyServiceVersion:    func(s *Span) *string { return &s.Release },
	KeyPromptID:          func(s *Span) *string { return &s.PromptID },
	KeyPromptName:        func(s *Span) *string { return &s.PromptName },
	KeyPromptVersion:     func(s *Span) *string { return &s.PromptVersion },
	KeySource:            func(s *Span) *string { return &s.Source },
	KeyDialect:           func(s *Span) *string { return &s.Dialect },
	KeyFramework:         func(s *Span) *string { return &s.Framework },
	KeyErrorMessage:      func(s *Span) *string { return &s.ErrorMessage },
	KeyErrorType:         func(s *Span) *string { return &s.ErrorType },
	KeyToolCallArguments: func(s *Span) *string { return &s.ToolArguments },
	KeyToolCallResult:    func(s *Span) *string { return &s.ToolResult },
	KeyCostSource:        func(s *Span) *string { return &s.CostSource },
	KeyPriceVersion:      func(s *Span) *string { return &s.PriceVersion },
}

// CountFields is StringFields of the attributes that count tokens.
var CountFields = map[string]func(*Span) **int64{
	KeyInputTokens:      func(s *Span) **int64 { return &s.InputTokens },
	KeyOutputTokens:     func(s *Span) **int64 { return &s.OutputTokens },
	KeyCacheReadTokens:  func(s *Span) **int64 { return &s.CacheReadTokens },
	KeyCacheWriteTokens: func(s *Span) **int64 { return &s.CacheWriteTokens },
	KeyReasoningTokens:  func(s *Span) **int64 { return &s.ReasoningTokens },
	KeyOtherTokens:      func(s *Span) **int64 { return &s.OtherTokens },
}

// RestoreAttributes returns the attributes of a span as they were received, and those that it took from its resource. It
// leaves out messages and other payloads, which the API returns in members of their own.
func (s *Span) RestoreAttributes() map[string]any {
	attributes := s.fieldAttributes()
	for key := range restoredElsewhere {
		delete(attributes, key)
	}
	if s.CostUSD != nil && s.CostSource == CostSent {
		attributes[KeyCostUSD] = *s.CostUSD
	}
	for key, value := range s.Attributes {
		attributes[key] = value
	}
	for key, value := range s.AttributesJSON {
		attributes[key] = json.RawMessage(value)
	}
	for key := range strings.FieldsSeq(s.Attributes[KeyAdded]) {
		delete(attributes, key)
	}
	delete(attributes, KeyAdded)
	delete(attributes, KeyComputedCostUSD)
	delete(attributes, KeyRecordOf)
	for key, value := range attributes {
		if replaced, ok := strings.CutPrefix(key, KeyOriginalPrefix); ok {
			delete(attributes, key)
			attributes[replaced] = value
		}
	}
	return attributes
}

// StoredAttributes returns all attributes that make ingest store the same span again without mapping it: those that were received, those
// that the mapping added, and Looptrace's own. Values are strings, bools, int64s, float64s, lists of strings, and JSON. It leaves out
// messages, instructions and tool definitions, which are contents, and what the status of an OTLP span says.
func (s *Span) StoredAttributes() map[string]any {
	attributes := s.fieldAttributes()
	if s.Status == StatusOK || s.Status == StatusError {
		delete(attributes, KeyStatus)
	}
	if s.Status == StatusError || s.Status == StatusCancelled {
		delete(attributes, KeyErrorMessage)
	}
	if s.IsRun {
		attributes[KeyRun] = true
	}
	if s.FromLog {
		attributes[KeyFromLog] = true
	}
	if s.CostUSD != nil {
		attributes[KeyCostUSD] = *s.CostUSD
	}
	if len(s.Tags) > 0 {
		attributes[KeyTags] = s.Tags
	}
	for name, value := range s.Metadata {
		attributes[KeyMetadataPrefix+name] = value
	}
	for key, value := range s.Attributes {
		attributes[key] = value
	}
	for key, value := range s.AttributesJSON {
		attributes[key] = json.RawMessage(value)
	}
	return attributes
}

// fieldAttributes returns the attributes that have a column of their own, but for cost, tags and metadata.
func (s *Span) fieldAttributes() map[string]any {
	attributes := make(map[string]any, len(s.Attributes)+len(s.AttributesJSON))
	for key, field := range StringFields {
		if value := *field(s); value != "" {
			attributes[key] = value
		}
	}
	for key, field := range CountFields {
		if value := *field(s); value != nil {
			attributes[key] = *value
		}
	}
	if s.TimeToFirstToken != nil {
		attributes[KeyTimeToFirstChunk] = *s.TimeToFirstToken
	}
	switch s.Counting {
	case CountNothing:
		attributes[KeyUsageCounted] = false
	case CountUsage:
		attributes[KeyContinuation] = true
	}
	if len(s.FinishReasons) > 0 {
		attributes[KeyFinishReasons] = s.FinishReasons
	}
	return attributes
}

// settleAdded lists the attributes that neither of two versions of a span received.
func settleAdded(older, newer *Span) string {
	if older.Attributes[KeyAdded] == newer.Attributes[KeyAdded] {
		return newer.Attributes[KeyAdded]
	}
	received := older.RestoreAttributes()
	maps.Copy(received, newer.RestoreAttributes())
	var added []string
	for _, version := range []*Span{older, newer} {
		for key := range strings.FieldsSeq(version.Attributes[KeyAdded]) {
			if _, ok := received[key]; !ok && !slices.Contains(added, key) {
				added = append(added, key)
			}
		}
	}
	return strings.Join(added, " ")
}

// restoredElsewhere are the members of a native run and the payloads: the API returns them under other names.
var restoredElsewhere = map[string]bool{
	KeyKind: true, KeyStatus: true, KeyErrorMessage: true, KeyInputs: true, KeyOutputs: true, KeyPromptID: true,
	KeyToolCallArguments: true, KeyToolCallResult: true, KeyCostSource: true, KeyPriceVersion: true,
}
