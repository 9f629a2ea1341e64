package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// SpanWriter gives the steps of an attempt the form of spans. It converts each message once, however many requests have it.
type SpanWriter struct {
	*recorded.Recording
	converted map[string]json.RawMessage
}

// NewSpanWriter returns a writer for the steps of one attempt. It must not be used concurrently.
func NewSpanWriter(r *recorded.Recording) *SpanWriter {
	return &SpanWriter{r, map[string]json.RawMessage{}}
}

// Form returns the form of a step in which it is written as a span.
func (r *SpanWriter) Form(step AttemptStep) (SpanForm, error) {
	var out SpanForm
	if step.Recorded >= 0 {
		span := &r.Spans[step.Recorded]
		out = SpanForm{
			SystemInstructions: span.SystemInstructions, InputMessages: span.InputMessages, OutputMessages: span.OutputMessages, ToolDefinitions: span.ToolDefinitions,
			Inputs: span.Inputs, Outputs: span.Outputs, ToolArguments: span.ToolArguments, ToolResult: span.ToolResult, Recorded: span,
		}
	}
	if step.Source == SourceCopied && !step.Differs || step.Source == SourceServed && !step.Differs {
		return out, nil
	}
	var err error
	switch step.Kind {
	case recorded.KindModel:
		err = r.writeModel(&out, &step)
	case recorded.KindTool:
		if step.Tool == nil {
			break
		}
		out.Inputs, out.Outputs, out.ToolArguments, out.ToolResult = "", "", step.Tool.Arguments, *orEmpty(step.Tool.Result)
		if out.Recorded != nil && out.Recorded.ToolArguments == "" && out.Recorded.Inputs != "" {
			out.Inputs, out.ToolArguments = out.ToolArguments, ""
		}
		if out.Recorded != nil && out.Recorded.ToolResult == "" && out.Recorded.Outputs != "" {
			out.Outputs, out.ToolResult = out.ToolResult, ""
		}
	default:
		err = out.writeFrame(&step)
	}
	return out, err
}

// writeModel writes the request and the answer of a model call. Messages that were recorded keep their form.
func (r *SpanWriter) writeModel(out *SpanForm, step *AttemptStep) error {
	if step.Request == nil {
		return nil
	}
	request := step.Request
	leading := 0
	for leading < len(request.Messages) && recorded.ReadMessage(request.Messages[leading]).Role == recorded.RoleSystem {
		leading++
	}
	asInstructions := len(out.SystemInstructions) > 0
	out.Inputs, out.Outputs = "", ""
	var err error
	if asInstructions && leading > 0 {
		var system []json.RawMessage
		if system, err = recorded.FromChat(request.Messages[:leading]); err != nil {
			return err
		}
		same := slices.EqualFunc(request.Messages[:leading], r.instructions(step.Recorded), jsontext.Equal)
		if !same {
			out.SystemInstructions = nil
			for _, raw := range system {
				out.SystemInstructions = append(out.SystemInstructions, jsontext.List(jsontext.Members(raw)["parts"])...)
			}
		}
		request = &recorded.Request{Messages: request.Messages[leading:], Tools: request.Tools}
	}
	if out.InputMessages, err = r.formsOf(request.Messages); err != nil {
		return err
	}
	if step.Recorded < 0 || !slices.EqualFunc(request.Tools, r.Steps[step.Recorded].Model.Request.Tools, jsontext.Equal) {
		if out.ToolDefinitions, err = recorded.ToolsFromChat(request.Tools); err != nil {
			return err
		}
	}
	out.OutputMessages = nil
	if step.Response != nil {
		out.OutputMessages, err = r.formsOf([]json.RawMessage{step.Response.Message})
	}
	return err
}

// instructions returns the chat messages of a recorded step's instructions.
func (r *SpanWriter) instructions(step int) []json.RawMessage {
	if step < 0 {
		return nil
	}
	group, err := recorded.ToChat(r.Spans[step].SystemInstructions, nil)
	if err != nil {
		return nil
	}
	return group
}

// formsOf converts messages to the conventions, in the form in which the recording has them if it does.
func (r *SpanWriter) formsOf(messages []json.RawMessage) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(messages))
	for i := 0; i < len(messages); {
		if form := r.form(messages[i:]); form != nil {
			out = append(out, form.Recorded)
			i += len(form.Group)
			continue
		}
		converted, known := r.converted[string(messages[i])]
		if !known {
			list, err := recorded.FromChat(messages[i : i+1])
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			converted = list[0]
			r.converted[string(messages[i])] = converted
		}
		out = append(out, converted)
		i++
	}
	return out, nil
}

// form returns the longest recorded form that the messages begin with.
func (r *SpanWriter) form(messages []json.RawMessage) (found *recorded.MessageForm) {
	forms := r.Forms[string(messages[0])]
	for i := range forms {
		group := forms[i].Group
		if len(group) <= len(messages) && (found == nil || len(group) > len(found.Group)) && slices.EqualFunc(group, messages[:len(group)], jsontext.Equal) {
			found = &forms[i]
		}
	}
	return found
}

// writeFrame writes a frame whose output differs.
func (f *SpanForm) writeFrame(step *AttemptStep) error {
	if step.Inputs != "" && f.Recorded != nil && f.Recorded.Inputs != "" {
		f.Inputs = step.Inputs
	}
	was := f.Recorded
	if was == nil || !step.Differs {
		return nil
	}
	if was.Outputs != "" {
		f.Outputs = step.Outputs
	}
	if was.ToolResult != "" {
		f.ToolResult = step.Outputs
	}
	if len(was.OutputMessages) == 0 {
		return nil
	}
	f.OutputMessages = nil
	if step.Outputs == "" || was.Outputs != "" && recorded.LastText(was.OutputMessages) != was.Outputs {
		return nil
	}
	message, err := jsontext.Encode(map[string]any{"role": recorded.RoleAssistant, "parts": []any{map[string]string{"type": recorded.TypeText, "content": step.Outputs}}})
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	f.OutputMessages = []json.RawMessage{message}
	return nil
}
