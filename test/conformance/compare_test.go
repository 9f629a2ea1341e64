package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// The fields of the table, in its order.
const (
	fieldKind            = "kind"
	fieldOperation       = "operation"
	fieldProvider        = "provider"
	fieldRequestModel    = "request_model"
	fieldResponseModel   = "response_model"
	fieldInput           = "input"
	fieldOutput          = "output"
	fieldSystem          = "system"
	fieldTools           = "tool_definitions"
	fieldToolName        = "tool_name"
	fieldToolCallID      = "tool_call_id"
	fieldToolArguments   = "tool_arguments"
	fieldToolResult      = "tool_result"
	fieldInputTokens     = "input_tokens"
	fieldOutputTokens    = "output_tokens"
	fieldCacheRead       = "cache_read_tokens"
	fieldCacheWrite      = "cache_write_tokens"
	fieldReasoningTokens = "reasoning_tokens"
	fieldCounted         = "usage_counted"
	fieldCost            = "cost"
	fieldTTFT            = "ttft"
	fieldFinish          = "finish_reasons"
	fieldStatus          = "status"
	fieldErrorType       = "error_type"
	fieldErrorMessage    = "error_message"
	fieldSession         = "session"
	fieldConversation    = "conversation"
	fieldUser            = "user"
	fieldAgent           = "agent"
	fieldPrompt          = "prompt"
	fieldPromptVersion   = "prompt_version"
	fieldTags            = "tags"
	fieldScore           = "score"
	fieldTotals          = "totals"
)

