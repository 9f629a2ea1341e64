package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// googleADKDialect is Google's Agent Development Kit (google/adk-python, src/google/adk/telemetry). Requests and
// responses are JSON in attributes. A call_llm span repeats the usage of its generate_content child.
var googleADKDialect = dialect{
	name:      "google-adk",
	framework: "google-adk",
	rules: []rule{
		{to: toSessionID, from: []string{"gcp.vertex.agent.session_id"}},
		{to: toToolCallArguments, from: []string{"gcp.vertex.agent.tool_call_args"}},
		{to: toToolCallResult, from: []string{"gcp.vertex.agent.tool_response"}},
		{to: toInputs, from: []string{"gcp.vertex.agent.data"}},
	},
	kind: func(x *span) (string, string) {
		name, _, _ := strings.Cut(x.Name(), " ")
		switch name {
		case "invocation":
			return isWorkflow.kind, isWorkflow.operation
		case "agent_run", "invoke_agent":
			return isAgent.kind, isAgent.operation
		case "call_llm":
			return runmodel.KindLLM, "generate_content"
		case "execute_tool":
			return isTool.kind, isTool.operation
		case "generate_content":
			return runmodel.KindLLM, "generate_content"
		}
		return "", ""
	},
	derive: func(x *span) {
		x.adkRequest()
		x.adkResponse()
		if x.kind == runmodel.KindAgent && !x.has(toAgentName) {
			for _, prefix := range []string{"invoke_agent ", "agent_run ["} {
				if name, ok := strings.CutPrefix(x.Name(), prefix); ok {
					x.offer(toAgentName, googleADK, fromText, strings.TrimSuffix(name, "]"), "name of the span")
				}
			}
		}
		if x.kind == runmodel.KindTool {
			if o, ok := parseObject(x.str("gcp.vertex.agent.tool_response")); ok && len(o) == 1 && o.get("error") != "" {
				x.fail("gcp.vertex.agent.tool_response")
				x.offer(toErrorMessage, googleADK, fromJSON, o.get("error"), "gcp.vertex.agent.tool_response")
			}
		}
		if x.isCall() && !x.has(toProvider) {
			x.offer(toProvider, googleADK, fromText, "gcp.vertex.agent", "scope")
		}
	},
}

func (x *span) adkRequest() {
	const source = "gcp.vertex.agent.llm_request"
	request, ok := parseObject(x.str(source))
	if !ok || len(request) == 0 {
		return
	}
	x.offer(toRequestModel, googleADK, fromJSON, request.get("model"), source)
	x.offer(toInputMessages, googleADK, fromJSON, request.get("contents"), source)
	if config := request.at("config"); config != nil {
		x.offer(toSystemInstructions, googleADK, fromJSON, config.get("system_instruction"), source)
		x.offer(toToolDefinitions, googleADK, fromJSON, config.get("tools"), source)
		x.offerParameters(googleADK, config, source)
	}
}

func (x *span) adkResponse() {
	const source = "gcp.vertex.agent.llm_response"
	response, ok := parseObject(x.str(source))
	if !ok || len(response) == 0 {
		return
	}
	x.offer(toResponseModel, googleADK, fromJSON, response.get("model_version"), source)
	x.offer(toOutputMessages, googleADK, fromJSON, response.get("content"), source)
	x.offer(toFinishReasons, googleADK, fromJSON, response.get("finish_reason"), source)
	x.offerUsage(googleADK, response.at("usage_metadata"), source, false)
}

