package genaispans

import (
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// openLLMetryDialect is OpenLLMetry (traceloop/openllmetry, packages/opentelemetry-semantic-conventions-ai), old and
// new. What it writes in the newest conventions needs no rule.
var openLLMetryDialect = dialect{
	name: "openllmetry",
	rules: []rule{
		{to: toRequestModel, from: []string{"llm.request.model"}},
		{to: toResponseModel, from: []string{"llm.response.model"}},
		{to: toSessionID, from: []string{"traceloop.association.properties.session_id", "traceloop.association.properties.thread_id", "traceloop.association.properties.chat_id"}},
		{to: toUserID, from: []string{"traceloop.association.properties.user_id", "llm.user"}},
		// LangChain's metadata is among the association properties.
		{to: toPromptName, from: []string{"traceloop.prompt.key", "traceloop.association.properties.lc_hub_repo"}},
		{to: toPromptVersion, from: []string{"traceloop.prompt.version", "traceloop.prompt.version_name", "traceloop.association.properties.lc_hub_commit_hash"}},
		{to: toTemperature, from: []string{"llm.temperature", "llm.request.temperature"}},
		{to: toTopP, from: []string{"llm.top_p"}},
		{to: toFrequencyPenalty, from: []string{"llm.frequency_penalty"}},
		{to: toPresencePenalty, from: []string{"llm.presence_penalty"}},
		{to: toFinishReasons, from: []string{"llm.response.finish_reason", "llm.response.stop_reason"}},
		{to: toInputs, from: []string{"traceloop.entity.input"}},
		{to: toOutputs, from: []string{"traceloop.entity.output"}},
		{to: toWorkflowName, from: []string{"traceloop.workflow.name"}},
	},
	kind: func(x *span) (string, string) {
		if x.plainStr("traceloop.span.kind") == "task" && strings.HasPrefix(x.str("traceloop.entity.name"), "FunctionTool.") {
			return isTool.kind, isTool.operation // it records LlamaIndex's tools as tasks
		}
		if kind, operation := openLLMetryKinds.by("traceloop.span.kind")(x); kind != "" {
			return kind, operation
		}
		kind, operation := openLLMetryCalls.by("llm.request.type")(x)
		if operation == "text_completion" && strings.HasSuffix(x.Name(), ".chat") {
			operation = isLLM.operation // its older Anthropic instrumentation records every call as a completion
		}
		return kind, operation
	},
	derive: func(x *span) {
		entity := x.str("traceloop.entity.name")
		switch x.kind {
		case runmodel.KindAgent:
			x.offer(toAgentName, openLLMetry, fromText, entity, "traceloop.entity.name")
		case runmodel.KindTool:
			if output, ok := parseObject(x.str("traceloop.entity.output")); ok {
				x.offer(toToolName, openLLMetry, fromJSON, output.get("tool_name"), "traceloop.entity.output")
			}
			x.offer(toToolName, openLLMetry, fromText, strings.TrimSuffix(entity, ".tool"), "traceloop.entity.name")
		}
		x.unwrapEntity(toInputs, "traceloop.entity.input", "inputs")
		x.unwrapEntity(toOutputs, "traceloop.entity.output", "outputs")
		x.firstChunk("llm.content.completion.chunk", "gen_ai.content.completion.chunk")
		x.metadataUnder("traceloop.association.properties.")
	},
}

var openLLMetryKinds = kinds{"workflow": isWorkflow, "task": isTask, "agent": isAgent, "tool": isTool}

var openLLMetryCalls = kinds{
	"chat": isLLM, "completion": {runmodel.KindLLM, "text_completion"}, "embedding": isEmbedding, "rerank": isReranker,
}

// unwrapEntity takes a chain's inputs or outputs out of {inputs, tags, metadata, kwargs}. A LangChain runnable that
// gets its question from another runnable has empty inputs: they are in the kwargs of the outputs.
func (x *span) unwrapEntity(to target, key, name string) {
	o, ok := parseObject(x.str(key))
	if !ok || o.get(name) == "" || o.get("kwargs", "tags", "metadata") == "" {
		return
	}
	inner := o.get(name)
	if fields, isObject := parseObject(inner); to == toInputs && isObject && isEmptyObject(fields) {
		if outputs, parsed := parseObject(x.str("traceloop.entity.output")); parsed {
			if asked := outputs.at("kwargs").get("inputs"); asked != "" {
				inner = asked
			}
		}
	}
	x.best[to] = candidate{}
	x.offer(to, openLLMetry, fromJSON, inner, key)
}

func isEmptyObject(o object) bool {
	for _, m := range o {
		if m.value != `""` && m.value != "null" {
			return false
		}
	}
	return true
}

// firstChunk takes the time to the first token from the first streaming event.
func (x *span) firstChunk(names ...string) {
	for _, event := range x.Events().All() {
		if slices.Contains(names, event.Name()) {
			x.offerStart(openLLMetry, event.Timestamp().AsTime(), event.Name())
			return
		}
	}
}
