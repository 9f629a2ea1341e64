package genaispans

import (
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// openInferenceDialect is OpenInference (Arize-ai/openinference, spec/semantic_conventions.md). Messages have keys
// with indices.
var openInferenceDialect = dialect{
	name: "openinference",
	rules: []rule{
		{to: toRequestModel, from: []string{"llm.request.model_name", "reranker.model_name"}},
		// The response model if it is known, else the request model.
		{to: toResponseModel, from: []string{"llm.response.model_name", "llm.model_name"}},
		{to: toInputTokens, from: []string{"llm.token_count.prompt"}},
		{to: toOutputTokens, from: []string{"llm.token_count.completion"}},
		{to: toTotalTokens, from: []string{"llm.token_count.total"}},
		{to: toCost, from: []string{"llm.cost.total"}},
		{to: toFinishReasons, from: []string{"llm.finish_reason"}},
		{to: toToolName, from: []string{"tool.name"}},
		{to: toToolDescription, from: []string{"tool.description"}},
		{to: toToolCallID, from: []string{"tool.id", "tool_call.id"}},
		{to: toAgentName, from: []string{"agent.name"}},
		{to: toTags, from: []string{"tag.tags"}},
		{to: toMetadata, from: []string{"metadata"}},
		// The conventions have only the version. Applications add the name under these keys.
		{to: toPromptName, from: []string{"prompt.name", "llm.prompt_template.name"}},
		{to: toPromptVersion, from: []string{"prompt.version", "llm.prompt_template.version"}},
		{to: toInputs, from: []string{"input.value"}},
		{to: toOutputs, from: []string{"output.value"}},
		{to: toErrorType, from: []string{"exception.type"}},
		{to: toErrorMessage, from: []string{"exception.message"}},
		{to: toRetrievalDocuments, from: []string{"retrieval.documents"}},
		{to: toToolDefinitions, from: []string{"llm.tools"}},
	},
	kind: func(x *span) (string, string) {
		if strings.Contains(x.Name(), "._prepare_") && !x.has(toInputTokens) && !x.has(toOutputTokens) && len(x.flat.output) == 0 {
			return isTask.kind, isTask.operation // LlamaIndex's preparation of a call, which it records as one
		}
		return openInferenceKinds.by("openinference.span.kind")(x)
	},
	derive: func(x *span) {
		x.openInferenceProvider()
		if metadata, ok := parseObject(x.str("metadata")); ok { // LangChain's configuration
			x.offer(toUserID, openInference, fromJSON, metadata.get("user_id"), "metadata")
			x.offer(toAgentName, openInference, fromJSON, metadata.get("lc_agent_name"), "metadata")
			x.offer(toPromptName, openInference, fromJSON, metadata.get("lc_hub_repo"), "metadata")
			x.offer(toPromptVersion, openInference, fromJSON, metadata.get("lc_hub_commit_hash"), "metadata")
		}
		x.openInferencePrompt()
		if parameters, ok := parseObject(x.str("llm.invocation_parameters")); ok {
			x.offer(toRequestModel, openInference, fromJSON, parameters.get("model", "model_name", "model_id"), "llm.invocation_parameters")
			x.offerParameters(openInference, parameters, "llm.invocation_parameters")
		}
		x.openInferenceModels()
		x.firstChunk("First Token Stream Event")
		if x.kind == "" && (len(x.flat.input) > 0 || len(x.flat.output) > 0) && !x.has(toToolName) {
			x.kind = runmodel.KindLLM
		}
		if x.isCall() && x.kind != runmodel.KindEmbedding {
			x.openInferenceBodies()
			x.openInferenceValues()
			if request, ok := parseObject(x.str("input.value")); ok && !x.hasSystemMessage() {
				x.offerRequest(openInference, request, "input.value")
			}
			x.openInferenceAnswer()
		}
		if x.kind == runmodel.KindTool {
			x.openInferenceTool()
		}
		x.openInferenceScores()
		x.llamaIndexWorkflow()
		if x.kind == runmodel.KindAgent && !x.has(toAgentName) {
			x.offer(toAgentName, openInference, fromText, x.plainStr("graph.node.id"), "graph.node.id")
			switch x.scope.framework {
			case "langchain", "smolagents": // the spans of their agents are named after the agent, some with its method
				x.offer(toAgentName, openInference, fromText, strings.TrimSuffix(x.Name(), ".run"), "name of the span")
			}
		}
		if x.kind == runmodel.KindRetriever {
			x.offer(toRetrievalQuery, openInference, fromText, x.str("input.value"), "input.value")
		}
	},
	// Its instrumentation of the Claude Agent SDK excludes cached tokens from the input.
	exclusive: func(x *span) bool { return strings.HasSuffix(x.scope.name, "claude_agent_sdk") },
}

// openInferencePrompt reads prompt.id, by which the vendor of a prompt finds it: the id of a prompt of Looptrace is a
// UUID, and others take the place of a name.
func (x *span) openInferencePrompt() {
	const key = "prompt.id"
	id := x.plainStr(key)
	if uuid.Validate(id) == nil {
		x.offer(toPromptID, openInference, fromText, id, key)
	} else {
		x.offer(toPromptName, openInference, fromText, id, key)
	}
}

var openInferenceKinds = kinds{
	"llm": isLLM, "embedding": isEmbedding, "chain": isWorkflow, "retriever": isRetriever, "reranker": isReranker, "tool": isTool,
	"agent": isAgent, "guardrail": isGuardrail, "evaluator": isEvaluator, "prompt": isSpan,
}

// llamaIndexWorkflow leaves out the events that start and stop LlamaIndex's workflows: they are no question and no answer.
func (x *span) llamaIndexWorkflow() {
	if input := x.text(toInputs); strings.HasPrefix(input, `{"init_state"`) || strings.HasPrefix(input, `{"start_event"`) {
		x.best[toInputs] = candidate{}
	}
	if strings.HasPrefix(x.text(toOutputs), "StopEvent(") {
		x.best[toOutputs] = candidate{}
	}
}

// hasSystemMessage reports whether the indexed keys have a message by the system.
func (x *span) hasSystemMessage() bool {
	for _, e := range x.flat.input {
		if role := e.value.AsString(); e.rest == "message.role" && (role == "system" || role == "developer") {
			return true
		}
	}
	return false
}

// openInferenceAnswer reads the response body if no key has the finish reason or cached tokens, or if the response model
// equals the request model: then the model in the body replaces it.
func (x *span) openInferenceAnswer() {
	model := x.best[toResponseModel]
	isRequested := model.source == "llm.model_name" && x.text(toResponseModel) == x.text(toRequestModel)
	if x.has(toFinishReasons) && !isRequested && x.has(toCacheReadTokens) {
		return
	}
	answer, ok := parseObject(x.str("output.value"))
	if !ok {
		return
	}
	if isRequested {
		x.best[toResponseModel] = candidate{}
	}
	x.offerAnswer(openInference, answer, "output.value")
	if !x.has(toResponseModel) {
		x.best[toResponseModel] = model
	}
}

// openInferenceModels decides whether a key that may hold either model holds the request or the response model.
func (x *span) openInferenceModels() {
	const embedding, parameters = "embedding.model_name", "embedding.invocation_parameters"
	if body, ok := parseObject(x.str(parameters)); ok && body.get("model") != "" {
		x.offer(toRequestModel, openInference, fromJSON, body.get("model"), parameters)
		x.offer(toResponseModel, openInference, fromText, x.plainStr(embedding), embedding)
	}
	x.offer(toRequestModel, openInference, fromText, x.plainStr(embedding), embedding)
	if model := &x.best[toResponseModel]; model.source == "llm.model_name" && !x.has(toRequestModel) && x.Status().Code() == ptrace.StatusCodeError &&
		x.str("output.value") == "" && len(x.flat.output) == 0 {
		// Without a response, it is the request model.
		x.best[toRequestModel] = *model
		*model = candidate{}
	}
}

// openInferenceProvider combines the host (llm.provider) and the API's vendor (llm.system).
func (x *span) openInferenceProvider() {
	host, system := strings.ToLower(x.plainStr("llm.provider")), strings.ToLower(x.plainStr("llm.system"))
	provider, source := host, "llm.provider"
	switch {
	case host == "azure":
		provider = "azure.ai.openai"
	case host == "google" && system == "vertexai":
		provider = "gcp.vertex_ai"
	case host == "":
		provider, source = system, "llm.system"
	}
	x.offer(toProvider, openInference, fromText, provider, source)
}

// openInferenceValues reads messages from input.value and output.value if there are no indexed keys.
func (x *span) openInferenceValues() {
	if input := x.str("input.value"); isContainer(strings.TrimSpace(input)) || x.has(toOutputMessages) || x.found.has(openInference) {
		x.offerLast(toInputMessages, input, "input.value")
	}
	x.offerLast(toOutputMessages, x.str("output.value"), "output.value")
}

// openInferenceBodies reads messages from the request and response bodies if the indexed keys lack the ids of tool
// calls, or all of a message but its role.
func (x *span) openInferenceBodies() {
	if x.flat.inputLossy {
		x.replaceByBody(toInputMessages, "input.value", "user", "messages", "contents")
	}
	if x.flat.outputLossy {
		x.replaceByBody(toOutputMessages, "output.value", "assistant", "content", "choices", "candidates", "generations")
	}
}

// replaceByBody replaces messages by those that a body has under one of the names, unless the body has fewer.
func (x *span) replaceByBody(to target, key, role string, names ...string) {
	body, ok := parseObject(x.str(key))
	if !ok {
		return
	}
	elements, _ := parseArray(body.get(names...))
	if len(elements) == 0 || !isContainer(elements[0]) {
		return // not messages, but their printed form
	}
	text := x.str(key)
	w, ok := messagesOf(x.buffer(encodedLen(len(text))), text, role)
	if old, _ := parseArray(x.text(to)); ok && w.messages >= len(old) {
		x.best[to] = candidate{text: x.keep(w.b), source: key, as: fields[to].form, kind: fromCanonical, rank: x.best[to].rank}
	}
}

// offerLast offers a value that ranks behind those of all dialects.
func (x *span) offerLast(to target, text, source string) {
	if text != "" && !x.has(to) {
		x.best[to] = candidate{text: text, source: source, as: fields[to].form, kind: fromText, rank: rankDialect + dialectCountRank}
	}
}

const dialectCountRank = uint16(dialectCount) * rankStep

// openInferenceTool reads a tool's arguments from tool.parameters, unless that holds their schema.
func (x *span) openInferenceTool() {
	parameters := x.str("tool.parameters")
	if input, ok := parseObject(x.str("input.value")); ok && x.scope.framework == "smolagents" {
		if arguments := input.get("kwargs"); arguments != "" && arguments != "{}" {
			x.offer(toToolCallArguments, openInference, fromJSON, arguments, "input.value")
			return
		}
		x.offer(toToolCallArguments, openInference, fromJSON, input.get("args"), "input.value")
		return
	}
	if o, ok := parseObject(parameters); ok && !isSchema(o) {
		x.offer(toToolCallArguments, openInference, fromText, parameters, "tool.parameters")
	}
	x.offer(toToolCallArguments, openInference, fromText, x.str("input.value"), "input.value")
	x.offer(toToolCallResult, openInference, fromText, x.str("output.value"), "output.value")
}

// isSchema reports whether an object is a schema of parameters: each member is an object with a type.
func isSchema(o object) bool {
	if len(o) == 0 {
		return false
	}
	for _, m := range o {
		inner, ok := parseObject(m.value)
		if !ok || inner.get("type", "properties") == "" {
			return m.key == "type" || m.key == "properties"
		}
	}
	return true
}
