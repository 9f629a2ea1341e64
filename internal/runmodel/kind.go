package runmodel

import "cmp"

// kindOfOperation maps gen_ai.operation.name to a kind (OpenTelemetry GenAI semantic conventions,
// docs/gen-ai/gen-ai-spans.md and gen-ai-agent-spans.md). It returns "" for operations without one.
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

// EffectiveKind returns the kind of a folded span: what the client said, else what its operation implies, else
// `agent` for a native run and `span` for any other span.
func (s *Span) EffectiveKind() string {
	fallback := KindSpan
	if s.IsRun {
		fallback = KindAgent
	}
	return cmp.Or(s.Kind, kindOfOperation(s.Operation), fallback)
}

// EffectiveStatus returns the state of a folded span. A stated outcome wins. Otherwise a span with an error is
// `error`, one with an end time `ok`, and any other `running`.
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

// HasUsage reports whether the span has any token count.
func (s *Span) HasUsage() bool {
	return s.InputTokens != nil || s.OutputTokens != nil || s.CacheReadTokens != nil ||
		s.CacheWriteTokens != nil || s.ReasoningTokens != nil
}
