package clickhouse

import "github.com/looptrace/looptrace/internal/runmodel"

// absentable are columns that many runs leave empty in all of their spans. The index of each is stored, so append new
// ones at the end. Columns that are written later than their batch, such as a cost by another price table, must not
// be among them.
var absentable = []struct {
	name  string
	empty func(*runmodel.Span) bool
}{
	{"error_type", func(s *runmodel.Span) bool { return s.ErrorType == "" }},
	{"error_message", func(s *runmodel.Span) bool { return s.ErrorMessage == "" }},
	{"error_stack", func(s *runmodel.Span) bool { return s.ErrorStack == "" }},
	{"framework", func(s *runmodel.Span) bool { return s.Framework == "" }},
	{"provider", func(s *runmodel.Span) bool { return s.Provider == "" }},
	{"request_model", func(s *runmodel.Span) bool { return s.RequestModel == "" }},
	{"response_model", func(s *runmodel.Span) bool { return s.ResponseModel == "" }},
	{"tool_name", func(s *runmodel.Span) bool { return s.ToolName == "" }},
	{"tool_call_id", func(s *runmodel.Span) bool { return s.ToolCallID == "" }},
	{"tool_arguments", func(s *runmodel.Span) bool { return s.ToolArguments == "" }},
	{"tool_result", func(s *runmodel.Span) bool { return s.ToolResult == "" }},
	{"agent_name", func(s *runmodel.Span) bool { return s.AgentName == "" }},
	{"session_id", func(s *runmodel.Span) bool { return s.SessionID == "" }},
	{"conversation_id", func(s *runmodel.Span) bool { return s.ConversationID == "" }},
	{"user_id", func(s *runmodel.Span) bool { return s.UserID == "" }},
	{"prompt_id", func(s *runmodel.Span) bool { return s.PromptID == "" }},
	{"prompt_name", func(s *runmodel.Span) bool { return s.PromptName == "" }},
	{"prompt_version", func(s *runmodel.Span) bool { return s.PromptVersion == "" }},
	{"finish_reasons", func(s *runmodel.Span) bool { return len(s.FinishReasons) == 0 }},
	{"cache_read_tokens", func(s *runmodel.Span) bool { return s.CacheReadTokens == nil }},
	{"cache_write_tokens", func(s *runmodel.Span) bool { return s.CacheWriteTokens == nil }},
	{"reasoning_tokens", func(s *runmodel.Span) bool { return s.ReasoningTokens == nil }},
	{"time_to_first_token", func(s *runmodel.Span) bool { return s.TimeToFirstToken == nil }},
	{"inputs", func(s *runmodel.Span) bool { return s.Inputs == "" }},
	{"outputs", func(s *runmodel.Span) bool { return s.Outputs == "" }},
	{"from_log", func(s *runmodel.Span) bool { return !s.FromLog }},
	{"counting", func(s *runmodel.Span) bool { return s.Counting == "" }},
	{"response_hash", func(s *runmodel.Span) bool { return s.ResponseHash == 0 }},
	{"other_tokens", func(s *runmodel.Span) bool { return s.OtherTokens == nil }},
}

// Absent returns which columns are empty in all of the spans, in the form of Bounds.Absent.
func Absent(spans []runmodel.Span) uint64 {
	absent := uint64(1)<<len(absentable) - 1
	for i := range spans {
		for index := range absentable {
			if absent&(1<<index) != 0 && !absentable[index].empty(&spans[i]) {
				absent &^= 1 << index
			}
		}
	}
	return absent
}

// IsAbsent reports whether a column is empty in all spans of a run, given Bounds.Absent.
func IsAbsent(absent uint64, column string) bool {
	for index := range absentable {
		if absentable[index].name == column {
			return absent&(1<<index) != 0
		}
	}
	return false
}
