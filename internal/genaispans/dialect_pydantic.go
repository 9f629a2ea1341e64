package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// pydanticAIDialect is Pydantic AI (pydantic_ai_slim/pydantic_ai/models/instrumented.py), versions 1 (events in an
// attribute) to 6 (the conventions). An agent run's total is under gen_ai.aggregated_usage and is not mapped.
var pydanticAIDialect = dialect{
	name:      "pydantic-ai",
	framework: "pydantic-ai",
	rules: []rule{
		{to: toRequestModel, from: []string{"model_name"}},
		{to: toAgentName, from: []string{"agent_name"}},
		{to: toOutputs, from: []string{"final_result"}},
		{to: toToolDefinitions, from: []string{"model_request_parameters"}},
		{to: toTags, from: []string{"logfire.tags"}},
		{to: toMetadata, from: []string{"metadata"}},
	},
	kind: func(x *span) (string, string) {
		if x.has(toOperation) {
			return "", ""
		}
		name := x.Name()
		switch {
		case x.has(toAgentName) && (strings.HasSuffix(name, " run") || x.str("final_result") != ""),
			name == "agent run", strings.HasPrefix(name, "invoke_agent"):
			return isAgent.kind, isAgent.operation
		case strings.HasPrefix(name, "running tool"), strings.HasPrefix(name, "execute_tool"):
			if strings.HasPrefix(name, "running tools") || strings.HasPrefix(name, "running ") && strings.HasSuffix(name, "tools") {
				return isTask.kind, isTask.operation
			}
			return isTool.kind, isTool.operation
		}
		return "", ""
	},
	derive: func(x *span) {
		x.eventList("events", toOutputMessages)
		if x.kind == runmodel.KindAgent {
			x.eventList("all_messages_events", toInputMessages)
			x.offer(toInputMessages, pydanticAI, fromText, x.jsonAt("pydantic_ai.all_messages"), "pydantic_ai.all_messages")
		}
		if x.isCall() && !x.has(toSystemInstructions) {
			x.pydanticInstructions()
		}
	},
}

// pydanticInstructions takes the instructions of a rejected call, which has them in its parameters only.
func (x *span) pydanticInstructions() {
	const key = "model_request_parameters"
	parameters, ok := parseObject(x.jsonAt(key))
	if !ok {
		return
	}
	parts, _ := parseArray(parameters.get("instruction_parts"))
	var texts []string
	for _, part := range parts {
		if o, isObject := parseObject(part); isObject {
			texts = append(texts, o.str("content"))
		}
	}
	x.offer(toSystemInstructions, pydanticAI, fromText, strings.Join(texts, "\n\n"), key)
}

// jsonAt returns an attribute that is JSON, as text or as a structure.
func (x *span) jsonAt(key string) string {
	if v, ok := x.attrs.Get(key); ok && v.Type() != pcommon.ValueTypeEmpty {
		return valueText(v)
	}
	return ""
}

// eventList reads a JSON list of the events that the conventions had before v1.37: {event.name, role, content, …}. A
// choice is output. Without a choice, so are the messages after the last question.
func (x *span) eventList(key string, answerTo target) {
	elements, ok := parseArray(x.jsonAt(key))
	if !ok {
		return
	}
	input, output := writer{b: []byte{'['}}, writer{b: []byte{'['}}
	roles := make([]string, len(elements))
	answerFrom, hasChoice := len(elements), false
	for i, element := range elements {
		o, _ := parseObject(element)
		roles[i] = strings.TrimSuffix(strings.TrimPrefix(o.str("event.name"), eventPrefix), eventMessage)
		hasChoice = hasChoice || roles[i] == "choice" || o.str("event.name") == eventChoice
		if o.str("role") != "assistant" && roles[i] != "assistant" {
			answerFrom = i + 1
		}
	}
	for i, element := range elements {
		o, isObject := parseObject(element)
		if !isObject {
			continue
		}
		role := roles[i]
		switch {
		case i >= answerFrom && !hasChoice && answerTo == toOutputMessages:
			output.message(o, "assistant")
		case role == "choice" || o.str("event.name") == eventChoice:
			if message := o.at("message"); message != nil {
				output.choice(message, o)
			} else {
				output.message(o, "assistant")
			}
		default:
			if o.get("role") == "" {
				o = append(o, member{"role", string(appendString(nil, role))})
			}
			if id := o.get("id"); id != "" && role == "tool" {
				o = append(o, member{"tool_call_id", id})
			}
			input.message(o, role)
		}
	}
	x.offerList(toInputMessages, &input, key)
	x.offerList(answerTo, &output, key)
}

func (x *span) offerList(to target, w *writer, source string) {
	if w.messages > 0 {
		x.offer(to, pydanticAI, fromCanonical, string(append(w.b, ']')), source)
	}
}

