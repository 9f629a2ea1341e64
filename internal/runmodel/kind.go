package runmodel

// kindOfOperation maps gen_ai.operation.name to a kind (OpenTelemetry GenAI semantic conventions,
// docs/gen-ai/gen-ai-spans.md and gen-ai-agent-spans.md).
var kindOfOperation = map[string]string{
	"chat":             KindLLM,
	"generate_content": KindLLM,
	"text_completion":  KindLLM,
	"fetch_response":   KindLLM,
	"embeddings":       KindEmbedding,
	"retrieval":        KindRetriever,
	"create_agent":     KindAgent,
	"invoke_agent":     KindAgent,
	"invoke_workflow":  KindWorkflow,
	"plan":             KindPlan,
	"execute_tool":     KindTool,

	"search_memory":       KindMemory,
	"create_memory":       KindMemory,
	"update_memory":       KindMemory,
	"upsert_memory":       KindMemory,
	"delete_memory":       KindMemory,
	"create_memory_store": KindMemory,
	"delete_memory_store": KindMemory,
}

// EffectiveKind is the kind of a folded span: what the client said, else what its operation means, else
// `agent` for a native run and `span` for any other span.
func (s *Span) EffectiveKind() string {
	switch {
	case s.Kind != "":
		return s.Kind
	case kindOfOperation[s.Operation] != "":
		return kindOfOperation[s.Operation]
	case s.IsRun:
		return KindAgent
	default:
		return KindSpan
	}
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
