package runmodel

import "cmp"

// kindOfOperation maps gen_ai.operation.name to a kind (OpenTelemetry GenAI semantic conventions,
// docs/gen-ai/gen-ai-spans.md and gen-ai-agent-spans.md); empty where it means none.
func kindOfOperation(name string) string {
	switch name {
	case "chat", "generate_content", "text_completion", "fetch_response":
		return KindLLM
	case "embeddings":
		return KindEmbedding
	case "retrieval":
		return KindRetriever
	case "create_agent", "invoke_agent":
		return KindAgent
	case "invoke_workflow":
		return KindWorkflow
	case "plan":
		return KindPlan
	case "execute_tool":
		return KindTool
	case "search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory", "create_memory_store", "delete_memory_store":
		return KindMemory
	}
	return ""
}

// EffectiveKind is the kind of a folded span: what the client said, else what its operation means, else
// `agent` for a native run and `span` for any other span.
func (s *Span) EffectiveKind() string {
	unsaid := KindSpan
	if s.IsRun {
		unsaid = KindAgent
	}
	return cmp.Or(s.Kind, kindOfOperation(s.Operation), unsaid)
}

// EffectiveStatus is the state of a folded span. A stated outcome stands. Otherwise an error makes it
// `error` and an end time `ok`; what has not ended is `running`.
func (s *Span) EffectiveStatus() string {
	switch s.Status {
	case StatusOK, StatusError, StatusCancelled:
		return s.Status
	}
	switch {
	case s.ErrorType != "" || s.ErrorMessage != "":
		return StatusError
	case !IsAbsent(s.EndTime):
		return StatusOK
	default:
		return StatusRunning
	}
}

// HasUsage reports whether the span knows any token count.
func (s *Span) HasUsage() bool {
	return s.InputTokens != nil || s.OutputTokens != nil || s.CacheReadTokens != nil ||
		s.CacheWriteTokens != nil || s.ReasoningTokens != nil
}
