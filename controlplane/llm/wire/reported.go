package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// ReportedError is a failure that a provider reports after it has begun the response with the status 200: in the body, in
// an event of a stream, or by how the answer ends. Its body has what the provider says of it.
type ReportedError struct{ Body []byte }

func (*ReportedError) Error() string { return "the response reports an error" }

// report is what a response, or an event of a stream, says of a failure, beside the answer or in its place.
type report struct {
	Error    json.RawMessage `json:"error"`
	Type     json.RawMessage `json:"type"`
	Object   json.RawMessage `json:"object"`
	Status   json.RawMessage `json:"status"`
	Response json.RawMessage `json:"response"` // of the events of responses
	Success  json.RawMessage `json:"success"`
	Code     json.RawMessage `json:"code"`
	// ErrorCode is Baidu's, BaseResp MiniMax's.
	ErrorCode json.RawMessage `json:"error_code"`
	BaseResp  struct {
		StatusCode json.RawMessage `json:"status_code"`
	} `json:"base_resp"`
	// Choices and Content are the answer.
	Choices json.RawMessage `json:"choices"`
	Content json.RawMessage `json:"content"`
}

// reportMarks are in every report. Most events of a stream have none of them, and are read once.
var reportMarks = [][]byte{[]byte("rror"), []byte(`"status"`), []byte(`"code"`), []byte(`"success"`), []byte(`"base_resp"`)}

// Reported returns the failure that a body or an event reports, or nil.
func Reported(data []byte) *ReportedError {
	var r report
	isMarked := slices.ContainsFunc(reportMarks, func(mark []byte) bool { return bytes.Contains(data, mark) })
	if isMarked && json.Unmarshal(data, &r) == nil {
		return r.failure(data)
	}
	return nil
}

func (r *report) failure(data []byte) *ReportedError {
	switch {
	case !saysNothing(r.Error), isError(r.Type), isError(r.Object), string(r.Success) == "false",
		!isZero(r.ErrorCode), !isZero(r.BaseResp.StatusCode):
		return &ReportedError{data}
	case strings.HasPrefix(llm.TextOf(r.Type), "response.") && !jsontext.IsNull(r.Response):
		return Reported(r.Response)
	case isFailure(llm.TextOf(r.Status)):
		return ended(llm.TextOf(r.Status))
	case jsontext.IsNull(r.Choices) && jsontext.IsNull(r.Content) && (readStatus(r.Status) != 0 || readStatus(r.Code) != 0):
		return &ReportedError{data}
	}
	return nil
}

func isError(word json.RawMessage) bool { return llm.TextOf(word) == "error" }

// isZero reports whether a code is absent, or one of success.
func isZero(code json.RawMessage) bool {
	return llm.IsEmpty(code) || string(code) == "0" || string(code) == `"0"`
}

// saysNothing reports whether a member for an error has none.
func saysNothing(value json.RawMessage) bool {
	return llm.IsEmpty(value) || string(value) == "false" || value[0] == '{' && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

// failureWords are in the reasons by which providers say that an answer is none. Other reasons are those of answers:
// stop, length, tool_calls, content_filter and many more.
//
//   - error: OpenRouter, Mistral, https://openrouter.ai/docs/api-reference/overview; network_error: Zhipu; ERROR: Cohere
//   - insufficient_system_resource: DeepSeek, https://api-docs.deepseek.com/api/create-chat-completion
//   - abort: vLLM and SGLang; cancelled, failed: the status of responses
//   - MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, TOO_MANY_TOOL_CALLS, MISSING_THOUGHT_SIGNATURE, MALFORMED_RESPONSE:
//     Gemini, https://ai.google.dev/api/generate-content#FinishReason
//   - malformed_model_output, malformed_tool_use: Amazon Bedrock
var failureWords = []string{
	"error", "fail", "abort", "cancel", "timeout", "timedout", "malformed", "insufficientsystemresource", "unexpectedtoolcall",
	"toomanytoolcalls", "missingthoughtsignature", "unavailable", "overloaded",
}

// isFailure reports whether a finish reason, or a status, says that the call failed.
func isFailure(reason string) bool {
	reason = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r < 'a' || r > 'z':
			return -1
		}
		return r
	}, reason)
	for _, word := range failureWords {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}

// ended is the failure of an answer that ends with a reason which says no more. Aggregators give their own reason and that
// of the provider.
func ended(reasons ...string) *ReportedError {
	code := reasons[len(reasons)-1]
	message := fmt.Sprintf("the provider ended the answer with %q", reasons[0])
	if code != reasons[0] {
		message += fmt.Sprintf(", its model's reason is %q", code)
	}
	return failed(jsontext.MustEncode(map[string]string{"message": message, "code": code}))
}

// failed is a failure by the error that stands in a part of a response.
func failed(inner json.RawMessage) *ReportedError {
	return &ReportedError{jsontext.MustEncode(map[string]json.RawMessage{"error": inner})}
}

// failure returns the failure that a choice reports, or nil.
func (c *openAIChoice) failure() *ReportedError {
	if !saysNothing(c.Error) {
		return failed(c.Error)
	}
	for _, message := range []json.RawMessage{c.Message, c.Delta} {
		if !bytes.Contains(message, []byte(`"error"`)) {
			continue // most deltas
		}
		if values, err := llm.Members(message); err == nil && !saysNothing(values["error"]) {
			return failed(values["error"])
		}
	}
	reason, native := c.finish(), llm.TextOf(c.NativeFinishReason)
	switch {
	case isFailure(reason) && !jsontext.IsNull(c.FinishReason) && c.FinishReason[0] == '{':
		return failed(c.FinishReason)
	case isFailure(reason) && native != "":
		return ended(reason, native)
	case isFailure(reason):
		return ended(reason)
	case isFailure(native):
		return ended(native)
	}
	return nil
}
