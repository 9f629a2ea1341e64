package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// claudeCodeDialect is Claude Code, the command and its SDK (code.claude.com, monitoring usage). Keys have no prefix.
// Input tokens exclude cached ones.
var claudeCodeDialect = dialect{
	name:      "claude-code",
	framework: "claude-code",
	rules: []rule{
		{to: toRequestModel, from: []string{"model"}},
		{to: toResponseModel, from: []string{"response.model"}},
		{to: toInputTokens, from: []string{"input_tokens"}},
		{to: toOutputTokens, from: []string{"output_tokens"}},
		{to: toCacheReadTokens, from: []string{"cache_read_tokens"}},
		{to: toCacheWriteTokens, from: []string{"cache_creation_tokens"}},
		{to: toCost, from: []string{"cost_usd"}},
		{to: toTimeToFirstChunk, from: []string{"ttft_ms"}, as: asMillis},
		{to: toToolName, from: []string{"tool_name"}},
		{to: toToolCallID, from: []string{"tool_use_id"}},
		{to: toToolCallArguments, from: []string{"tool_input", "tool_parameters"}},
		{to: toInputs, from: []string{"user_prompt", "new_context", "prompt"}},
		{to: toOutputs, from: []string{"response.model_output"}},
		{to: toOutputMessages, from: []string{"response.model_output"}},
		{to: toInputMessages, from: []string{"new_context"}},
		{to: toErrorType, from: []string{"error_class", "error_type"}},
		{to: toErrorMessage, from: []string{"error"}},
		{to: toUserID, from: []string{"user.account_uuid", "user.email"}},
		{to: toAgentID, from: []string{"agent_id"}},
		{to: toAgentName, from: []string{"subagent", "agent_type"}},
	},
	kind: func(x *span) (string, string) {
		name := firstOf(x.plainStr("span.type"), x.Name())
		found := claudeCodeSpans[strings.TrimPrefix(name, "claude_code.")]
		return found.kind, found.operation
	},
	derive: func(x *span) {
		if success, ok := x.attrs.Get("success"); ok && success.AsString() == "false" {
			x.fail("success")
		}
		if isRefusal(x.str("decision")) {
			x.cancel("decision", x.str("source"))
		}
		if x.isCall() {
			x.offer(toProvider, claudeCode, fromText, "anthropic", "scope")
		}
		if x.kind == runmodel.KindTool {
			for _, event := range x.Events().All() {
				if event.Name() == "tool.output" {
					e := eventReader{name: event.Name(), attrs: event.Attributes()}
					x.offer(toToolCallResult, claudeCode, fromText, e.plain("output", "tool_output", "content"), event.Name())
				}
			}
		}
	},
	// The conventions' attributes include cached tokens, which newer versions send as well.
	exclusive: func(x *span) bool {
		return x.fromLog || x.best[toInputTokens].source == "input_tokens"
	},
}

var claudeCodeSpans = map[string]kindAndOperation{
	"interaction": isAgent, "llm_request": isLLM, "tool": isTool, "tool.blocked_on_user": isSpan, "tool.execution": isSpan,
	"hook": isSpan,
}

// anthropicSDKDialect is Anthropic's own SDKs and platform, which follow the conventions.
var anthropicSDKDialect = dialect{
	name: "anthropic-sdk",
	rules: []rule{
		{to: toFinishReasons, from: []string{"anthropic.message.stop_reason"}},
	},
	kind: func(x *span) (string, string) {
		if strings.HasPrefix(x.Name(), "anthropic.tool_use ") && !x.has(toOperation) {
			return isTool.kind, isTool.operation
		}
		return "", ""
	},
	derive: func(x *span) {
		if x.isCall() {
			x.offer(toProvider, anthropicSDK, fromText, "anthropic", "scope")
		}
	},
}

// codexDialect is OpenAI's Codex (codex-rs/otel). The usage of a turn is the sum of its responses, which state it
// too.
var codexDialect = dialect{
	name:      "codex",
	framework: "codex",
	rules: []rule{
		{to: toRequestModel, from: []string{"model", "slug"}},
		{to: toInputTokens, from: []string{"codex.turn.token_usage.input_tokens", "input_token_count"}},
		{to: toOutputTokens, from: []string{"codex.turn.token_usage.output_tokens", "output_token_count"}},
		{to: toTotalTokens, from: []string{"codex.turn.token_usage.total_tokens"}},
		{to: toCacheReadTokens, from: []string{"codex.turn.token_usage.cached_input_tokens", "cached_token_count", "codex.usage.cached_input_tokens"}},
		{to: toReasoningTokens, from: []string{"codex.turn.token_usage.reasoning_output_tokens", "reasoning_token_count", "codex.usage.reasoning_output_tokens"}},
		{to: toReasoningLevel, from: []string{"codex.turn.reasoning_effort"}},
		{to: toConversationID, from: []string{"conversation.id", "thread.id"}},
		{to: toUserID, from: []string{"user.account_id", "user.email"}},
		{to: toToolName, from: []string{"tool_name"}},
		{to: toToolCallID, from: []string{"call_id"}},
		{to: toToolCallArguments, from: []string{"arguments"}},
		{to: toToolCallResult, from: []string{"output"}},
		{to: toInputs, from: []string{"prompt"}},
		{to: toErrorMessage, from: []string{"error.message"}},
	},
	kind: func(x *span) (string, string) {
		switch x.Name() {
		case "session_task.turn", "session_task.review", "session_task.compact":
			return isAgent.kind, isAgent.operation
		case "handle_responses": // many of one response, of which the last has its usage
			if x.has(toInputTokens) || x.has(toOutputTokens) {
				return isLLM.kind, isLLM.operation
			}
		}
		if strings.HasPrefix(x.Name(), "dispatch_tool_call") {
			return isTool.kind, isTool.operation
		}
		return isSpan.kind, isSpan.operation
	},
	derive: func(x *span) {
		if x.isCall() || x.kind == runmodel.KindAgent {
			x.offer(toProvider, codex, fromText, "openai", "scope")
		}
		if c := &x.best[toConversationID]; c.source == "thread.id" && isNumber(c.plain()) {
			*c = candidate{} // the id of a runtime thread
		}
		if x.kind != runmodel.KindTool {
			x.best[toToolName], x.best[toToolCallID] = candidate{}, candidate{}
		}
	},
}

// copilotDialect is GitHub Copilot. Its cost counts premium requests, not dollars.
var copilotDialect = dialect{
	name:      "copilot",
	framework: "copilot",
}
