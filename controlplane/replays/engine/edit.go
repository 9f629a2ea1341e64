package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// hasEdit reports whether an edit of a step is of some sort.
func (e *engine) hasEdit(i int, is func(*edit.Set) bool) bool {
	return slices.ContainsFunc(e.edits.ByStep[i], func(n int) bool { return is(&e.edits.Edits[n].Set) })
}

// applyEdits applies the edits of the recorded step base to a request. A request that only the attempt makes, with i of -1, has those that
// hold for the loop. It returns how many system messages the request begins with.
func (e *engine) applyEdits(request *recorded.Request, l, base, i int) int {
	for _, n := range e.edits.ByStep[base] {
		set := &e.edits.Edits[n].Set
		switch {
		case set.Model != nil:
			e.setModel(request, l, *set.Model)
		case set.Params != nil:
			setParams(request, set.Params)
		case set.SystemPrompt != nil:
			e.setSystem(request, []json.RawMessage{e.systemMessage(request, *set.SystemPrompt)})
		case set.Prompt != nil:
			e.setPrompt(request, l, set.Prompt, i)
		case len(set.ToolSchema) > 0:
			setTool(request, set.ToolSchema)
		case i < 0:
		case set.Messages != nil:
			request.Messages = slices.Clone(set.Messages)
		case set.Input != nil:
			e.setInput(request, *set.Input)
		}
	}
	return e.leading(request)
}

// leading counts the system messages at the beginning.
func (e *engine) leading(request *recorded.Request) int {
	n := 0
	for n < len(request.Messages) && e.cache.Read(request.Messages[n]).Role == recorded.RoleSystem {
		n++
	}
	return n
}

// setModel sets another model. Reasoning is bound to the model that wrote it, so that it is not sent to another one.
func (e *engine) setModel(request *recorded.Request, l int, model string) {
	if request.Model != model && !e.runs[l].own {
		for n, raw := range request.Messages {
			if !bytes.Contains(raw, []byte(recorded.KeyAnthropic)) && !bytes.Contains(raw, []byte(recorded.KeyReasoning)) {
				continue // to read each message of each request takes long
			}
			message := jsontext.Members(raw)
			if message[recorded.KeyAnthropic] == nil && message[recorded.KeyReasoning] == nil {
				continue
			}
			delete(message, recorded.KeyAnthropic)
			delete(message, recorded.KeyReasoning)
			if out, err := jsontext.Encode(message); err == nil {
				request.Messages[n] = out
			}
		}
	}
	request.Model = model
}

func setParams(r *recorded.Request, params map[string]json.RawMessage) {
	if r.Params == nil {
		r.Params = map[string]json.RawMessage{}
	}
	limits := []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}
	for name, value := range params {
		if slices.Contains(limits, name) {
			for _, other := range limits {
				delete(r.Params, other) // they are names of one parameter
			}
		}
		if jsontext.IsNull(value) {
			delete(r.Params, name)
		} else {
			r.Params[name] = value
		}
	}
}

// systemMessage makes a system message with the role that the request has.
func (e *engine) systemMessage(request *recorded.Request, text string) json.RawMessage {
	role := recorded.RoleSystem
	if e.leading(request) > 0 {
		role = jsontext.String(jsontext.Members(request.Messages[0])["role"])
	}
	message, err := jsontext.Encode(map[string]string{"role": role, "content": text})
	if err != nil {
		return jsontext.MustEncode(text) // texts always encode
	}
	return message
}

func (e *engine) setSystem(request *recorded.Request, system []json.RawMessage) {
	request.Messages = slices.Concat(system, request.Messages[e.leading(request):])
}

// setPrompt replaces the messages that a prompt makes.
func (e *engine) setPrompt(request *recorded.Request, l int, prompt *edit.Prompt, i int) {
	var system, others []json.RawMessage
	for _, raw := range prompt.Messages {
		if role := e.cache.Read(raw).Role; role == recorded.RoleSystem && len(others) == 0 {
			system = append(system, raw)
		} else {
			others = append(others, raw)
		}
	}
	body := request.Messages[e.leading(request):]
	if len(others) > 0 && i >= 0 {
		answer := slices.IndexFunc(body, func(raw json.RawMessage) bool {
			role := e.cache.Read(raw).Role
			return role == recorded.RoleAssistant || role == recorded.RoleTool
		})
		if answer < 0 {
			answer = len(body)
		}
		body = slices.Concat(others, body[answer:])
	}
	if len(system) == 0 {
		system = request.Messages[:e.leading(request)]
	}
	request.Messages = slices.Concat(system, body)
	if len(prompt.Tools) > 0 {
		request.Tools = slices.Clone(prompt.Tools)
	}
	if len(prompt.Params) > 0 {
		setParams(request, prompt.Params)
	}
	if prompt.Model != "" {
		e.setModel(request, l, prompt.Model)
	}
}

func toolName(raw json.RawMessage) string {
	tool := jsontext.Members(raw)
	if function := jsontext.Members(tool["function"]); function != nil {
		return jsontext.String(function["name"])
	}
	return jsontext.String(tool["name"])
}

func setTool(r *recorded.Request, raw json.RawMessage) {
	at := slices.IndexFunc(r.Tools, func(tool json.RawMessage) bool { return toolName(tool) == toolName(raw) })
	if at < 0 {
		r.Tools = append(r.Tools, raw)
		return
	}
	r.Tools[at] = raw
}

// setInput replaces the text of the first message of a user.
func (e *engine) setInput(request *recorded.Request, text string) {
	for n, raw := range request.Messages {
		m := e.cache.Read(raw)
		if m.Role != recorded.RoleUser {
			continue
		}
		message := jsontext.Members(raw)
		if message == nil {
			return
		}
		e.differ(-1, m.Text, text)
		message["content"] = jsontext.MustEncode(text)
		if out, err := jsontext.Encode(message); err == nil {
			request.Messages[n] = out
		}
		return
	}
}

// edited answers a model call by its edits. It returns true if they decide it.
func (e *engine) edited(step *AttemptStep, i int) (bool, *recorded.Response) {
	switch t := e.structure.Steps[i]; t.Effect {
	case timing.TimedOut:
		e.fate(i, FateServed, "The call times out.")
		step.Source, step.Duration = SourceEdited, t.Timeout
		step.Status, step.ErrorType, step.ErrorMessage = runmodel.StatusError, timeoutType, timeoutText(t.Timeout)
		e.end(modelTimedOut, i)
		return true, nil
	case timing.Censored:
		e.fate(i, FateUnknown, "The recording ends before the result.")
		e.end(answerCensored, i)
		return false, nil
	}
	for _, n := range e.edits.ByStep[i] {
		if raw := e.edits.Edits[n].Set.Response; len(raw) > 0 {
			e.fate(i, FateServed, "The edit says the answer.")
			step.Source, step.Status, step.ErrorType, step.ErrorMessage = SourceEdited, runmodel.StatusOK, "", ""
			finish := "stop"
			if len(e.cache.Read(raw).Calls) > 0 {
				finish = "tool_calls"
			}
			return true, &recorded.Response{Message: raw, FinishReason: finish}
		}
	}
	return false, nil
}

// timeoutType is the error type of a call that times out by an edit.
const timeoutType = "timeout"

func timeoutText(after *time.Duration) string {
	if after == nil {
		return "The call failed after fewer attempts than it needed."
	}
	return "The call timed out after " + after.String() + "."
}
