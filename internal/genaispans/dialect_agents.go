package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// strandsDialect is Strands Agents (strands-agents/sdk-python, src/strands/telemetry/tracer.py). Messages are in span
// events, in Bedrock's blocks or, newer, in the conventions' details events, of which there may be several.
var strandsDialect = dialect{
	name:      "strands",
	framework: "strands-agents",
	rules: []rule{
		{to: toTimeToFirstChunk, from: []string{"gen_ai.server.time_to_first_token"}, as: asMillis, wins: true},
		{to: toSystemInstructions, from: []string{"system_prompt"}},
		{to: toToolDefinitions, from: []string{"gen_ai.agent.tools"}},
		{to: toTags, from: []string{"tags"}},
		{to: toAgentName, from: []string{"agent.name"}},
	},
	derive: func(x *span) {
		if status := firstOf(x.str("gen_ai.tool.status"), x.str("tool.status")); status == "error" {
			x.fail("gen_ai.tool.status")
		}
		if x.kind == runmodel.KindAgent { // all that the agent object has used since it was made
			x.putOwnBool(ownUsageCounted, false)
		}
		for _, to := range []target{toToolCallArguments, toToolCallResult} {
			if x.kind != runmodel.KindTool {
				x.best[to] = candidate{}
			}
		}
	},
	// Bedrock's counts, which exclude cached tokens.
	exclusive: func(*span) bool { return true },
}

// agentFrameworkDialect is Microsoft's Agent Framework (python/packages/core/agent_framework/observability.py): the
// conventions, plus workflow spans that are recognized by name.
var agentFrameworkDialect = dialect{
	name:      "microsoft-agent-framework",
	framework: "microsoft.agent_framework",
	kind: func(x *span) (string, string) {
		name, _, _ := strings.Cut(x.Name(), " ")
		switch name {
		case "workflow.run":
			return isWorkflow.kind, isWorkflow.operation
		case "workflow.build", "executor.process", "edge_group.process", "message.send":
			return isTask.kind, isTask.operation
		}
		return "", ""
	},
	derive: func(x *span) {
		// An agent that does not know its model states "unknown".
		if x.text(toRequestModel) == "unknown" {
			x.best[toRequestModel] = candidate{}
		}
		if result, ok := parseObject(x.jsonAt(runmodel.KeyToolCallResult)); ok && result.str("type") == "function_result" {
			x.override(toToolCallResult, agentFramework, result.get("result"), runmodel.KeyToolCallResult)
		}
	},
}

// semanticKernelDialect is Semantic Kernel (dotnet/src/InternalUtilities/src/Diagnostics, python/semantic_kernel/utils/telemetry).
var semanticKernelDialect = dialect{
	name:      "semantic-kernel",
	framework: "semantic-kernel",
	rules: []rule{
		{to: toToolDefinitions, from: []string{"sk.available_functions"}},
	},
	derive: func(x *span) {
		// Python's name of an enum member.
		if reason, ok := strings.CutPrefix(x.text(toFinishReasons), "FinishReason."); ok {
			x.override(toFinishReasons, semanticKernel, string(appendString(nil, strings.ToLower(reason))), x.best[toFinishReasons].source)
		}
	},
}

// autoGenDialect is AutoGen from 0.4 on (python/packages/autogen-core/src/autogen_core/_telemetry).
var autoGenDialect = dialect{
	name:      "autogen",
	framework: "autogen",
	rules: []rule{
		{to: toInputs, from: []string{"message"}},
		{to: toAgentName, from: []string{"recipient_agent_type"}},
	},
	kind: func(x *span) (string, string) {
		if x.has(toOperation) {
			return "", ""
		}
		if x.str("messaging.operation") != "" {
			return isTask.kind, isTask.operation
		}
		return "", ""
	},
}

// ag2Dialect is AG2 (autogen/opentelemetry, ag2/middleware/builtin/telemetry.py). From 1.0 on it repeats the usage of each
// model call in a separate span, which alone has the usage of compactions, aggregations and tasks of other agents.
var ag2Dialect = dialect{
	name:      "ag2",
	framework: "ag2",
	kind:      ag2Kinds.by("ag2.span.type"),
	derive:    zeroIsNoPrice,
}

var ag2Kinds = kinds{
	"agent": isAgent, "llm": isLLM, "tool": isTool, "conversation": isWorkflow, "multi_conversation": isWorkflow,
	"speaker_selection": isTask, "code_execution": isTask, "human_input": isTask, "usage": isSpan,
}

