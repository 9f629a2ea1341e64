package runs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/jsonselect"
	"github.com/looptrace/looptrace/controlplane/llm/openaichat"
	"github.com/looptrace/looptrace/internal/jsonpull"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Members of a document.
const (
	memberInput          = "input"
	memberOutput         = "output"
	memberRequest        = "request"
	memberMessages       = "messages"
	memberOutputMessages = "output_messages"
	memberTools          = "tools"
	memberModel          = "model"
)

// keyContentState is the attribute in which ingest notes that messages were not recorded.
const keyContentState = "looptrace.content.state"

// Document returns a source as members of a JSON object, with messages and tools in the shape of OpenAI's chat completions. What was not
// recorded is left out.
func (s *Source) Document() ([]jsonselect.Member, error) {
	inputs, outputs, name := s.Span.Inputs, s.Span.Outputs, s.Span.Name
	metadata := map[string]string{}
	maps.Copy(metadata, s.Run.Metadata)
	maps.Copy(metadata, s.Span.Metadata) // the root has the run's
	if s.Whole {
		inputs, outputs, name = s.Run.Inputs, s.Run.Outputs, s.Run.Name
	}
	d := document{}
	d.text(memberInput, inputs)
	d.text(memberOutput, outputs)
	if err := d.call(s.Span); err != nil {
		return nil, fmt.Errorf("convert messages: %w", err)
	}
	d.value("metadata", metadata)
	attributes := s.Span.Attributes
	if attributes == nil {
		attributes = map[string]any{}
	}
	d.value("attributes", attributes)
	d.value("name", name)
	model := cmp.Or(s.Span.ResponseModel, s.Span.RequestModel)
	if s.Whole && model == "" && len(s.Run.Models) == 1 {
		model = s.Run.Models[0]
	}
	if model != "" {
		d.value(memberModel, model)
	}
	return d.members, d.err
}

// NotRecorded says why the document lacks a member.
func (s *Source) NotRecorded(member string) string {
	inputs, outputs := s.Span.Inputs, s.Span.Outputs
	if s.Whole {
		inputs, outputs = s.Run.Inputs, s.Run.Outputs
	}
	isRedactedMember := member == memberInput && isRedacted(inputs) || member == memberOutput && isRedacted(outputs)
	isContent := slices.Contains([]string{memberInput, memberOutput, memberRequest, memberMessages, memberOutputMessages}, member)
	if isRedactedMember || isContent && s.Span.Attributes[keyContentState] == any("redacted") {
		return "it is redacted"
	}
	if member == memberOutput && len(s.Span.OutputMessages) > 0 {
		return "the output messages have no text"
	}
	if isContent || member == memberTools || member == memberModel {
		return "it was not recorded"
	}
	return "there is no such member"
}

// document collects members. Its first error stays.
type document struct {
	members []jsonselect.Member
	err     error
}

// text adds JSON if the text is a JSON object, array or string, else the text itself. A number is text: a model may have said it.
func (d *document) text(name string, text *string) {
	if text == nil || isRedacted(text) {
		return
	}
	if raw := jsonOf(*text); raw != nil {
		d.members = append(d.members, jsonselect.Member{Name: name, Value: raw})
		return
	}
	d.value(name, *text)
}

// call adds the messages and tools of a span. Each is absent if there is none.
func (d *document) call(span *Span) error {
	messages, err := openaichat.Messages(span.SystemInstructions, span.InputMessages)
	if err != nil {
		return err
	}
	answers, err := openaichat.Messages(nil, span.OutputMessages)
	if err != nil {
		return err
	}
	tools, err := openaichat.Tools(span.ToolDefinitions)
	if err != nil {
		return err
	}
	if len(span.InputMessages) > 0 {
		d.value(memberRequest, struct {
			Messages []json.RawMessage `json:"messages"`
			Tools    []json.RawMessage `json:"tools,omitempty"`
		}{messages, tools})
	}
	for _, list := range []struct {
		name     string
		elements []json.RawMessage
	}{{memberMessages, messages}, {memberOutputMessages, answers}, {memberTools, tools}} {
		if len(list.elements) > 0 {
			d.value(list.name, list.elements)
		}
	}
	return nil
}

func (d *document) value(name string, value any) {
	raw, err := jsontext.Encode(value)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("encode %s: %w", name, err)
	}
	d.members = append(d.members, jsonselect.Member{Name: name, Value: raw})
}

// jsonOf returns the JSON of an object, an array or a string, nil if the text is none.
func jsonOf(text string) json.RawMessage {
	const maxDepth = 500
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' || !utf8.ValidString(trimmed) {
		return nil
	}
	raw := []byte(trimmed)
	r := jsonpull.NewReader(raw, maxDepth, math.MaxInt64)
	r.Text()
	if r.End(); r.Err() != nil {
		return nil
	}
	return raw
}

// isRedacted reports whether a text is what instrumentations write in place of one.
func isRedacted(text *string) bool {
	if text == nil {
		return false
	}
	switch strings.Trim(strings.TrimSpace(*text), `"`) {
	case "<REDACTED>", "__REDACTED__", "[REDACTED]":
		return true
	}
	return false
}
