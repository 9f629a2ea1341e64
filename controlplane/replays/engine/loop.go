package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// loopRun is the state of a loop in an attempt.
type loopRun struct {
	// own reports that the messages of the next request are state and pending, not those recorded: calls were made, or
	// results replaced.
	own bool
	// state are the messages after the system's, up to the newest answer. pending are the results of its tool calls.
	state, pending []json.RawMessage
	// sent is the newest request.
	sent *recorded.History
	// diverged reports that an answer, a result or a message differs from the recording.
	diverged bool
	// over reports that the turn ended before the recorded one.
	over bool
	// names are the tools of the newest answer, at is the number of the newest call.
	names []string
	at    int
	// clock is when the newest call or its tools ended. before are the recorded steps of the newest call and its tools.
	clock  time.Duration
	before []int
	// answer is the text of the newest answer.
	answer string
	called bool
	// awaits reports that the newest answer is one that a plan does not have.
	awaits bool
}

// modelStep makes, serves or copies a recorded model call.
func (e *engine) modelStep(ctx context.Context, i int) error {
	l := e.Steps[i].Loop
	loop, run := &e.Loops[l], &e.runs[l]
	k, _ := slices.BinarySearch(loop.Calls, i)
	if !e.downstream[i] && !run.own {
		run.at, run.answer, run.called = k, e.recordedAnswer(i), true
		return e.copy(ctx, i, false)
	}
	call := &loop.Turns[k]
	if call.Turn {
		run.over = false
	}
	if run.over {
		return nil
	}
	if e.dry && run.awaits {
		e.expect(i)
		return nil
	}
	if e.skipsFailure(l, k) {
		return nil
	}
	request, stale, ok, err := e.prepare(ctx, l, k)
	if err != nil || !ok {
		return err
	}
	return e.perform(ctx, l, k, i, request, stale)
}

func (e *engine) recordedAnswer(i int) string {
	if response := e.Steps[i].Model.Response; response != nil {
		return e.cache.Read(response.Message).Text
	}
	return ""
}

// skipsFailure leaves out a call that failed and was made again: whether it fails again is the caller's matter.
func (e *engine) skipsFailure(l, k int) bool {
	calls := e.Loops[l].Turns
	return e.options.Executor == ExecutorServer && !calls[k].Answered && k+1 < len(calls) && !calls[k+1].Turn && len(calls[k+1].Fresh) == 0
}

// prepare makes the request of a recorded call. It returns false if the attempt ends, or a plan does not know it.
func (e *engine) prepare(ctx context.Context, l, k int) (request recorded.Request, stale, ok bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	call := &loop.Turns[k]
	i := call.Step
	request = e.Steps[i].Model.Request.Clone()
	if k > 0 && !run.own {
		if err := e.override(ctx, l, k); err != nil || e.stop != nil {
			return request, false, false, err
		}
	}
	added := slices.Concat(request.Messages[:call.Leading], call.Fresh)
	renewed := false
	for n, raw := range added {
		var d dependence
		added[n], d = e.renewMessage(raw)
		switch d {
		case awaited:
			e.fate(i, FateUnknown, "Its messages have an answer that nobody has yet.")
			run.awaits, run.own = true, true
			return request, false, false, nil
		case contained:
			if e.dry {
				e.fate(i, FateUnknown, "Its messages have an output that differs, in a text that only the program makes.")
			}
			e.end(writtenRequest, i)
			return request, false, false, nil
		case derived:
			renewed = true
		}
	}
	if renewed && !run.own {
		run.own = true
		run.state, run.pending = e.recordedState(l, k)
		run.diverged = true
	}
	system, fresh := added[:call.Leading], added[call.Leading:]
	if !run.own {
		return request, false, true, nil
	}
	if e.Steps[i].Opaque != "" && !run.diverged {
		return request, false, true, nil
	}
	if e.Steps[i].Opaque != "" {
		e.end(opaque(e.Steps[i].Opaque), i)
		return request, false, false, nil
	}
	if run.diverged && k > 0 && !call.Turn && !slices.Equal(run.names, namesOf(loop.Turns[k-1].Calls)) && e.configDiffers(l, k) {
		e.end(handedOff, i)
		return request, false, false, nil
	}
	request.Messages = slices.Concat(system, run.state, run.pending, fresh)
	return request, run.diverged && len(call.Fresh) > 0 && k > 0, true, nil
}

