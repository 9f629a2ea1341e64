package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// liteLLMDialect is LiteLLM (litellm/integrations/opentelemetry.py). Each call has a child span with the provider's
// raw request and response, which is not a call of its own.
var liteLLMDialect = dialect{
	name:      "litellm",
	framework: "litellm",
	rules: []rule{
		{to: toSessionID, from: []string{"metadata.session_id"}},
		{to: toUserID, from: []string{"llm.user", "metadata.user_api_key_user_id", "metadata.user_api_key_end_user_id"}},
		{to: toResponseModel, from: []string{"llm.response.model"}},
	},
	kind: func(x *span) (string, string) {
		switch x.Name() {
		case "raw_gen_ai_request":
			return isSpan.kind, isSpan.operation
		case "litellm_request":
			if !x.has(toOperation) {
				return isLLM.kind, isLLM.operation
			}
		}
		if x.has(toOperation) {
			return "", ""
		}
		return openLLMetryCalls.by("llm.request.type")(x)
	},
	derive: func(x *span) {
		if x.Name() == "raw_gen_ai_request" {
			x.putOwnBool(ownUsageCounted, false)
		}
		if hidden, ok := parseObject(x.str("hidden_params")); ok {
			x.offer(toCost, liteLLM, fromJSON, hidden.get("response_cost"), "hidden_params")
		}
		const usageKey = "metadata.usage_object"
		if usage, ok := parsePython(x.str(usageKey)); ok {
			x.offerUsage(liteLLM, usage, usageKey, false)
		}
		if answer := x.text(toOutputMessages); len(x.flat.output) > 0 && strings.Contains(answer, `"parts": []`) {
			x.best[toOutputMessages] = candidate{} // what it omits there is under the older, indexed keys
			x.offer(toOutputMessages, liteLLM, fromCanonical, x.flatMessages(x.flat.output, "assistant"), "indexed keys")
		}
		x.metadataUnder("metadata.")
	},
}

// langSmithDialect is LangSmith's export to OpenTelemetry (langsmith/_internal/otel/_otel_exporter.py). A run's
// inputs and outputs are JSON. Its own kind wins over the operation, which is wrong for retrievers and prompts.
var langSmithDialect = dialect{
	name:      "langsmith",
	framework: "langchain",
	rules: []rule{
		{to: toSessionID, from: []string{"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id"}},
		{to: toUserID, from: []string{"langsmith.metadata.user_id"}},
		{to: toTags, from: []string{"langsmith.span.tags"}, as: asCommas},
		{to: toPromptName, from: []string{"langsmith.metadata.lc_hub_repo"}},
		{to: toPromptVersion, from: []string{"langsmith.metadata.lc_hub_commit_hash"}},
		{to: toRequestModel, from: []string{"langsmith.metadata.ls_model_name"}},
		{to: toProvider, from: []string{"langsmith.metadata.ls_provider"}},
		{to: toInputs, from: []string{"gen_ai.prompt"}},
		{to: toOutputs, from: []string{"gen_ai.completion"}},
	},
	kind: langSmithKinds.by("langsmith.span.kind"),
	derive: func(x *span) {
		if !x.isCall() {
			// They are the run's inputs and outputs in any format, not messages.
			x.best[toInputMessages], x.best[toOutputMessages] = candidate{}, candidate{}
			x.langSmithTool()
		}
		const usageKey = "langsmith.metadata.usage_metadata" // in newer versions, the details above are a Python repr
		if usage, ok := parseObject(x.str(usageKey)); ok {
			x.offerUsage(langSmith, usage, usageKey, false)
		}
		if input, ok := parseObject(x.str("gen_ai.prompt")); ok && x.isCall() {
			x.offerRequest(langSmith, input, "gen_ai.prompt")
		}
		x.metadataUnder("langsmith.metadata.")
		x.langSmithStatus()
	},
}

var langSmithKinds = kinds{
	"llm": isLLM, "chain": isWorkflow, "tool": isTool, "retriever": isRetriever, "embedding": isEmbedding, "prompt": isSpan, "parser": isSpan,
}

// langSmithStatus marks a run that failed. The exporter sets the status OK when a run begins, and the SDK never changes
// it, so only an exception event shows the failure.
func (x *span) langSmithStatus() {
	if x.Status().Code() != ptrace.StatusCodeOk {
		return
	}
	for _, event := range x.Events().All() {
		if event.Name() == runmodel.EventException {
			x.attrs.PutStr(runmodel.KeyStatus, runmodel.StatusError)
			return
		}
	}
}