// geminiCLIDialect is Gemini CLI (google-gemini/gemini-cli, packages/core/src/telemetry): messages in Gemini's
// format, and the number of the turn where the conventions have the name of a prompt.
var geminiCLIDialect = dialect{
	name:      "gemini-cli",
	framework: "gemini-cli",
	rules: []rule{
		{to: toUserID, from: []string{"user.email"}},
		// Its record gemini_cli.api_response has what its span lacks.
		{to: toRequestModel, from: []string{"model"}},
		{to: toInputTokens, from: []string{"input_token_count"}},
		{to: toOutputTokens, from: []string{"output_token_count"}},
		{to: toCacheReadTokens, from: []string{"cached_content_token_count"}},
		{to: toReasoningTokens, from: []string{"thoughts_token_count"}},
		{to: toTotalTokens, from: []string{"total_token_count"}},
	},
	derive: func(x *span) {
		if prompt := x.str(runmodel.KeyPromptName); strings.Contains(prompt, "########") {
			v, _ := x.attrs.Get(runmodel.KeyPromptName)
			x.keepOriginal(runmodel.KeyPromptName, v)
			x.attrs.Remove(runmodel.KeyPromptName)
			x.best[toPromptName] = candidate{}
		}
		if x.kind == runmodel.KindTool {
			x.offer(toToolCallArguments, geminiCLI, fromText, x.str(runmodel.KeyInputMessages), runmodel.KeyInputMessages)
			x.offer(toToolCallResult, geminiCLI, fromText, x.str(runmodel.KeyOutputMessages), runmodel.KeyOutputMessages)
		}
	},
}

// genkitDialect is Genkit (firebase/genkit, js/core/src/tracing/instrumentation.ts): keys with colons.
var genkitDialect = dialect{
	name:      "genkit",
	framework: "genkit",
	rules: []rule{
		{to: toInputs, from: []string{"genkit:input"}},
		{to: toOutputs, from: []string{"genkit:output"}},
		{to: toSessionID, from: []string{"genkit:metadata:sessionId", "genkit:metadata:flow:sessionId"}},
		{to: toErrorMessage, from: []string{"genkit:error"}},
	},
	kind: func(x *span) (string, string) {
		kind, operation := genkitKinds.by("genkit:metadata:subtype", "genkit:type")(x)
		return kind, operation
	},
	derive: func(x *span) {
		name := x.str("genkit:name")
		switch {
		case x.isCall():
			x.genkitCall(name)
		case x.kind == runmodel.KindTool:
			x.offer(toToolName, genkit, fromText, name, "genkit:name")
		case x.kind == runmodel.KindWorkflow:
			x.offer(toWorkflowName, genkit, fromText, name, "genkit:name")
		}
		if x.str("genkit:state") == "error" {
			x.fail("genkit:state")
		}
	},
}

var genkitKinds = kinds{
	"model": isLLM, "background-model": isLLM, "embedder": isEmbedding, "tool": isTool, "tool.v2": isTool, "retriever": isRetriever,
	"reranker": isReranker, "indexer": isTask, "evaluator": isEvaluator, "flow": isWorkflow, "flowstep": isTask, "prompt": isSpan,
	"prompttemplate": isSpan,
}

func (x *span) genkitCall(name string) {
	if provider, model, found := strings.Cut(name, "/"); found {
		x.offer(toProvider, genkit, fromText, provider, "genkit:name")
		x.offer(toRequestModel, genkit, fromText, model, "genkit:name")
	} else {
		x.offer(toRequestModel, genkit, fromText, name, "genkit:name")
	}
	if input, ok := parseObject(x.str("genkit:input")); ok {
		const source = "genkit:input"
		x.offer(toInputMessages, genkit, fromJSON, input.get("messages"), source)
		x.offer(toToolDefinitions, genkit, fromJSON, input.get("tools"), source)
		x.offerParameters(genkit, input.at("config"), source)
	}
	output, ok := parseObject(x.str("genkit:output"))
	if !ok {
		return
	}
	const source = "genkit:output"
	x.offer(toOutputMessages, genkit, fromJSON, output.get("message"), source)
	x.offer(toFinishReasons, genkit, fromJSON, output.get("finishReason"), source)
	x.offerUsage(genkit, output.at("usage"), source, false)
	x.offerAnswer(genkit, output.at("raw"), source)
}
