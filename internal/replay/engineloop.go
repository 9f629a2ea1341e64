package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// loopRun is the state of a loop in an attempt.
type loopRun struct {
	// own reports that the messages of the next request are state and pending, not those recorded: calls were made, or
	// results replaced.
	own bool
	// state are the messages after the system's, up to the newest answer. pending are the results of its tool calls.
	state, pending []json.RawMessage
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
	if !e.cone[i] && !run.own {
		run.at, run.answer, run.called = k, e.recordedAnswer(i), true
		return e.copy(ctx, i, false)
	}
	call := &loop.calls[k]
	if call.turn {
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
		return e.cache.read(response.Message).text
	}
	return ""
}

// skipsFailure leaves out a call that failed and was made again: whether it fails again is the caller's matter.
func (e *engine) skipsFailure(l, k int) bool {
	calls := e.Loops[l].calls
	return e.options.Executor == ExecutorServer && !calls[k].ok && k+1 < len(calls) && !calls[k+1].turn && len(calls[k+1].fresh) == 0
}

// prepare makes the request of a recorded call. It returns false if the attempt ends, or a plan does not know it.
func (e *engine) prepare(ctx context.Context, l, k int) (request Request, stale, ok bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	call := &loop.calls[k]
	i := call.step
	request = e.Steps[i].Model.Request.clone()
	system := request.Messages[:call.leading]
	if k > 0 && !run.own {
		if err := e.override(ctx, l, k); err != nil || e.stop != nil {
			return request, false, false, err
		}
	}
	fresh := slices.Clone(call.fresh)
	renewed := false
	for n, raw := range fresh {
		var d dependence
		fresh[n], d = e.renewMessage(raw)
		switch d {
		case awaited:
			e.fate(i, FateUnknown, "Its messages have an answer that nobody has yet.")
			run.awaits, run.own = true, true
			return request, false, false, nil
		case contained:
			if e.dry {
				e.fate(i, FateUnknown, "Its messages have an output that differs, in a text that only the program makes.")
			}
			e.end(StopOpaque, i, "The request has the output of a step that differs, in a text that only the program makes.",
				"Replay the run with a worker, or edit this request.")
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
	if !run.own {
		return request, false, true, nil
	}
	if e.Steps[i].Opaque != "" && !run.diverged {
		return request, false, true, nil
	}
	if e.Steps[i].Opaque != "" {
		e.end(StopOpaque, i, e.Steps[i].Opaque, "Replay the run with a worker, or edit this request.")
		return request, false, false, nil
	}
	if run.diverged && k > 0 && !call.turn && !slices.Equal(run.names, namesOf(loop.calls[k-1].calls)) && e.configDiffers(l, k) {
		e.end(StopOpaque, i, "The recorded program changed its system prompt, its tools or its parameters after other tool calls than those of the attempt.",
			"Replay the run with a worker.")
		return request, false, false, nil
	}
	request.Messages = slices.Concat(system, run.state, run.pending, fresh)
	return request, run.diverged && len(call.fresh) > 0 && k > 0, true, nil
}

// recordedState returns the recorded messages before a call's new ones: those up to the newest answer, and the results of its calls.
func (e *engine) recordedState(l, k int) (state, pending []json.RawMessage) {
	loop := &e.Loops[l]
	if k == 0 {
		return nil, nil
	}
	before := &loop.calls[k-1]
	model := e.Steps[before.step].Model
	state = slices.Clone(model.Request.Messages[before.leading:])
	if model.Response != nil {
		state = append(state, model.Response.Message)
	}
	for n := range before.calls {
		if result := loop.calls[k].results[n]; result != nil {
			pending = append(pending, result)
		}
	}
	return state, pending
}

// override replaces the results of tool calls before a call that edits or what is below them changed.
func (e *engine) override(ctx context.Context, l, k int) error {
	loop, run := &e.Loops[l], &e.runs[l]
	before := &loop.calls[k-1]
	var state, pending []json.RawMessage
	for n, recorded := range e.asked(before.step) {
		step := e.recorded[recorded].step
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
		result := loop.calls[k].results[n]
		where := slices.IndexFunc(pending, func(raw json.RawMessage) bool { return result != nil && string(raw) == string(result) })
		message := membersOf(result)
		if message == nil {
			message = map[string]json.RawMessage{"role": quoted(roleTool), "tool_call_id": quoted(before.calls[n].id)}
		}
		message["content"] = quoted(*e.steps[at].Tool.Result)
		raw, err := encode(message)
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
		run.state, run.pending, run.names = state, pending, namesOf(before.calls)
		run.clock, run.before = e.endOf(l, k-1)
	}
	return nil
}

// endOf returns when a recorded call and its tools ended, and those steps.
func (e *engine) endOf(l, k int) (clock time.Duration, steps []int) {
	i := e.Loops[l].calls[k].step
	steps = []int{i}
	for _, n := range e.asked(i) {
		if step := e.recorded[n].step; step >= 0 {
			steps = append(steps, step)
		}
	}
	for _, j := range steps {
		if at := e.made[j]; at >= 0 && e.steps[at].Duration != nil {
			clock = max(clock, e.steps[at].Offset+*e.steps[at].Duration)
		} else if end, ok := e.Steps[j].end(); ok {
			clock = max(clock, end)
		}
	}
	return clock, steps
}

// configDiffers reports whether a recorded call has another system prompt, model, tools or parameters than the one before.
func (e *engine) configDiffers(l, k int) bool {
	a, b := e.Steps[e.Loops[l].Calls[k-1]].Model.Request, e.Steps[e.Loops[l].Calls[k]].Model.Request
	a.Messages, b.Messages = a.Messages[:e.Loops[l].calls[k-1].leading], b.Messages[:e.Loops[l].calls[k].leading]
	return a.digest(e.cache) != b.digest(e.cache)
}

func namesOf(calls []chatCall) []string {
	names := make([]string, len(calls))
	for i, call := range calls {
		names[i] = call.name
	}
	return names
}

// renewMessage replaces outputs that differ in a recorded message.
func (e *engine) renewMessage(raw json.RawMessage) (json.RawMessage, dependence) {
	m := e.cache.read(raw)
	text, d := e.renew(m.text)
	if d != derived {
		return raw, d
	}
	message := membersOf(raw)
	if !isString(message["content"]) {
		return raw, contained
	}
	message["content"] = quoted(text)
	out, err := encode(message)
	if err != nil {
		return raw, contained
	}
	return out, derived
}

// perform makes the call k of a loop, or with i of -1 one that only the attempt makes after it; and its tool calls.
func (e *engine) perform(ctx context.Context, l, k, i int, request Request, stale bool) error {
	run := &e.runs[l]
	for {
		more, err := e.performOnce(ctx, l, k, i, request, stale)
		if err != nil || !more || e.stop != nil {
			return err
		}
		i, stale = -1, false
		base := e.Steps[e.Loops[l].Calls[k]].Model.Request
		request = base.clone()
		request.Messages = slices.Concat(request.Messages[:e.Loops[l].calls[k].leading], run.state, run.pending)
	}
}

// performOnce makes one call. It returns true if another one follows that the recording does not have.
func (e *engine) performOnce(ctx context.Context, l, k, i int, request Request, stale bool) (more bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	call := &loop.calls[k]
	if e.counted++; e.counted > e.maxSteps {
		e.end(StopStepLimit, i, "The attempt has "+strconv.Itoa(e.maxSteps)+" steps, which is the limit.", "Raise the limit, or see whether the agent repeats itself.")
		return false, nil
	}
	leading := e.applyEdits(&request, l, call.step, i)
	step := e.liveStep(l, k, i)
	step.Stale = stale
	response, err := e.respond(ctx, &step, call.step, i, &request)
	if err != nil || response == nil && step.Source == "" {
		return false, err
	}
	same := false
	if i >= 0 {
		same = step.Source == SourceServed || e.sameAnswer(response, e.Steps[i].Model.Response)
		step.Differs = !same || step.Status != e.Steps[i].Status || step.ErrorType != e.Steps[i].ErrorType || request.digest(e.cache) != e.Steps[i].Model.Request.digest(e.cache)
	} else {
		step.Differs = true
	}
	if step.Duration != nil {
		run.clock = step.Offset + *step.Duration
	}
	step.Request, step.Response = &request, response
	if step.Source == SourceServed && response != nil && i >= 0 {
		step.CostUSD = nil // nobody paid for it
	}
	if err := e.emit(ctx, step); err != nil {
		return false, err
	}
	run.before = nil
	if i >= 0 {
		run.before = []int{i}
	}
	run.diverged = run.diverged || !same || i < 0
	run.own, run.at, run.called = run.own || run.diverged || step.Source != SourceServed, k, true
	run.state, run.pending = slices.Clone(request.Messages[leading:]), nil
	if i >= 0 && !run.diverged && !e.sameBody(&request, leading, i, call.leading) {
		run.own, run.diverged = true, true
	}
	if response == nil {
		if e.stop == nil && step.Source != SourceServed {
			e.end(StopModelError, call.step, "The call of the model failed: "+step.ErrorMessage, "Correct the request, or choose another model.")
		}
		return false, nil
	}
	answer := e.cache.read(response.Message)
	run.state = append(run.state, e.remembered(l, response.Message))
	run.names, run.answer = namesOf(answer.calls), answer.text
	if i >= 0 && !same {
		e.differ(e.recordedAnswer(i), answer.text)
		e.lose(i, answer)
	}
	return e.useTools(ctx, l, k, i, answer, len(e.steps)-1)
}

// useTools makes the tool calls of an answer, and decides what follows.
func (e *engine) useTools(ctx context.Context, l, k, i int, answer *chatMessage, asker int) (more bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	ended := false
	begin := run.clock
	for _, one := range answer.calls {
		end, err := e.useTool(ctx, l, k, i, one, asker, begin)
		if err != nil || e.stop != nil {
			return false, err
		}
		run.clock = max(run.clock, end)
		ended = ended || e.ends[one.name]
	}
	next := k+1 < len(loop.calls) && !loop.calls[k+1].turn
	switch {
	case len(answer.calls) == 0 || ended:
		run.over = next
	case !next && (i < 0 || run.diverged):
		run.own = true
		return true, nil
	}
	return false, nil
}

// liveStep begins the step of a call.
func (e *engine) liveStep(l, k, i int) AttemptStep {
	run := &e.runs[l]
	if i < 0 {
		like := &e.Steps[e.Loops[l].Calls[k]]
		return AttemptStep{
			Recorded: -1, Parent: like.Parent, Kind: KindModel, SpanKind: like.SpanKind, Name: like.Name, Agent: like.Agent, Provider: like.Model.Provider,
			Offset: run.clock, Status: runmodel.StatusOK,
		}
	}
	step := e.stepOf(i)
	step.Provider = e.Steps[i].Model.Provider
	if run.own && len(run.before) > 0 {
		step.Offset = run.clock + e.gap(i, run.before...)
	} else if run.own && run.called {
		step.Offset = max(run.clock, step.Offset)
	}
	return step
}

// respond gets the answer to a request. Without one, the step has a source if the call failed, or else the attempt has ended or a plan does
// not know more.
func (e *engine) respond(ctx context.Context, step *AttemptStep, base, i int, request *Request) (*Response, error) {
	if i >= 0 {
		if done, response := e.edited(step, i); done {
			return response, nil
		}
		if e.stop != nil {
			return nil, nil
		}
		resample := e.hasEdit(i, func(s *Set) bool { return s.Resample })
		recorded := e.Steps[i].Model
		if e.options.Executor == ExecutorCassette && !resample && request.digest(e.cache) == recorded.Request.digest(e.cache) {
			step.Source, step.Tier = SourceServed, TierHit
			e.fate(i, FateServed, "")
			if recorded.Response == nil && !e.Steps[i].failed() {
				step.Source = ""
				e.end(StopMiss, i, "The recording has the request, but not its answer.", record)
				return nil, nil
			}
			return recorded.Response, nil
		}
		if e.options.Executor == ExecutorCassette && resample {
			e.fate(i, FateUnknown, "The model must be asked again.")
			e.end(StopMiss, i, "The edit asks the model again, and the executor cassette calls none.", "Choose the executor server.")
			return nil, nil
		}
	}
	if e.options.Executor == ExecutorCassette {
		e.fate(i, FateUnknown, "The recording has no answer to the request.")
		e.end(StopMiss, base, "The request differs from the recorded one, and the executor cassette calls no model.", "Choose the executor server.")
		return nil, nil
	}
	if e.dry {
		e.planCall(i, base, request)
		return nil, nil
	}
	return e.call(ctx, step, base, i, request)
}

// call calls the model, or takes the answer that an interrupted attempt got.
func (e *engine) call(ctx context.Context, step *AttemptStep, base, i int, request *Request) (*Response, error) {
	step.Source = SourceReissued
	index := len(e.steps)
	if index < len(e.options.Done) {
		done := &e.options.Done[index]
		if done.Source != SourceReissued || done.Request == nil || done.Request.digest(e.cache) != request.digest(e.cache) {
			return nil, fmt.Errorf("step %d: %w", index, ErrNotDone)
		}
		step.Status, step.ErrorType, step.ErrorMessage = done.Status, done.ErrorType, done.ErrorMessage
		step.Duration, step.CostUSD, step.Attempts = done.Duration, done.CostUSD, done.Attempts
		e.spend(done.Response, done.Duration, done.CostUSD)
		return done.Response, nil
	}
	if e.options.Limit != nil {
		if reason := e.options.Limit(e.spent); reason != "" {
			step.Source = ""
			e.end(reason, base, "A limit of the replay is reached.", "Raise the limit.")
			return nil, nil
		}
	}
	answer, err := e.model(ctx, Call{Key: "step-" + strconv.Itoa(index), Recorded: i, Provider: step.Provider, Request: *request})
	var refused *CallError
	switch {
	case errors.As(err, &refused):
		step.Status, step.ErrorType, step.ErrorMessage = runmodel.StatusError, refused.Type, refused.Message
	case err != nil:
		return nil, fmt.Errorf("call the model for step %d: %w", index, err)
	default:
		if membersOf(answer.Response.Message) == nil {
			return nil, fmt.Errorf("call the model for step %d: %w", index, errAnswer)
		}
		step.Status, step.ErrorType, step.ErrorMessage = runmodel.StatusOK, "", ""
	}
	step.Duration, step.CostUSD, step.Attempts = &answer.Duration, answer.CostUSD, answer.Attempts
	var response *Response
	if err == nil {
		response = &answer.Response
	}
	e.spend(response, step.Duration, step.CostUSD)
	return response, nil
}

var errAnswer = errors.New("the answer has no message")

// spend counts a call.
func (e *engine) spend(response *Response, took *time.Duration, cost *float64) {
	e.spent.Calls++
	if took != nil {
		e.spent.Duration += *took
	}
	if cost != nil {
		e.spent.CostUSD += *cost
	} else {
		e.spent.UnknownCost++
	}
	if response == nil || response.Usage == nil || response.Usage.Input == nil || response.Usage.Output == nil {
		e.spent.UnknownUsage++
	}
	if response != nil && response.Usage != nil {
		if n := response.Usage.Input; n != nil {
			e.spent.InputTokens += *n
		}
		if n := response.Usage.Output; n != nil {
			e.spent.OutputTokens += *n
		}
	}
}

// sameAnswer reports whether two answers are the same after normalisation.
func (e *engine) sameAnswer(a, b *Response) bool {
	if a == nil || b == nil {
		return a == b
	}
	return e.cache.read(a.Message).answer == e.cache.read(b.Message).answer
}

// sameBody reports whether a request has the recorded messages after the system's.
func (e *engine) sameBody(request *Request, leading, i, recordedLeading int) bool {
	a := compared(e.cache.readAll(request.Messages[leading:]))
	b := compared(e.cache.readAll(e.Steps[i].Model.Request.Messages[recordedLeading:]))
	return a.digest() == b.digest()
}

// lose notes texts of recorded arguments that the new answer does not have: nobody knows what they would be. Those that the model was
// told are no texts of its own.
func (e *engine) lose(i int, answer *chatMessage) {
	model := e.Steps[i].Model
	if model.Response == nil {
		return
	}
	var now []string
	for _, call := range answer.calls {
		now = append(now, leaves(call.arguments)...)
	}
	for _, call := range e.cache.read(model.Response.Message).calls {
		for _, text := range leaves(call.arguments) {
			text = strings.TrimSpace(text)
			told := func(raw json.RawMessage) bool { return strings.Contains(e.cache.read(raw).text, text) }
			if len(text) >= shortest && !slices.Contains(now, text) && !slices.ContainsFunc(model.Request.Messages, told) {
				e.lost[text] = true
			}
		}
	}
}

// remembered is an answer as the next request has it: without what the recorded program left out of its requests. Reasoning is
// sent back if Anthropic's API wants it, and if nobody knows.
func (e *engine) remembered(l int, raw json.RawMessage) json.RawMessage {
	message := membersOf(raw)
	if message[keyAnthropic] != nil {
		return raw
	}
	reasoning := message[keyReasoning] != nil && e.dropsReasoning(l)
	text := !isNull(message["content"]) && len(listOf(message[keyToolCalls])) > 0 && slices.ContainsFunc(e.Loops[l].calls, func(c loopCall) bool { return c.bare })
	if !reasoning && !text {
		return raw
	}
	if reasoning {
		delete(message, keyReasoning)
	}
	if text {
		message["content"] = json.RawMessage("null")
	}
	out, err := encode(message)
	if err != nil {
		return raw
	}
	return out
}

// dropsReasoning reports whether the recorded program sends answers back without the reasoning that they had.
func (e *engine) dropsReasoning(l int) bool {
	for k, i := range e.Loops[l].Calls {
		model := e.Steps[i].Model
		if model.Response == nil || k+1 == len(e.Loops[l].Calls) || membersOf(model.Response.Message)[keyReasoning] == nil {
			continue
		}
		next := e.Steps[e.Loops[l].Calls[k+1]].Model.Request.Messages
		return !slices.ContainsFunc(next, func(raw json.RawMessage) bool { return membersOf(raw)[keyReasoning] != nil })
	}
	return false
}