// liveKitDialect is LiveKit Agents (livekit-agents/livekit/agents/telemetry/trace_types.py), before and after content
// attributes were renamed to lk.pii.
var liveKitDialect = dialect{
	name:      "livekit",
	framework: "livekit-agents",
	rules: []rule{
		{to: toAgentName, from: []string{"lk.agent_name", "lk.agent_label"}},
		{to: toSessionID, from: []string{"lk.pii.room_name", "lk.room_name", "lk.job_id"}},
		{to: toUserID, from: []string{"lk.pii.participant_identity", "lk.participant_identity"}},
		{to: toInputMessages, from: []string{"lk.pii.chat_ctx", "lk.chat_ctx"}},
		{to: toSystemInstructions, from: []string{"lk.pii.instructions", "lk.instructions"}},
		{to: toToolDefinitions, from: []string{"lk.function_tools"}},
		{to: toInputs, from: []string{"lk.pii.user_input", "lk.user_input", "lk.pii.input_text", "lk.input_text", "lk.pii.user_transcript", "lk.user_transcript"}},
		{to: toOutputs, from: []string{"lk.pii.response.text", "lk.response.text"}},
		{to: toTimeToFirstChunk, from: []string{"lk.response.ttft"}},
		{to: toToolName, from: []string{"lk.function_tool.name"}},
		{to: toToolCallID, from: []string{"lk.function_tool.id"}},
		{to: toToolCallArguments, from: []string{"lk.pii.function_tool.arguments", "lk.function_tool.arguments"}},
		{to: toToolCallResult, from: []string{"lk.pii.function_tool.output", "lk.function_tool.output"}},
	},
	// Span names have a meaning within the scope only.
	kind: func(x *span) (string, string) {
		if x.scope.name != "livekit-agents" {
			return "", ""
		}
		found := liveKitSpans[x.Name()]
		return found.kind, found.operation
	},
	derive: func(x *span) {
		if x.isCall() {
			x.liveKitAnswer()
		}
		if metrics, ok := parseObject(x.str("lk.llm_metrics")); ok {
			const source = "lk.llm_metrics"
			x.offer(toTimeToFirstChunk, liveKit, fromJSON, metrics.get("ttft"), source)
			x.offerUsage(liveKit, metrics, source, false)
			x.offer(toResponseModel, liveKit, fromJSON, metrics.at("metadata").get("model_name"), source)
		}
		if failed, ok := x.attrs.Get("lk.function_tool.is_error"); ok && failed.AsString() == "true" {
			x.fail("lk.function_tool.is_error")
		}
	},
}

var liveKitSpans = map[string]kindAndOperation{
	"agent_session": isWorkflow, "agent_turn": isAgent, "user_turn": isTask, "llm_node": isTask, "llm_request": isLLM,
	"llm_request_run": isTask, "function_tool": isTool, "tts_node": isSpan, "tts_request": isSpan, "eou_detection": isSpan,
	"agent_speaking": isSpan, "user_speaking": isSpan, "tts_request_run": isSpan,
}

func (x *span) liveKitAnswer() {
	text := firstOf(x.str("lk.pii.response.text"), x.str("lk.response.text"))
	calls := firstOf(x.str("lk.pii.response.function_calls"), x.str("lk.response.function_calls"))
	if text == "" && calls == "" {
		return
	}
	o := object{{"role", `"assistant"`}}
	if text != "" {
		o = append(o, member{"content", string(appendString(nil, text))})
	}
	if calls != "" {
		o = append(o, member{"tool_calls", calls})
	}
	w := writer{b: []byte{'['}}
	w.message(o, "assistant")
	x.offer(toOutputMessages, liveKit, fromCanonical, string(append(w.b, ']')), "lk.response")
}

// voltAgentDialect is VoltAgent.
var voltAgentDialect = dialect{
	name:      "voltagent",
	framework: "voltagent",
	rules: []rule{
		{to: toInputMessages, from: []string{"agent.messages", "llm.messages"}},
		{to: toSystemInstructions, from: []string{"agent.instructions"}},
		{to: toInputTokens, from: []string{"usage.prompt_tokens", "llm.usage.prompt_tokens"}},
		{to: toOutputTokens, from: []string{"usage.completion_tokens", "llm.usage.completion_tokens"}},
		{to: toTotalTokens, from: []string{"usage.total_tokens", "llm.usage.total_tokens"}},
		{to: toConversationID, from: []string{"voltagent.conversation_id"}},
		{to: toRequestModel, from: []string{"ai.model.name", "llm.model"}},
		{to: toAgentName, from: []string{"entity.name"}},
		{to: toToolName, from: []string{"tool.name"}},
		{to: toToolCallID, from: []string{"tool.call.id"}},
		{to: toFinishReasons, from: []string{"llm.finish_reason"}},
	},
	kind: voltAgentKinds.by("span.type", "entity.type"),
	derive: func(x *span) {
		if x.isCall() || x.kind == runmodel.KindAgent {
			x.offer(toOutputMessages, voltAgent, fromText, x.str("output"), "output")
		}
	},
}

var voltAgentKinds = kinds{
	"agent": isAgent, "llm": isLLM, "tool": isTool, "workflow": isWorkflow, "memory": isMemory, "retriever": isRetriever,
	"embedding": isEmbedding, "guardrail": isGuardrail, "workflow-step": isTask, "vector": isRetriever,
}