// langSmithTool takes a tool's arguments from {input: …} and its result from a list of texts.
func (x *span) langSmithTool() {
	if input, ok := parseObject(x.str("gen_ai.prompt")); ok && x.kind == runmodel.KindTool && len(input) == 1 && input.get("input") != "" {
		x.offer(toToolCallArguments, langSmith, fromJSON, input.get("input"), "gen_ai.prompt")
	}
	output, ok := parseObject(x.str("gen_ai.completion"))
	if !ok {
		return
	}
	if x.kind == runmodel.KindTool && len(output) == 1 && output.get("output") != "" && output.at("output") == nil {
		x.offer(toToolCallResult, langSmith, fromText, output.plain("output"), "gen_ai.completion")
	}
	if output.get("content") == "" {
		return
	}
	content := contentValue(output.get("content"))
	x.best[toOutputs] = candidate{}
	x.offer(toOutputs, langSmith, fromJSON, content, "gen_ai.completion")
	if x.kind == runmodel.KindTool {
		x.offer(toToolCallResult, langSmith, fromText, x.text(toOutputs), "gen_ai.completion")
	}
}

// mlflowDialect is MLflow (mlflow/tracing/constant.py). Every value is JSON in a string.
var mlflowDialect = dialect{
	name: "mlflow",
	rules: []rule{
		{to: toProvider, from: []string{"mlflow.llm.provider"}},
		{to: toSessionID, from: []string{"mlflow.trace.session"}},
		{to: toUserID, from: []string{"mlflow.trace.user"}},
		{to: toInputs, from: []string{"mlflow.spanInputs"}},
		{to: toOutputs, from: []string{"mlflow.spanOutputs"}},
		{to: toToolDefinitions, from: []string{"mlflow.chat.tools"}},
	},
	kind: mlflowKinds.by("mlflow.spanType"),
	derive: func(x *span) {
		const usageKey = "mlflow.chat.tokenUsage"
		if usage, ok := parseObject(x.plainStr(usageKey)); ok {
			x.overrideUsage(mlflow, usage, usageKey, false)
		}
		if cost, ok := parseObject(x.plainStr("mlflow.llm.cost")); ok {
			x.offerCost(mlflow, cost, "mlflow.llm.cost", true, false)
		}
		if prompts, ok := parseArray(x.plainStr("mlflow.linkedPrompts")); ok && len(prompts) > 0 {
			if prompt, isObject := parseObject(prompts[0]); isObject {
				x.offer(toPromptName, mlflow, fromJSON, prompt.get("name"), "mlflow.linkedPrompts")
				x.offer(toPromptVersion, mlflow, fromJSON, prompt.get("version"), "mlflow.linkedPrompts")
			}
		}
		if x.isCall() {
			x.mlflowCall()
		}
	},
}

var mlflowKinds = kinds{
	"llm": isLLM, "chat_model": isLLM, "chain": isWorkflow, "agent": isAgent, "tool": isTool, "embedding": isEmbedding,
	"retriever": isRetriever, "reranker": isReranker, "parser": isSpan, "memory": isMemory, "workflow": isWorkflow, "task": isTask,
	"guardrail": isGuardrail, "evaluator": isEvaluator,
}

func (x *span) mlflowCall() {
	inputs := x.str("mlflow.spanInputs")
	if o, ok := parseObject(inputs); ok {
		x.offer(toRequestModel, mlflow, fromJSON, o.get("model"), "mlflow.spanInputs")
		if x.has(toRequestModel) {
			x.offer(toResponseModel, mlflow, fromText, x.plainStr("mlflow.llm.model"), "mlflow.llm.model")
		}
		x.offerParameters(mlflow, o, "mlflow.spanInputs")
		x.offerRequest(mlflow, o, "mlflow.spanInputs")
		x.offer(toInputMessages, mlflow, fromJSON, o.get("messages", "input", "contents", "prompt"), "mlflow.spanInputs")
	} else {
		x.offer(toInputMessages, mlflow, fromText, inputs, "mlflow.spanInputs")
	}
	x.offer(toRequestModel, mlflow, fromText, x.plainStr("mlflow.llm.model"), "mlflow.llm.model")
	outputs := x.str("mlflow.spanOutputs")
	if o, ok := parseObject(outputs); ok {
		x.offerAnswer(mlflow, o, "mlflow.spanOutputs")
	}
	x.offer(toOutputMessages, mlflow, fromText, outputs, "mlflow.spanOutputs")
	x.firstChunk("mlflow.chunk.item.0")
}

