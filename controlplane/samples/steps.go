package samples

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// recording is a run that is being made.
type recording struct {
	*recorder
	id uuid.UUID
	// system is the instructions of models that have none of their own.
	system string
	// version is that of the prompt; 0 is none.
	version int
	// pace and size are the factors of its durations and its tokens.
	pace, size float64
	spans      []any
	calls      int
}

// part is a part of a message, in the form of OpenTelemetry's conventions.
type part map[string]any

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// steps adds the spans of steps that begin at start below parent, and returns when the last one ends. ask is what the models among them
// are asked.
func (r *recording) steps(start time.Time, parent, ask string, steps []step, parallel bool) (end time.Time, err error) {
	conversation := []message{{"user", []part{{"type": "text", "content": ask}}}}
	end = start
	// The calls of tools in the last answer of a model.
	var called []string
	for i := range steps {
		s := &steps[i]
		at := end.Add(gap)
		if parallel {
			at = start.Add(gap)
		}
		span := map[string]any{"span_id": fmt.Sprintf("%016x", r.random.Uint64()|1), "run_id": r.id, "name": s.Name, "kind": s.Kind, "start_time": at}
		if parent != "" {
			span["parent_span_id"] = parent
		}
		pace := r.pace
		if s.Steady {
			pace = 1
		}
		done := at.Add(time.Duration(s.Seconds * pace * float64(time.Second))).Truncate(time.Microsecond)
		switch s.Kind {
		case runmodel.KindLLM:
			answer := message{Role: "assistant"}
			if s.Says != "" {
				answer.Parts = append(answer.Parts, part{"type": "text", "content": s.Says})
			}
			called = nil
			for _, next := range steps[i+1:] {
				if next.Kind != runmodel.KindTool {
					break
				}
				r.calls++
				call := fmt.Sprintf("call_%s_%d", r.id.String()[:8], r.calls)
				called = append(called, call)
				answer.Parts = append(answer.Parts, part{"type": "tool_call", "id": call, "name": next.Name, "arguments": next.Arguments})
			}
			if err := r.call(span, s, conversation, answer, done.Sub(at)); err != nil {
				return end, err
			}
			conversation = append(conversation, answer)
		case runmodel.KindTool:
			call := called[0]
			called = called[1:]
			conversation = append(conversation, r.tool(span, s, call))
		default:
			if s.Inputs != nil {
				span["inputs"] = s.Inputs
			}
			if s.Outputs != nil {
				span["outputs"] = s.Outputs
			}
			if s.Task != "" {
				span["inputs"] = s.Task
			}
			r.model(span, s)
		}
		span["status"] = statusOf(s.Status, s.Error)
		if s.Error != nil {
			span["error"] = s.Error
		}
		r.spans = append(r.spans, span)
		if len(s.Steps) > 0 {
			inner := ask
			if s.Task != "" {
				inner = s.Task
			}
			if done, err = r.steps(done, span["span_id"].(string), inner, s.Steps, s.Parallel); err != nil {
				return end, err
			}
		}
		span["end_time"] = done
		if done.After(end) {
			end = done
		}
	}
	return end, nil
}

// call adds what a call of a model has.
func (r *recording) call(span map[string]any, s *step, conversation []message, answer message, took time.Duration) error {
	attributes := map[string]any{runmodel.KeyOperationName: "chat"}
	messages := map[string]any{runmodel.KeyInputMessages: conversation}
	if s.Error == nil {
		messages[runmodel.KeyOutputMessages] = []message{answer}
		attributes[runmodel.KeyTimeToFirstChunk] = (took / 3).Seconds()
	}
	if r.version > 0 {
		attributes[runmodel.KeyPromptName], attributes[runmodel.KeyPromptVersion] = r.prompt.Name, strconv.Itoa(r.version)
	}
	system := r.system
	if s.System != "" {
		system = s.System
	}
	if system != "" {
		messages[runmodel.KeySystemInstructions] = []part{{"type": "text", "content": system}}
	}
	for key, value := range messages {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("write the messages of %s: %w", s.Name, err)
		}
		attributes[key] = string(text)
	}
	span["attributes"] = attributes
	r.model(span, s)
	return nil
}

// model adds the model and the tokens of a step that has them.
func (r *recording) model(span map[string]any, s *step) {
	if s.Model == "" {
		return
	}
	span["model"], span["provider"] = s.Model, s.Provider
	if s.Tokens == nil {
		return
	}
	usage := map[string]any{}
	for i, name := range []string{"input_tokens", "output_tokens", "cache_read_input_tokens"} {
		if tokens := int64(s.Tokens[i] * r.size); tokens > 0 {
			usage[name] = tokens
		}
	}
	span["usage"] = usage
}

// tool adds a call of a tool, and returns the message with its result.
func (r *recording) tool(span map[string]any, s *step, call string) message {
	tool := map[string]any{"name": s.Name, "call_id": call, "arguments": s.Arguments}
	var result any
	switch {
	case s.Error != nil:
		result = s.Error.Message
	case s.Result != nil:
		tool["result"], result = s.Result, s.Result
	}
	span["tool"] = tool
	return message{"tool", []part{{"type": "tool_call_response", "id": call, "response": result}}}
}