// got returns a field of a span, nil if the span does not have it.
func (s recordedSpan) got(field string) any {
	switch field {
	case fieldKind:
		return s.EffectiveKind()
	case fieldOperation:
		return text(s.Operation)
	case fieldProvider:
		return text(s.Provider)
	case fieldRequestModel:
		return text(s.RequestModel)
	case fieldResponseModel:
		return text(s.ResponseModel)
	case fieldInput:
		return s.contents.messages(s.InputMessageIDs)
	case fieldOutput:
		return s.contents.messages(s.OutputMessageIDs)
	case fieldSystem:
		// Instructions may be separate or a system message.
		if apart := instructions(s.contents.value(s.InstructionsID)); apart != "" {
			return apart
		}
		_, system := conversation(s.contents.messages(s.InputMessageIDs))
		return text(system)
	case fieldTools:
		return s.contents.value(s.ToolDefinitionsID)
	case fieldToolName:
		return text(s.ToolName)
	case fieldToolCallID:
		return text(s.ToolCallID)
	case fieldToolArguments:
		return text(s.ToolArguments)
	case fieldToolResult:
		return text(s.ToolResult)
	case fieldInputTokens:
		return count(s.InputTokens)
	case fieldOutputTokens:
		return count(s.OutputTokens)
	case fieldCacheRead:
		return count(s.CacheReadTokens)
	case fieldCacheWrite:
		return count(s.CacheWriteTokens)
	case fieldReasoningTokens:
		return count(s.ReasoningTokens)
	case fieldCounted:
		return s.counted
	case fieldCost:
		return sentCost(s.CostUSD, s.CostSource)
	case fieldTTFT:
		return count(s.TimeToFirstToken)
	case fieldFinish:
		if len(s.FinishReasons) == 0 {
			return nil
		}
		return s.FinishReasons
	case fieldStatus:
		return s.EffectiveStatus()
	case fieldErrorType:
		return text(s.ErrorType)
	case fieldErrorMessage:
		return text(s.ErrorMessage)
	case fieldSession:
		return text(s.SessionID)
	case fieldConversation:
		return text(s.ConversationID)
	case fieldUser:
		return text(s.UserID)
	case fieldAgent:
		return text(s.AgentName)
	case fieldPrompt:
		return text(s.PromptName)
	case fieldPromptVersion:
		return text(s.PromptVersion)
	case fieldTags:
		if len(s.Tags) == 0 {
			return nil
		}
		return s.Tags
	}
	panic("no such field: " + field)
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func count[T int64 | float64](n *T) any {
	if n == nil {
		return nil
	}
	return float64(*n)
}

// sentCost returns a cost that the client sent. TestRecordedCosts checks those that are computed.
func sentCost(usd *float64, source string) any {
	if source != runmodel.CostSent {
		return nil
	}
	return count(usd)
}

// same reports whether a field has the expected value, as strictly as its meaning allows.
func same(field string, want, got any) bool {
	switch field {
	case fieldInput, fieldOutput:
		return sameMessages(want, got)
	case fieldSystem:
		return instructions(want) == instructions(got)
	case fieldTools:
		return sameTools(want, got)
	case fieldToolArguments:
		return sameJSON(want, got)
	case fieldToolResult:
		return sameJSON(want, got) || reflect.DeepEqual(bare(want), bare(got))
	case fieldInputTokens, fieldOutputTokens, fieldCost:
		return sameNumber(want, got)
	case fieldCacheRead, fieldCacheWrite, fieldReasoningTokens:
		// 0 cached tokens and no statement are equal.
		return sameNumber(want, got) || (isZero(want) && isZero(got))
	case fieldFinish:
		return reflect.DeepEqual(finishReasons(want), finishReasons(got))
	case fieldTags:
		return reflect.DeepEqual(sortedStrings(want), sortedStrings(got))
	}
	if oneOf, ok := want.([]string); ok {
		return slices.ContainsFunc(oneOf, func(w string) bool { return reflect.DeepEqual(any(w), got) })
	}
	return reflect.DeepEqual(want, got)
}

func isZero(value any) bool { return value == nil || value == 0.0 }

func sameNumber(want, got any) bool {
	w, wanted := want.(float64)
	g, present := got.(float64)
	if !wanted || !present {
		return want == nil && got == nil
	}
	return math.Abs(w-g) <= 1e-6*math.Max(math.Abs(w), math.Abs(g))
}

// sameJSON compares values that may be JSON text, encoded once or twice.
func sameJSON(want, got any) bool {
	return reflect.DeepEqual(decoded(want), decoded(got))
}

// bare returns a tool's result without the wrapper of a protocol: an object with the only member result, as Gemini
// requires, or a list of text blocks, as Anthropic and Bedrock have.
func bare(value any) any {
	value = decoded(value)
	switch v := value.(type) {
	case map[string]any:
		if inner, ok := v["result"]; ok && len(v) == 1 {
			return decoded(inner)
		}
	case []any:
		var b strings.Builder
		for _, element := range v {
			block, _ := element.(map[string]any)
			blockText, ok := block["text"].(string)
			if !ok {
				if blockText, ok = block["content"].(string); !ok {
					return value
				}
			}
			b.WriteString(blockText)
		}
		return strings.TrimSpace(b.String())
	}
	return value
}

func decoded(value any) any {
	for range 3 {
		s, ok := value.(string)
		if !ok {
			break
		}
		var inner any
		if json.Unmarshal([]byte(s), &inner) != nil {
			return strings.TrimSpace(s)
		}
		value = inner
	}
	return value
}

// message is a message in comparable form.
type message struct {
	Role  string
	Parts []any
}

// conversation makes messages comparable: system messages are separate, empty text is dropped, neighbours of one role
// are joined, and tool results have the role tool.
func conversation(value any) (messages []message, system string) {
	list, _ := value.([]any)
	for _, element := range list {
		m, _ := element.(map[string]any)
		role, _ := m["role"].(string)
		parts, _ := m["parts"].([]any)
		var kept []any
		for _, p := range parts {
			if c := comparablePart(p); c != nil {
				kept = append(kept, c)
			}
		}
		switch {
		case role == "system" || role == "developer":
			system += partsText(parts)
			continue
		case len(kept) == 0:
			continue
		case role == "user" && allResults(kept):
			role = "tool"
		}
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Parts = append(messages[n-1].Parts, kept...)
			continue
		}
		messages = append(messages, message{role, kept})
	}
	return messages, strings.TrimSpace(system)
}

func allResults(parts []any) bool {
	for _, p := range parts {
		if p.(map[string]any)["type"] != "tool_call_response" {
			return false
		}
	}
	return true
}

