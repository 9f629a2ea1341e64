package runmodel

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

// pythonError matches the repr of a Python exception, which may be followed by its traceback: ValueError('no such city').
var pythonError = regexp.MustCompile(`(?s)^([A-Za-z_][\w.]*)\((?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"),?\)\s*(Traceback \(most recent call last\):.*)?$`)

// traceback is how the stack of a Python exception begins.
const traceback = "Traceback (most recent call last):"

// controlFlow are exceptions that end a step without a failure: the run waits for a person or goes on elsewhere.
// langgraph/errors.py (GraphBubbleUp and its subclasses), strands/types/interrupt.py, workflows/runtime/types/results.py
// (LlamaIndex).
var controlFlow = map[string]bool{
	"GraphInterrupt": true, "NodeInterrupt": true, "GraphBubbleUp": true, "ParentCommand": true, "InterruptException": true,
	"WaitingForEvent": true,
}

// SetException fills in what the span itself does not say of its error from an exception that was recorded on it. A
// message of the span that only wraps that of the exception, as in `ValueError('no such city')`, is replaced by it.
func (s *Span) SetException(errorType, message, stack string) {
	if s.ErrorType == "" {
		s.ErrorType = errorType
	}
	if s.ErrorStack == "" {
		s.ErrorStack = stack
	}
	if s.ErrorMessage == "" || message != "" && len(s.ErrorMessage) <= maxSettled && strings.Contains(s.ErrorMessage, message) && s.wraps(message) {
		s.ErrorMessage = message
	}
}

// wraps reports whether the span's message has nothing but a type, a stack and quotes around the given one.
func (s *Span) wraps(message string) bool {
	before, after, _ := strings.Cut(s.ErrorMessage, message)
	after, _, _ = strings.Cut(after, traceback)
	return errorWrapper.MatchString(before) && strings.Trim(after, "'\"),. \n") == ""
}

// errorWrapper matches what stands before a message: types, each with a colon or a bracket.
var errorWrapper = regexp.MustCompile(`^(?:[A-Za-z_][\w.]*(?:: |\(['"]?))*$`)

// maxSettled limits the messages that SettleError and SetException read, in bytes. Longer ones stay as they are.
const maxSettled = 64 << 10

// pythonEscapes reads the escapes that are common in the repr of a Python string.
var pythonEscapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

// SettleError takes type, message and stack out of the repr of an exception, and makes a step that ended by a control
// flow exception a success. A failed tool that says only the type of its error gets the message from its result. Call it when all is read that says how the span ended.
func (s *Span) SettleError() {
	if s.ErrorMessage == "" && s.ErrorType == "" && s.ToolResult == "" {
		return
	}
	var found []string
	if len(s.ErrorMessage) <= maxSettled {
		found = pythonError.FindStringSubmatch(s.ErrorMessage)
	}
	if found != nil {
		name := shortType(found[1])
		if s.ErrorType == "" || s.ErrorType == "Exception" || shortType(s.ErrorType) == name {
			if s.ErrorType == "" || s.ErrorType == "Exception" {
				s.ErrorType = name
			}
			s.ErrorMessage = pythonEscapes.Replace(found[2] + found[3])
			if s.ErrorStack == "" {
				s.ErrorStack = found[4]
			}
		}
	}
	name := shortType(s.ErrorType)
	if prefix, _, isCall := strings.Cut(s.ErrorMessage, "("); isCall && controlFlow[prefix] {
		name = prefix
	}
	if controlFlow[name] && (s.Status == StatusError || s.Status == "") {
		s.Status, s.ErrorType, s.ErrorMessage, s.ErrorStack = StatusOK, "", "", ""
	}
	if s.Status == StatusError && (s.ErrorMessage == "" || s.ErrorMessage == s.ErrorType) {
		s.ErrorMessage = cmp.Or(errorIn(s.ToolResult), s.ErrorMessage)
	}
}

// errorIn returns the error that the result of a tool has as a member: {"error": "no such city"}, or
// {"error": {"message": "no such city"}}. It is empty for any other result.
func errorIn(result string) string {
	var members struct {
		Error json.RawMessage `json:"error"`
	}
	if len(result) > maxSettled || !strings.HasPrefix(result, "{") || json.Unmarshal([]byte(result), &members) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(members.Error, &text) == nil {
		return text
	}
	var described struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(members.Error, &described) != nil {
		return "" // an error in a form of its own
	}
	return described.Message
}