// openLITDialect is OpenLIT (sdk/python/src/openlit/semcov). Its older versions write content into events.
var openLITDialect = dialect{
	name: "openlit",
	rules: []rule{
		{to: toSessionID, from: []string{"gen_ai.agent.session_id"}},
		{to: toEnvironment, from: []string{"gen_ai.environment"}},
	},
	kind:   openLITKinds.by("gen_ai.operation.type"),
	derive: zeroIsNoPrice,
	// It writes Anthropic's usage as received, whose input excludes cached tokens.
	exclusive: func(x *span) bool { return strings.EqualFold(x.text(toProvider), "anthropic") },
}

var openLITKinds = kinds{
	"chat": isLLM, "embeddings": isEmbedding, "image": isLLM, "audio": isLLM, "vectordb": isRetriever, "framework": isWorkflow, "agent": isAgent,
}

// agentOpsDialect is AgentOps (agentops/semconv).
var agentOpsDialect = dialect{
	name: "agentops",
	rules: []rule{
		{to: toInputs, from: []string{"agentops.entity.input"}},
		{to: toOutputs, from: []string{"agentops.entity.output"}},
		{to: toAgentName, from: []string{"agent.name"}},
		{to: toAgentID, from: []string{"agent.id"}},
		{to: toToolName, from: []string{"tool.name"}},
		{to: toToolCallID, from: []string{"tool.id"}},
		{to: toToolCallArguments, from: []string{"tool.parameters"}},
		{to: toToolCallResult, from: []string{"tool.result"}},
		{to: toTags, from: []string{"agentops.tags"}},
	},
	kind: agentOpsKinds.by("agentops.span.kind"),
}

var agentOpsKinds = kinds{
	"session": isWorkflow, "agent": isAgent, "agent.action": isTask, "agent.thinking": isTask, "agent.decision": isTask,
	"tool": isTool, "workflow": isWorkflow, "workflow.step": isTask, "llm": isLLM, "task": isTask, "operation": isTask,
	"guardrail": isGuardrail,
}

// laminarDialect is Laminar (lmnr-python src/lmnr/opentelemetry_lib/tracing/attributes.py), a fork of OpenLLMetry.
var laminarDialect = dialect{
	name: "laminar",
	rules: []rule{
		{to: toInputs, from: []string{"lmnr.span.input"}},
		{to: toOutputs, from: []string{"lmnr.span.output"}},
		{to: toSessionID, from: []string{"lmnr.association.properties.session_id"}},
		{to: toUserID, from: []string{"lmnr.association.properties.user_id"}},
		{to: toTags, from: []string{"lmnr.association.properties.tags"}},
	},
	kind: laminarKinds.by("lmnr.span.type"),
	derive: func(x *span) {
		x.metadataUnder("lmnr.association.properties.metadata.")
	},
}

var laminarKinds = kinds{
	"llm": isLLM, "tool": isTool, "pipeline": isWorkflow, "executor": isTask, "evaluator": isEvaluator, "human_evaluator": isEvaluator,
	"evaluation": isWorkflow,
}

// sentryDialect is Sentry (sentry-conventions model/attributes/gen_ai).
var sentryDialect = dialect{
	name: "sentry",
	rules: []rule{
		{to: toOutputMessages, from: []string{"gen_ai.response.text"}},
		{to: toAgentName, from: []string{"gen_ai.pipeline.name"}},
		{to: toToolCallResult, from: []string{"gen_ai.tool.message"}},
	},
	kind: func(x *span) (string, string) {
		op, ok := strings.CutPrefix(x.plainStr("sentry.op"), "gen_ai.")
		if !ok {
			return "", ""
		}
		found := operations[op]
		if op == "handoff" {
			found = isTask
		}
		return found.kind, found.operation
	},
	derive: func(x *span) {
		calls := x.jsonAt("gen_ai.response.tool_calls")
		if calls == "" {
			return
		}
		o := object{{"role", `"assistant"`}, {"tool_calls", calls}}
		if text := x.str("gen_ai.response.text"); text != "" {
			o = append(o, member{"content", string(appendString(nil, text))})
		}
		w := writer{b: []byte{'['}}
		w.message(o, "assistant")
		x.best[toOutputMessages] = candidate{}
		x.offer(toOutputMessages, sentry, fromCanonical, string(append(w.b, ']')), "gen_ai.response.tool_calls")
	},
}