// recordedState returns the recorded messages before a call's new ones: those up to the newest answer, and the results of its calls.
func (e *engine) recordedState(l, k int) (state, pending []json.RawMessage) {
	loop := &e.Loops[l]
	if k == 0 {
		return nil, nil
	}
	before := &loop.Turns[k-1]
	model := e.Steps[before.Step].Model
	state = slices.Clone(model.Request.Messages[before.Leading:])
	if model.Response != nil {
		state = append(state, model.Response.Message)
	}
	for n := range before.Calls {
		if result := loop.Turns[k].Results[n]; result != nil {
			pending = append(pending, result)
		}
	}
	return state, pending
}

// override replaces the results of tool calls before a call that edits or what is below them changed.
func (e *engine) override(ctx context.Context, l, k int) error {
	loop, run := &e.Loops[l], &e.runs[l]
	before := &loop.Turns[k-1]
	var state, pending []json.RawMessage
	for n, was := range e.asked(before.Step) {
		step := e.Calls[was].Step
		if step < 0 {
			continue
		}
		if e.deferred[step] {
			if err := e.closeTool(ctx, step); err != nil || e.stop != nil {
				return err
			}
		}
		at := e.made[step]
		if at < 0 || e.steps[at].Source == SourceCopied || !e.steps[at].Differs {
			continue
		}
		if state == nil {
			state, pending = e.recordedState(l, k)
		}
		result := loop.Turns[k].Results[n]
		where := slices.IndexFunc(pending, func(raw json.RawMessage) bool { return result != nil && string(raw) == string(result) })
		message := jsontext.Members(result)
		if message == nil {
			message = map[string]json.RawMessage{"role": jsontext.MustEncode(recorded.RoleTool), "tool_call_id": jsontext.MustEncode(before.Calls[n].ID)}
		}
		message["content"] = jsontext.MustEncode(*e.steps[at].Tool.Result)
		raw, err := jsontext.Encode(message)
		if err != nil {
			return fmt.Errorf("encode the result of a tool: %w", err)
		}
		if where < 0 {
			pending = append(pending, raw)
		} else {
			pending[where] = raw
		}
	}
	if state != nil {
		run.own, run.diverged = true, true
		run.state, run.pending, run.names = state, pending, namesOf(before.Calls)
		run.clock, run.before = e.endOf(l, k-1)
	}
	return nil
}

// endOf returns when a recorded call and its tools ended, and those steps.
func (e *engine) endOf(l, k int) (clock time.Duration, steps []int) {
	i := e.Loops[l].Turns[k].Step
	steps = []int{i}
	for _, n := range e.asked(i) {
		if step := e.Calls[n].Step; step >= 0 {
			steps = append(steps, step)
		}
	}
	for _, j := range steps {
		if at := e.made[j]; at >= 0 && e.steps[at].Duration != nil {
			clock = max(clock, e.steps[at].Offset+*e.steps[at].Duration)
		} else if end, ok := e.Steps[j].End(); ok {
			clock = max(clock, end)
		}
	}
	return clock, steps
}

// configDiffers reports whether a recorded call has another system prompt, model, tools or parameters than the one before.
func (e *engine) configDiffers(l, k int) bool {
	a, b := e.Steps[e.Loops[l].Calls[k-1]].Model.Request, e.Steps[e.Loops[l].Calls[k]].Model.Request
	a.Messages, b.Messages = a.Messages[:e.Loops[l].Turns[k-1].Leading], b.Messages[:e.Loops[l].Turns[k].Leading]
	return a.Digest(e.cache) != b.Digest(e.cache) // of few messages
}

func namesOf(calls []recorded.MessageCall) []string {
	names := make([]string, len(calls))
	for i, call := range calls {
		names[i] = call.Name
	}
	return names
}

// renewMessage replaces outputs that differ in a recorded message.
func (e *engine) renewMessage(raw json.RawMessage) (json.RawMessage, dependence) {
	m := e.cache.Read(raw)
	text, d := e.renew(m.Text)
	if d != derived {
		return raw, d
	}
	message := jsontext.Members(raw)
	if !jsontext.IsString(message["content"]) {
		return raw, contained
	}
	message["content"] = jsontext.MustEncode(text)
	out, err := jsontext.Encode(message)
	if err != nil {
		return raw, contained
	}
	return out, derived
}
