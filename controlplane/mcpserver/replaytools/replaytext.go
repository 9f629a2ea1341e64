package replaytools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

// editTokens and errorTokens are about how many tokens are shown of what an edit changes and of an error.
const (
	editTokens  = 40
	errorTokens = 60
)

// quoted is text that sentences about a replay have from runs and providers, as strconv.Quote writes it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// safeQuotes makes what a sentence quotes safe outside of marks.
func safeQuotes(sentence string) string {
	return quoted.ReplaceAllStringFunc(sentence, func(text string) string {
		name, err := strconv.Unquote(text)
		if err != nil {
			name = text
		}
		return `"` + agentview.SafeName(name) + `"`
	})
}

// decodeStrictly reads an object of the arguments. Members that nothing reads are errors.
func decodeStrictly(object map[string]any, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(jsontext.MustEncode(object)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return tool.Error(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// wrongShown is how many wrong values an error names.
const wrongShown = 3

// editRemedy says what a model can do about an error of a replay.
func (t *tools) editRemedy(err error, in *editInput) error {
	refused := problem.Of(err)
	if refused == nil || refused.Kind != problem.Invalid && refused.Kind != problem.Conflict && refused.Kind != problem.TooLarge {
		return err
	}
	if len(refused.Fields) == 0 || refused.Code != problem.CodeValidationFailed { // the detail says more
		return tool.Error(safeQuotes(refused.Detail))
	}
	var lines []string
	for _, field := range refused.Fields[:min(len(refused.Fields), wrongShown)] {
		location := withoutBody(field.Location)
		text := location + " " + safeQuotes(field.Message)
		if i, ok := editAt(location); ok && i < len(in.Edits) && !strings.HasPrefix(field.Message, "cannot be replayed") {
			text += " Example: " + editExample(in.Edits[i]) + "."
		}
		lines = append(lines, text)
	}
	if more := len(refused.Fields) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%d more values are wrong.", more))
	}
	return tool.Error(strings.Join(lines, "\n"))
}

// withoutBody returns a location as the arguments of a tool have it.
func withoutBody(text string) string { return strings.TrimPrefix(text, "body.") }

var editLocation = regexp.MustCompile(`^edits\[(\d+)\]`)

// editAt returns the index of the edit at a location.
func editAt(location string) (int, bool) {
	found := editLocation.FindStringSubmatch(location)
	if found == nil {
		return 0, false
	}
	i, err := strconv.Atoi(found[1])
	return i, err == nil
}

// examples are edits that set each member. A span_id is one of runs.read.
var examples = map[string]string{
	"model":         `{"target":"all","set":{"model":"gpt-4o-mini"}}`,
	"params":        `{"target":"all","set":{"params":{"temperature":0}}}`,
	"system_prompt": `{"target":"all","set":{"system_prompt":"You are brief."}}`,
	"messages":      `{"target":{"span_id":"00f067aa0ba902b7"},"set":{"messages":[{"role":"user","content":"Hello"}]}}`,
	"response":      `{"target":{"span_id":"00f067aa0ba902b7"},"set":{"response":{"role":"assistant","content":"Hello"}}}`,
	"tool_schema":   `{"target":"all","set":{"tool_schema":{"type":"function","function":{"name":"find","parameters":{"type":"object"}}}}}`,
	"tool_result":   `{"target":{"span_id":"00f067aa0ba902b7"},"set":{"tool_result":{"found":true}}}`,
	"tool_error":    `{"target":{"span_id":"00f067aa0ba902b7"},"set":{"tool_error":{"type":"timeout","message":"too slow"}}}`,
	"timeout_ms":    `{"target":{"kind":"tool","name":"find"},"set":{"timeout_ms":5000}}`,
	"retries":       `{"target":{"kind":"tool","name":"find"},"set":{"retries":2}}`,
	"input":         `{"target":"all","set":{"input":"Hello"}}`,
}

// editExample returns an edit that is right and sets what the given one wanted to.
func editExample(wrong map[string]any) string {
	set, _ := wrong["set"].(map[string]any)
	for member := range set {
		if example, ok := examples[member]; ok && len(set) == 1 {
			return example
		}
	}
	return examples["system_prompt"]
}