// comparablePart returns a part without irrelevant differences: absent and null members, and JSON as text or as
// value.
func comparablePart(part any) any {
	p, ok := part.(map[string]any)
	if !ok {
		return part
	}
	c := make(map[string]any)
	for key, value := range p {
		if value != nil && value != "" {
			c[key] = value
		}
	}
	switch p["type"] {
	case "text", "reasoning":
		content, _ := p["content"].(string)
		if content = strings.TrimSpace(content); content == "" {
			return nil
		}
		c = map[string]any{"type": p["type"], "content": content}
	case "tool_call":
		c = map[string]any{"type": "tool_call", "name": p["name"], "arguments": decoded(p["arguments"])}
		if id, _ := p["id"].(string); id != "" {
			c["id"] = id
		}
	case "tool_call_response":
		response := p["response"]
		if response == nil {
			response = p["result"]
		}
		c = map[string]any{"type": "tool_call_response", "response": bare(response)}
		if id, _ := p["id"].(string); id != "" {
			c["id"] = id
		}
	}
	return c
}

func sameMessages(want, got any) bool {
	w, _ := conversation(want) // instructions are compared as a separate field
	g, _ := conversation(got)
	if len(w) != len(g) {
		return false
	}
	for i := range w {
		if w[i].Role != g[i].Role || len(w[i].Parts) != len(g[i].Parts) {
			return false
		}
		for j := range w[i].Parts {
			if !samePart(w[i].Parts[j], g[i].Parts[j]) {
				return false
			}
		}
	}
	return true
}

// samePart requires every expected member. An unexpected id is allowed.
func samePart(want, got any) bool {
	w, isMap := want.(map[string]any)
	g, gotMap := got.(map[string]any)
	if !isMap || !gotMap {
		return reflect.DeepEqual(want, got)
	}
	for key, value := range w {
		if !reflect.DeepEqual(value, g[key]) {
			return false
		}
	}
	return true
}

// instructions returns the text of system instructions: a list of parts, or text.
func instructions(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		return strings.TrimSpace(partsText(v))
	}
	return ""
}

func partsText(parts []any) string {
	var b strings.Builder
	for _, p := range parts {
		switch v := p.(type) {
		case string:
			b.WriteString(v)
		case map[string]any:
			content, _ := v["content"].(string)
			b.WriteString(content)
		}
	}
	return b.String()
}

// sameTools compares names in order, and the names of parameters.
func sameTools(want, got any) bool {
	return reflect.DeepEqual(toolDefinitions(want), toolDefinitions(got))
}

func toolDefinitions(value any) []string {
	list, _ := value.([]any)
	var tools []string
	for _, element := range list {
		t, _ := element.(map[string]any)
		parameters, _ := decoded(t["parameters"]).(map[string]any)
		properties, _ := parameters["properties"].(map[string]any)
		tools = append(tools, fmt.Sprint(t["name"], slices.Sorted(maps.Keys(properties))))
	}
	return tools
}

func finishReasons(value any) []string {
	var reasons []string
	for _, r := range sortedStrings(value) {
		switch r = strings.ToLower(r); r {
		case "tool_calls", "tool-calls", "tool_use", "tool_call", "function_call", "function_calls":
			r = "tool_call"
		case "end_turn", "complete", "stop", "stop_sequence", "completed":
			r = "stop"
		case "max_tokens", "length":
			r = "length"
		}
		reasons = append(reasons, r)
	}
	return reasons
}

func sortedStrings(value any) []string {
	var list []string
	switch v := value.(type) {
	case string:
		list = []string{v}
	case []string:
		list = slices.Clone(v)
	case []any:
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
	}
	slices.Sort(list)
	return list
}

// usageOf returns the token counts of a run's totals by field.
func usageOf(totals *runmodel.Run) map[string]any {
	return map[string]any{
		fieldInputTokens: count(totals.InputTokens), fieldOutputTokens: count(totals.OutputTokens),
		fieldCacheRead: count(totals.CacheReadTokens), fieldCacheWrite: count(totals.CacheWriteTokens),
		fieldReasoningTokens: count(totals.ReasoningTokens),
	}
}
