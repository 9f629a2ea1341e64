package runmodel

import "cmp"

// FetchResponse is the operation that fetches a response again: it is no call of its own.
const FetchResponse = "fetch_response"

// ModelCallOperations are the operations whose kind is KindLLM.
var ModelCallOperations = []string{"chat", "generate_content", "text_completion", FetchResponse}

// kindOfOperation maps gen_ai.operation.name to a kind (OpenTelemetry GenAI semantic conventions,
// docs/gen-ai/gen-ai-spans.md and gen-ai-agent-spans.md). It returns "" for operations without one.
func kindOfOperation(name string) string {
	switch name {
	case "chat", "generate_content", "text_completion", FetchResponse:
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

// IsGenAI reports whether this version of a span is a step of an agent: a native run, a model call, an agent, a tool or
// any other kind of step, or anything with messages. A plain span, such as an HTTP request or a database query, is not, nor
// are log records of what a client does beside its calls. IsGenAISQL decides alike.
func (s *Span) IsGenAI() bool {
	return s.IsRun || s.Kind != "" && s.Kind != KindSpan || s.Operation != "" || s.HasUsage() ||
		len(s.InputMessageIDs) > 0 || len(s.OutputMessageIDs) > 0 || s.InstructionsID != 0 || s.ToolDefinitionsID != 0
}

// IsGenAISQL is the condition on a row of the table spans that IsGenAI is on a Span.
const IsGenAISQL = "(is_run OR kind NOT IN ('', '" + KindSpan + `') OR operation != ''
	OR input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL
	OR notEmpty(input_message_ids) OR notEmpty(output_message_ids) OR instructions_id != 0 OR tool_definitions_id != 0)`

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
		s.CacheWriteTokens != nil || s.ReasoningTokens != nil || s.OtherTokens != nil
}