// flueDialect is Flue (@flue/opentelemetry).
var flueDialect = dialect{
	name:      "flue",
	framework: "flue",
	rules: []rule{
		{to: toToolName, from: []string{"flue.tool.name"}},
		{to: toToolCallID, from: []string{"flue.tool.call_id"}},
		{to: toToolCallArguments, from: []string{"flue.tool.arguments"}},
		{to: toToolCallResult, from: []string{"flue.tool.result"}},
		{to: toAgentName, from: []string{"flue.task.agent", "flue.agent.name"}},
		{to: toWorkflowName, from: []string{"flue.workflow.name"}},
		{to: toInputs, from: []string{"flue.task.prompt", "flue.workflow.payload", "flue.turn.input"}},
		{to: toOutputs, from: []string{"flue.task.result", "flue.workflow.result", "flue.turn.output"}},
		{to: toInputMessages, from: []string{"flue.turn.input"}},
		{to: toOutputMessages, from: []string{"flue.turn.output"}},
	},
	kind: func(x *span) (string, string) {
		if x.has(toOperation) {
			return "", ""
		}
		name, _, _ := strings.Cut(x.Name(), " ")
		switch name {
		case "flue.tool":
			return isTool.kind, isTool.operation
		case "flue.task":
			return isAgent.kind, isAgent.operation
		case "flue.workflow":
			return isWorkflow.kind, isWorkflow.operation
		case "flue.turn":
			return isLLM.kind, isLLM.operation
		}
		return "", ""
	},
}

// koogDialect is Koog (JetBrains), which writes tool calls into the content of a tool message.
var koogDialect = dialect{
	name:      "koog",
	framework: "koog",
	kind: func(x *span) (string, string) {
		if x.has(toOperation) {
			return "", ""
		}
		name := x.Name()
		switch {
		case strings.HasPrefix(name, "agent."), strings.HasPrefix(name, "run."):
			return isAgent.kind, isAgent.operation
		case strings.HasPrefix(name, "node."):
			return isTask.kind, isTask.operation
		case name == "llm.chat":
			return isLLM.kind, isLLM.operation
		case strings.HasPrefix(name, "tool."):
			return isTool.kind, isTool.operation
		}
		return "", ""
	},
}

// mastraDialect is Mastra (observability/otel-exporter). The steps and chunks of a generation repeat its usage.
var mastraDialect = dialect{
	name:      "mastra",
	framework: "mastra",
	rules: []rule{
		{to: toTags, from: []string{"mastra.tags"}},
		{to: toSessionID, from: []string{"mastra.metadata.sessionId"}},
		{to: toConversationID, from: []string{"mastra.metadata.threadId"}},
		{to: toUserID, from: []string{"mastra.metadata.userId"}},
	},
	kind: mastraKinds.by("mastra.span.type"),
	derive: func(x *span) {
		if kind := x.plainStr("mastra.span.type"); kind != "" {
			x.offer(toInputs, mastra, fromText, x.jsonAt("mastra."+kind+".input"), "mastra."+kind+".input")
			x.offer(toOutputs, mastra, fromText, x.jsonAt("mastra."+kind+".output"), "mastra."+kind+".output")
		}
		x.metadataUnder("mastra.metadata.")
	},
}

var mastraKinds = kinds{
	"agent_run": isAgent, "workflow_run": isWorkflow, "workflow_step": isTask, "model_generation": isLLM, "model_step": isTask,
	"model_chunk": isTask, "tool_call": isTool, "mcp_tool_call": isTool, "processor_run": isTask, "llm_generation": isLLM,
	"llm_step": isTask, "llm_chunk": isTask, "generic": isSpan,
}

// springAIDialect is Spring AI (spring-ai-commons AiObservationAttributes.java). Numbers are strings, and content is
// in logs only.
var springAIDialect = dialect{
	name:      "spring-ai",
	framework: "spring-ai",
	rules: []rule{
		{to: toConversationID, from: []string{"spring.ai.chat.client.conversation.id"}},
		{to: toToolName, from: []string{"spring.ai.tool.definition.name"}},
		{to: toToolDescription, from: []string{"spring.ai.tool.definition.description"}},
		{to: toToolCallID, from: []string{"spring.ai.tool.call.id"}},
		{to: toToolCallArguments, from: []string{"spring.ai.tool.call.arguments"}},
		{to: toToolCallResult, from: []string{"spring.ai.tool.call.result"}},
		{to: toToolDefinitions, from: []string{"spring.ai.model.request.tool.names", "spring.ai.chat.client.tool.names"}},
		{to: toErrorType, from: []string{"error"}},
	},
	kind: springAIKinds.by("spring.ai.kind"),
	derive: func(x *span) {
		if x.text(toErrorType) == "none" { // Micrometer writes a tag for each key
			x.best[toErrorType] = candidate{}
		}
	},
}

var springAIKinds = kinds{"chat_client": isWorkflow, "advisor": isTask, "tool_call": isTool, "vector_store": isRetriever}
