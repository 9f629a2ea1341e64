package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// offerRequest offers what a provider's request body has beside its messages: the instructions of OpenAI's Responses, and
// tools.
func (x *span) offerRequest(id dialectID, body object, source string) {
	x.offer(toSystemInstructions, id, fromJSON, body.get("instructions"), source)
	x.offer(toToolDefinitions, id, fromJSON, body.get("tools"), source)
}

// offerAnswer offers the fields of a provider's response body: OpenAI's chat completions, Anthropic's messages, and
// the result that LangChain builds from any.
func (x *span) offerAnswer(id dialectID, body object, source string) {
	x.offer(toResponseModel, id, fromJSON, body.get("model"), source)
	x.offer(toResponseModel, id, fromJSON, body.at("llm_output").get("model_name"), source)
	x.offer(toFinishReasons, id, fromJSON, body.get("stop_reason", "finish_reason"), source)
	if batches, ok := parseArray(body.get("generations")); ok && len(batches) > 0 {
		if generations, isList := parseArray(batches[0]); isList && len(generations) > 0 {
			if generation, isObject := parseObject(generations[0]); isObject {
				x.offer(toFinishReasons, id, fromJSON, generation.at("generation_info").get("finish_reason"), source)
				message := generation.at("message").at("kwargs")
				answered := message.at("response_metadata")
				x.offer(toFinishReasons, id, fromJSON, answered.get("finish_reason", "stop_reason", "done_reason"), source)
				x.offer(toResponseModel, id, fromJSON, answered.get("model_name", "model"), source)
				x.offerUsage(id, message.at("usage_metadata"), source, false)
			}
		}
	}
	if choices, ok := parseArray(body.get("choices")); ok && len(choices) > 0 {
		if choice, isObject := parseObject(choices[0]); isObject {
			x.offer(toFinishReasons, id, fromJSON, choice.get("finish_reason"), source)
		}
	}
	x.offerUsage(id, body.at("llm_output").at("token_usage", "usage"), source, false)
	// Anthropic's input excludes cached tokens: docs.anthropic.com, Messages, usage.
	x.offerUsage(id, body.at("usage", "usage_metadata", "usageMetadata"), source, body.str("type") == "message")
}

// offerFinish takes the finish reason from the output messages if no attribute states it. Older conventions had it
// there.
func (x *span) offerFinish() {
	if x.has(toFinishReasons) || !x.has(toOutputMessages) || !x.isCall() {
		return
	}
	text := x.text(toOutputMessages)
	if !mentionsFinish(text) {
		return
	}
	messages, _ := parseArray(text)
	for _, message := range messages {
		if o, ok := parseObject(message); ok && o.str("finish_reason") != "" {
			x.offer(toFinishReasons, otelGenAIOld, fromJSON, o.get("finish_reason"), runmodel.KeyOutputMessages)
			return
		}
	}
}

// mentionsFinish reports whether a text has the key finish_reason. It jumps from underscore to underscore, which is
// several times faster than searching for the whole key: messages have few of them.
func mentionsFinish(text string) bool {
	const before, after = `"finish`, `_reason"`
	for {
		i := strings.IndexByte(text, '_')
		if i < 0 {
			return false
		}
		if strings.HasSuffix(text[:i], before) && strings.HasPrefix(text[i:], after) {
			return true
		}
		text = text[i+1:]
	}
}

// unwrapTool takes a tool's arguments and result out of the wrappers of frameworks: {args, kwargs} of Python
// decorators, LangChain's callback event with the message of the tool, which also has the call's id, and LlamaIndex's
// tool output.
func (x *span) unwrapTool() {
	if plain, ok := pythonJSON(x.text(toToolCallArguments)); ok {
		x.override(toToolCallArguments, generic, plain, x.best[toToolCallArguments].source)
	}
	if o, ok := parseObject(x.text(toToolCallArguments)); ok {
		switch positional := o.get("args"); {
		case o.get("input_str") != "" && o.at("inputs") != nil:
			x.override(toToolCallArguments, generic, o.get("inputs"), x.best[toToolCallArguments].source)
		case o.at("kwargs") != nil && (positional == "" || positional == "[]"):
			x.override(toToolCallArguments, generic, o.get("kwargs"), x.best[toToolCallArguments].source)
		}
	}
	o, ok := parseObject(x.text(toToolCallResult))
	if !ok {
		return
	}
	source := x.best[toToolCallResult].source
	if message := toolMessage(o); message != nil {
		x.override(toToolCallResult, generic, unquoted(contentValue(message.get("content"))), source)
		x.offer(toToolCallID, generic, fromJSON, message.get("tool_call_id"), source)
	} else if o.get("raw_output") != "" && o.get("raw_input") != "" {
		x.override(toToolCallResult, generic, unquoted(o.get("raw_output")), source)
	}
}

// toolMessage returns LangChain's message of a tool: {type: tool, data}, {lc, id: [..., "ToolMessage"], kwargs}, or either
// as the output of a run. It returns nil for anything else.
func toolMessage(o object) object {
	if inner := o.at("output"); inner != nil {
		o = inner
	}
	message := o.at("data")
	isTool := message.str("type") == "tool"
	if o.get("lc") != "" {
		message = o.at("kwargs")
		isTool = message.str("type") == "tool" || langChainClass(o.get("id")) == "ToolMessage"
	}
	if !isTool || message.get("tool_call_id") == "" {
		return nil
	}
	return message
}