// langWatchDialect is LangWatch. Inputs and outputs are {type, value}.
var langWatchDialect = dialect{
	name: "langwatch",
	rules: []rule{
		{to: toConversationID, from: []string{"langwatch.thread.id"}},
		{to: toUserID, from: []string{"langwatch.user.id"}},
		{to: toTags, from: []string{"langwatch.labels"}},
		{to: toCost, from: []string{"langwatch.span.cost"}},
		{to: toPromptName, from: []string{"langwatch.prompt.handle", "langwatch.prompt.id"}},
		{to: toPromptVersion, from: []string{"langwatch.prompt.version.number", "langwatch.prompt.version"}},
		{to: toMetadata, from: []string{"metadata", "langwatch.metadata"}},
	},
	kind: langWatchKinds.by("langwatch.span.type"),
	derive: func(x *span) {
		for _, io := range []struct {
			key      string
			to       target
			messages target
		}{{"langwatch.input", toInputs, toInputMessages}, {"langwatch.output", toOutputs, toOutputMessages}} {
			o, ok := parseObject(x.str(io.key))
			if !ok {
				continue
			}
			x.offer(io.to, langWatch, fromJSON, o.get("value"), io.key)
			if x.isCall() {
				x.offer(io.messages, langWatch, fromJSON, o.get("value"), io.key)
			}
		}
		if metrics, ok := parseObject(x.str("langwatch.metrics")); ok {
			if inner := metrics.at("value"); inner != nil {
				metrics = inner
			}
			const source = "langwatch.metrics"
			x.offerUsage(langWatch, metrics, source, false)
			x.offer(toCost, langWatch, fromJSON, metrics.get("cost"), source)
		}
		x.langWatchFirstToken()
	},
}

var langWatchKinds = kinds{
	"llm": isLLM, "agent": isAgent, "tool": isTool, "rag": isRetriever, "chain": isWorkflow, "guardrail": isGuardrail,
	"evaluation": isEvaluator, "workflow": isWorkflow, "component": isTask, "module": isTask, "task": isTask, "prompt": isSpan, "span": isSpan,
}

// langWatchFirstToken reads the time of the first token, in milliseconds since 1970.
func (x *span) langWatchFirstToken() {
	if times, ok := parseObject(x.str("langwatch.timestamps")); ok {
		if at, isNumber := parseCount(times.get("first_token_at")); isNumber && at > 0 {
			x.offerStart(langWatch, timeOfMillis(at), "langwatch.timestamps")
		}
	}
}

// weaveDialect is Weights & Biases Weave.
var weaveDialect = dialect{
	name: "weave",
	rules: []rule{
		{to: toConversationID, from: []string{"wandb.thread_id"}},
	},
	kind: openInferenceKinds.by("weave.span.kind", "wandb.span.kind"),
}

// agentaDialect is Agenta (api/oss/src/apis/fastapi/otlp/opentelemetry/semconv.py).
var agentaDialect = dialect{
	name: "agenta",
	rules: []rule{
		{to: toInputTokens, from: []string{"ag.metrics.unit.tokens.prompt", "ag.metrics.tokens.prompt"}},
		{to: toOutputTokens, from: []string{"ag.metrics.unit.tokens.completion", "ag.metrics.tokens.completion"}},
		{to: toCost, from: []string{"ag.metrics.unit.costs.total", "ag.metrics.costs.total"}},
		{to: toInputs, from: []string{"ag.data.inputs"}},
		{to: toOutputs, from: []string{"ag.data.outputs"}},
	},
	kind: agentaKinds.by("ag.type.node"),
}

var agentaKinds = kinds{
	"agent": isAgent, "chain": isWorkflow, "workflow": isWorkflow, "task": isTask, "tool": isTool, "embedding": isEmbedding,
	"query": isRetriever, "completion": {runmodel.KindLLM, "text_completion"}, "chat": isLLM, "rerank": isReranker,
}

// openRouterDialect is OpenRouter's Broadcast: calls of models, as JSON.
var openRouterDialect = dialect{
	name: "openrouter",
	kind: func(x *span) (string, string) {
		if x.has(toOperation) {
			return "", ""
		}
		return isLLM.kind, isLLM.operation
	},
	derive: func(x *span) {
		x.setFramework("openrouter")
		if o, ok := parseObject(x.str("gen_ai.completion")); ok && o.get("rawRequest") != "" && o.get("completion") == "" {
			x.best[toOutputMessages] = candidate{} // a failed request has no output
			x.offer(toOutputs, openRouter, fromText, x.str("gen_ai.completion"), "gen_ai.completion")
		}
	},
}