// logfireDialect is Logfire's own instrumentations (logfire/_internal/integrations): JSON of the request and of the
// response in attributes.
var logfireDialect = dialect{
	name: "logfire",
	rules: []rule{
		{to: toTags, from: []string{"logfire.tags"}},
		{to: toAgentName, from: []string{"agent_name"}},
		{to: toResponseID, from: []string{"response_id"}},
	},
	kind: func(x *span) (string, string) {
		template := x.str("logfire.msg_template")
		if template == "" {
			template = x.Name()
		}
		for _, known := range logfireTemplates {
			if strings.HasPrefix(template, known.prefix) {
				return known.kind, known.operation
			}
		}
		return "", ""
	},
	derive: func(x *span) {
		if msg := x.str("logfire.msg"); msg != "" && strings.Contains(x.Name(), "{") {
			x.SetName(msg) // the template stays in logfire.msg_template
		}
		x.logfireError()
		x.eventList("events", toOutputMessages)
		if x.kind == runmodel.KindAgent && !x.has(toAgentName) {
			x.offer(toAgentName, logfire, fromText, x.str("name"), "name")
		}
		if x.kind == runmodel.KindTool && !x.has(toToolName) {
			x.offer(toToolName, logfire, fromText, x.str("name"), "name")
		}
		x.logfireRequest()
		x.logfireResponse()
		x.logfireScores()
		if x.str("logfire.span_type") == "log" && strings.HasPrefix(x.Name(), "streaming response from") {
			// It adds the result of a streaming request to the request's span. It is not a second call.
			x.putOwnBool(ownContinuation, true)
		}
	},
}

var logfireTemplates = []struct {
	prefix string
	kindAndOperation
}{
	{"Chat Completion with", isLLM},
	{"Chat completion with", isLLM},
	{"Responses API with", isLLM},
	{"Message with", isLLM},
	{"streaming response from", isLLM},
	{"Completion with", kindAndOperation{runmodel.KindLLM, "text_completion"}},
	{"Embedding Creation with", isEmbedding},
	{"Agent run:", isAgent},
	{"Function:", isTool},
	{"Guardrail", isGuardrail},
	{"Calling evaluator:", isEvaluator}, // Pydantic Evals
	{"Handoff:", isTask},
	{"Turn ", isTask},
	{"Task:", isWorkflow},
	{"OpenAI Agents trace", isWorkflow},
	{"MCP request: tools/call", isTool},
}

func (x *span) logfireRequest() {
	if input := x.jsonAt("input"); x.isCall() && input != "" {
		// The SDK may have appended the answer to the request's messages. The input has only what was sent.
		x.offer(toInputMessages, logfire, fromText, input, "input")
		x.offer(toOutputMessages, logfire, fromText, x.jsonAt("output"), "output")
	}
	request, ok := parseObject(x.jsonAt("request_data"))
	if !ok {
		return
	}
	const source = "request_data"
	x.offer(toRequestModel, logfire, fromJSON, request.get("model"), source)
	x.offerParameters(logfire, request, source)
	if x.isCall() {
		x.offer(toInputMessages, logfire, fromJSON, request.get("messages", "input", "prompt"), source)
		x.offer(toSystemInstructions, logfire, fromJSON, request.get("system"), source)
		x.offerRequest(logfire, request, source)
	}
}

func (x *span) logfireResponse() {
	response, ok := parseObject(x.jsonAt("response_data"))
	if !ok || !x.isCall() {
		return
	}
	const source = "response_data"
	if message := response.get("message"); message != "" {
		x.offer(toOutputMessages, logfire, fromJSON, message, source)
	}
	x.offer(toOutputMessages, logfire, fromJSON, response.get("combined_chunk_content", "text"), source)
	x.offerUsage(logfire, response.at("usage"), source, strings.HasPrefix(x.str("logfire.msg_template"), "Message with"))
}

// logfireError marks a span as failed if its level is error and its status is unset.
func (x *span) logfireError() {
	const levelError = 17 // logfire/_internal/constants.py
	if level, ok := x.get("logfire.level_num"); !ok || level.Type() != pcommon.ValueTypeInt || level.Int() < levelError ||
		x.Status().Code() != ptrace.StatusCodeUnset {
		return
	}
	x.fail("logfire.level_num")
	if o, ok := parseObject(x.jsonAt("error")); ok {
		x.offer(toErrorMessage, logfire, fromJSON, o.get("message"), "error")
	}
}

// resolvePending turns the placeholder that Logfire sends when a span starts into an early version of that span. The
// placeholder has its own id and is a child of the span.
func (x *span) resolvePending() {
	if x.str("logfire.span_type") != "pending_span" || x.ParentSpanID().IsEmpty() {
		return
	}
	x.SetSpanID(x.ParentSpanID())
	parent := pcommon.SpanID{}
	if id := x.str("logfire.pending_parent_id"); id != "" {
		parent = parseSpanID(id)
	}
	x.SetParentSpanID(parent)
	x.SetEndTimestamp(0)
}
