package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// vercelDialect is the AI SDK up to version 6 (vercel/ai, packages/otel/src/legacy-open-telemetry.ts). The scope is
// `ai` or the application's own.
var vercelDialect = dialect{
	name:      "vercel-ai",
	framework: "vercel-ai",
	rules: []rule{
		{to: toRequestModel, from: []string{"ai.model.id"}},
		{to: toResponseModel, from: []string{"ai.response.model"}},
		{to: toResponseID, from: []string{"ai.response.id"}},
		{to: toProvider, from: []string{"ai.model.provider"}},
		{to: toFinishReasons, from: []string{"ai.response.finishReason", "ai.finishReason"}},
		{to: toTimeToFirstChunk, from: []string{"ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"}, as: asMillis},
		{to: toInputTokens, from: []string{"ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"}},
		{to: toOutputTokens, from: []string{"ai.usage.outputTokens", "ai.usage.completionTokens"}},
		{to: toTotalTokens, from: []string{"ai.usage.totalTokens"}},
		{to: toInputMessages, from: []string{"ai.prompt.messages"}},
		{to: toToolDefinitions, from: []string{"ai.prompt.tools"}},
		{to: toToolName, from: []string{"ai.toolCall.name"}},
		{to: toToolCallID, from: []string{"ai.toolCall.id"}},
		{to: toToolCallArguments, from: []string{"ai.toolCall.args"}},
		{to: toToolCallResult, from: []string{"ai.toolCall.result"}},
		{to: toSessionID, from: []string{"ai.telemetry.metadata.sessionId"}},
		{to: toUserID, from: []string{"ai.telemetry.metadata.userId"}},
		{to: toTags, from: []string{"ai.telemetry.metadata.tags"}},
		{to: toTemperature, from: []string{"ai.settings.temperature"}},
		{to: toTopP, from: []string{"ai.settings.topP"}},
		{to: toTopK, from: []string{"ai.settings.topK"}},
		{to: toMaxTokens, from: []string{"ai.settings.maxOutputTokens", "ai.settings.maxTokens"}},
		{to: toFrequencyPenalty, from: []string{"ai.settings.frequencyPenalty"}},
		{to: toPresencePenalty, from: []string{"ai.settings.presencePenalty"}},
		{to: toStopSequences, from: []string{"ai.settings.stopSequences"}},
	},
	kind: func(x *span) (string, string) {
		id := x.plainStr("ai.operationId")
		if id == "" {
			id, _, _ = strings.Cut(x.plainStr("operation.name"), " ")
		}
		found := vercelKinds[id]
		return found.kind, found.operation
	},
	derive: func(x *span) {
		x.vercelPrompt()
		x.vercelAnswer()
		x.vercelMetadata()
		if x.kind == runmodel.KindAgent || x.kind == runmodel.KindWorkflow {
			x.offer(toAgentName, vercel, fromText, x.str("ai.telemetry.functionId"), "ai.telemetry.functionId")
		}
		if values, ok := x.attrs.Get("ai.values"); ok {
			x.offer(toInputs, vercel, fromText, valueText(values), "ai.values")
		}
		x.offer(toInputs, vercel, fromText, x.str("ai.value"), "ai.value")
		if prompt, ok := parseObject(x.str("ai.telemetry.metadata.langfusePrompt")); ok {
			x.offer(toPromptName, vercel, fromJSON, prompt.get("name"), "ai.telemetry.metadata.langfusePrompt")
			x.offer(toPromptVersion, vercel, fromJSON, prompt.get("version"), "ai.telemetry.metadata.langfusePrompt")
		}
		x.metadataUnder("ai.telemetry.metadata.")
	},
}

