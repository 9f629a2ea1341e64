package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// nativeDialect is Looptrace's own: a span that states its kind in it needs no table.
var nativeDialect = dialect{
	name: "looptrace",
	kind: func(x *span) (string, string) { return x.str(runmodel.KeyKind), "" },
	derive: func(x *span) {
		x.nativeMessages(toInputMessages, runmodel.KeyInputs)
		x.nativeMessages(toOutputMessages, runmodel.KeyOutputs)
	},
}

// nativeMessages offers an attribute that holds chat messages.
func (x *span) nativeMessages(to target, key string) {
	if text := x.jsonAt(key); holdsMessages(text) {
		x.offer(to, native, fromText, text, key)
	}
}

// holdsMessages reports whether a text is chat messages of OpenAI's or Anthropic's API: one message, a list of them, a
// request with messages, or a response with choices.
func holdsMessages(text string) bool {
	text = strings.TrimSpace(text)
	if o, ok := parseObject(text); ok {
		if o.str("role") != "" {
			return isMessage(o)
		}
		return areMessages(o.get("messages"), "") || areMessages(o.get("choices"), "message")
	}
	return areMessages(text, "")
}

// areMessages reports whether a text is a list of which every element, or its given member, has a role and a content.
func areMessages(text, within string) bool {
	list, ok := parseArray(text)
	if !ok || len(list) == 0 {
		return false
	}
	for _, element := range list {
		o, isObject := parseObject(element)
		if within != "" {
			o, isObject = o.at(within), o.at(within) != nil
		}
		if !isObject || o.str("role") == "" || !isMessage(o) {
			return false
		}
	}
	return true
}

// otelGenAIDialect is the newest conventions, whose attributes are taken as they are. The keys below are not part of
// them, or no longer, but many instrumentations write both.
var otelGenAIDialect = dialect{
	name: "otel-genai",
	rules: []rule{
		{to: toTotalTokens, from: []string{"gen_ai.usage.total_tokens", "llm.usage.total_tokens", "gen_ai.client.token.usage.total"}},
		{to: toFinishReasons, from: []string{"gen_ai.response.finish_reason"}},
		{to: toTimeToFirstChunk, from: []string{"gen_ai.client.operation.time_to_first_chunk", "gen_ai.server.time_to_first_token", "gen_ai.response.time_to_first_token", "gen_ai.streaming.time_to_first_token"}},
		{to: toCost, from: []string{"gen_ai.usage.cost", "gen_ai.usage.total_cost", "gen_ai.usage.cost.total", "gen_ai.cost.total_cost", "gen_ai.cost.total_tokens", "gen_ai.cost.total", "operation.cost"}},
		{to: toToolCallID, from: []string{"gen_ai.tool.call_id"}},
		{to: toToolCallArguments, from: []string{"gen_ai.tool.args", "gen_ai.tool.arguments", "gen_ai.tool.input", "gen_ai.tool.parameters", "tool_arguments"}},
		{to: toToolCallResult, from: []string{"gen_ai.tool.result", "gen_ai.tool.output", "tool_response"}},
		{to: toSessionID, from: []string{"gen_ai.session.id"}},
		{to: toUserID, from: []string{"enduser.id", "gen_ai.user.id", "gen_ai.request.user", "enduser.pseudo.id"}},
		{to: toStream, from: []string{"gen_ai.is_streaming", "gen_ai.request.is_stream", "llm.is_streaming"}},
		{to: toConversationID, from: []string{"gen_ai.thread.id"}},
		{to: toEnvironment, from: []string{"deployment.environment"}},
		{to: toToolDefinitions, from: []string{"gen_ai.request.available_tools", "gen_ai.tools"}},
		{to: toInputs, from: []string{"gen_ai.retrieval.query.text", "gen_ai.memory.query.text", "gen_ai.memory.content"}},
		{to: toOutputs, from: []string{"gen_ai.retrieval.documents", "gen_ai.memory.records"}},
	},
	derive: func(x *span) {
		const maxTokens = "gen_ai.request.max_tokens"
		if v, ok := x.attrs.Get(maxTokens); ok && v.Type() == pcommon.ValueTypeInt && v.Int() < 0 { // "no limit"
			x.keepOriginal(maxTokens, v)
			x.attrs.Remove(maxTokens)
		}
	},
}

// otelGenAIOldDialect is the conventions before v1.37 (model/gen-ai/deprecated of the core repository).
var otelGenAIOldDialect = dialect{
	name: "otel-genai-old",
	rules: []rule{
		{to: toProvider, from: []string{"gen_ai.system"}},
		{to: toInputTokens, from: []string{"gen_ai.usage.prompt_tokens"}},
		{to: toOutputTokens, from: []string{"gen_ai.usage.completion_tokens"}},
		{to: toSeed, from: []string{"gen_ai.openai.request.seed"}},
		{to: toOutputType, from: []string{"gen_ai.openai.request.response_format", "gen_ai.request.response_format"}},
		{to: toServiceTier, from: []string{"gen_ai.openai.request.service_tier"}},
		{to: toInputMessages, from: []string{"gen_ai.request.messages", "gen_ai.prompt"}},
		{to: toOutputMessages, from: []string{"gen_ai.response.messages", "gen_ai.completion"}},
	},
}

// genericDialect is for keys that belong to no particular instrumentation.
var genericDialect = dialect{
	name: "generic",
	rules: []rule{
		{to: toInputs, from: []string{"input.value", "input"}},
		{to: toOutputs, from: []string{"output.value", "output"}},
	},
}

// mcpDialect is the Model Context Protocol (docs/gen-ai/mcp.md of the conventions).
var mcpDialect = dialect{
	name:      "mcp",
	framework: "mcp",
	kind: func(x *span) (string, string) {
		if x.str("mcp.method.name") == "tools/call" {
			return isTool.kind, isTool.operation
		}
		return "", ""
	},
}

// toolNameOf returns the tool's name in a span name.
func toolNameOf(name string) string {
	for _, prefix := range []string{"execute_tool ", "running tool: ", "tool:", "tool.execution:", "mcp.tools.call "} {
		if tool, ok := strings.CutPrefix(name, prefix); ok {
			return tool
		}
	}
	if _, tool, ok := strings.Cut(name, "tools/call "); ok { // MCP, docs/gen-ai/mcp.md
		return tool
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".tool"), ".__call__")
}
