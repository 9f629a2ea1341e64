package genaisemconvprocessor

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// offerAnswer offers what the body of a provider's answer says of the call: OpenAI's chat completions and Anthropic's
// messages, as they went over the wire, and the result that LangChain makes of either.
func (x *span) offerAnswer(id dialectID, body object, source string) {
	x.offer(toResponseModel, id, fromJSON, body.get("model"), source)
	x.offer(toResponseModel, id, fromJSON, body.at("llm_output").get("model_name"), source)
	x.offer(toFinishReasons, id, fromJSON, body.get("stop_reason", "finish_reason"), source)
	if batches, ok := parseArray(body.get("generations")); ok && len(batches) > 0 {
		if generations, isList := parseArray(batches[0]); isList && len(generations) > 0 {
			if generation, isObject := parseObject(generations[0]); isObject {
				x.offer(toFinishReasons, id, fromJSON, generation.at("generation_info").get("finish_reason"), source)
			}
		}
	}
	if choices, ok := parseArray(body.get("choices")); ok && len(choices) > 0 {
		if choice, isObject := parseObject(choices[0]); isObject {
			x.offer(toFinishReasons, id, fromJSON, choice.get("finish_reason"), source)
		}
	}
	x.offerTokenDetails(id, body.at("usage"), source)
}

// offerTokenDetails offers what OpenAI's usage says beside input and output, which it includes in them.
func (x *span) offerTokenDetails(id dialectID, usage object, source string) {
	x.offer(toCacheReadTokens, id, fromJSON, usage.at("prompt_tokens_details", "input_tokens_details").get("cached_tokens"), source)
	x.offer(toReasoningTokens, id, fromJSON, usage.at("completion_tokens_details", "output_tokens_details").get("reasoning_tokens"), source)
}

// offerFinish takes why the model stopped from the messages that it answered with, where nothing else says it: the
// conventions had it there before.
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

// mentionsFinish tells whether a text has the key finish_reason. It goes from one underscore to the next, which is several times
// faster than looking for the whole key: what people and models write has few.
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

// unwrapTool takes a tool's arguments and result out of what frameworks put around them: {args, kwargs} of Python's
// decorators, the event of LangChain's callback with the message that came of it, which also knows the call that it
// answers, and LlamaIndex's output of a tool.
func (x *span) unwrapTool() {
	if plain, ok := pythonJSON(x.text(toToolCallArguments)); ok {
		x.insist(toToolCallArguments, generic, plain, x.best[toToolCallArguments].source)
	}
	if o, ok := parseObject(x.text(toToolCallArguments)); ok {
		switch positional := o.get("args"); {
		case o.get("input_str") != "" && o.at("inputs") != nil:
			x.insist(toToolCallArguments, generic, o.get("inputs"), x.best[toToolCallArguments].source)
		case o.at("kwargs") != nil && (positional == "" || positional == "[]"):
			x.insist(toToolCallArguments, generic, o.get("kwargs"), x.best[toToolCallArguments].source)
		}
	}
	o, ok := parseObject(x.text(toToolCallResult))
	if !ok {
		return
	}
	source := x.best[toToolCallResult].source
	if message := toolMessage(o); message != nil {
		x.insist(toToolCallResult, generic, unquoted(contentValue(message.get("content"))), source)
		x.offer(toToolCallID, generic, fromJSON, message.get("tool_call_id"), source)
	} else if o.get("raw_output") != "" && o.get("raw_input") != "" {
		x.insist(toToolCallResult, generic, unquoted(o.get("raw_output")), source)
	}
}

// toolMessage is the message of a tool as LangChain writes it: {type: tool, data}, {lc, kwargs}, or either as the
// output of a run. Nil for anything else.
func toolMessage(o object) object {
	if inner := o.at("output"); inner != nil {
		o = inner
	}
	message := o.at("data")
	if o.get("lc") != "" {
		message = o.at("kwargs")
	}
	if message.str("type") != "tool" || message.get("tool_call_id") == "" {
		return nil
	}
	return message
}