// The functions that an application calls wrap the calls of models, and repeat their usage.
var vercelKinds = map[string]kindAndOperation{
	"ai.generateText": isWorkflow, "ai.streamText": isWorkflow, "ai.generateObject": isWorkflow, "ai.streamObject": isWorkflow,
	"ai.generateText.doGenerate": isLLM, "ai.streamText.doStream": isLLM,
	"ai.generateObject.doGenerate": isLLM, "ai.streamObject.doStream": isLLM,
	"ai.toolCall": isTool,
	"ai.embed":    isWorkflow, "ai.embedMany": isWorkflow, "ai.embed.doEmbed": isEmbedding, "ai.embedMany.doEmbed": isEmbedding,
	"ai.rerank": isWorkflow, "ai.rerank.doRerank": isReranker,
}

// vercelPrompt reads ai.prompt, {system, prompt, messages}: the inputs of a wrapper.
func (x *span) vercelPrompt() {
	text := x.str("ai.prompt")
	o, ok := parseObject(text)
	if !ok {
		return
	}
	x.offer(toInputMessages, vercel, fromText, text, "ai.prompt")
	if question := o.get("prompt"); question != "" && question[0] == '"' && o.get("messages") == "" {
		x.offer(toInputs, vercel, fromJSON, question, "ai.prompt")
	} else {
		x.offer(toInputs, vercel, fromText, text, "ai.prompt")
	}
	if system := o.str("system"); system != "" {
		x.offer(toSystemInstructions, vercel, fromText, system, "ai.prompt")
	}
}

// vercelAnswer assembles the output message: reasoning, text or an object, tool calls.
func (x *span) vercelAnswer() {
	text := firstOf(x.str("ai.response.text"), x.str("ai.result.text"))
	object := firstOf(x.str("ai.response.object"), x.str("ai.result.object"))
	calls := firstOf(x.str("ai.response.toolCalls"), x.str("ai.result.toolCalls"))
	files := firstOf(x.str("ai.response.files"), x.str("ai.result.files"))
	reasoning := x.str("ai.response.reasoning")
	if answer := firstOf(text, object); answer != "" {
		x.offer(toOutputs, vercel, fromText, answer, "ai.response")
	}
	if text == "" && object == "" && calls == "" && reasoning == "" && files == "" {
		return
	}
	w := writer{b: append(x.buffer(encodedLen(len(reasoning)+len(text)+len(object)+len(calls)+len(files))), '[')}
	w.begin("assistant", "")
	if reasoning != "" {
		w.reasoning(reasoning, nil)
	}
	if text != "" {
		w.text(text)
	} else if object != "" {
		w.text(object)
	}
	images, _ := parseArray(files)
	for _, image := range images {
		if o, ok := parseObject(image); ok {
			w.file(o)
		}
	}
	elements, _ := parseArray(calls)
	for _, element := range elements {
		if o, ok := parseObject(element); ok {
			w.call(o, o.str("toolCallId", "id"))
		}
	}
	w.end(firstOf(x.plainStr("ai.response.finishReason"), x.plainStr("ai.finishReason")))
	w.b = append(w.b, ']')
	x.offer(toOutputMessages, vercel, fromCanonical, x.keep(w.b), "ai.response")
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// vercelMetadata reads the counts in the provider's metadata. Anthropic's and Bedrock's input there excludes cached
// tokens.
func (x *span) vercelMetadata() {
	const key = "ai.response.providerMetadata"
	metadata, ok := parseObject(x.str(key))
	if !ok {
		return
	}
	if openAI := metadata.at("openai"); openAI != nil { // of version 4, which has no keys for them
		x.offerUsage(vercel, openAI, key, false)
	}
	usage := metadata.at("anthropic").at("usage")
	if usage == nil {
		if usage = metadata.at("bedrock").at("usage"); usage == nil {
			return
		}
	}
	x.offerUsage(vercel, usage, key, true)
}

// vercel7Dialect is the AI SDK from version 7 on (packages/otel/src/open-telemetry.ts): the conventions, with an
// extra operation for the steps of an agent.
var vercel7Dialect = dialect{
	name:      "vercel-ai-7",
	framework: "vercel-ai",
}
