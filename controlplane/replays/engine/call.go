package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// perform makes the call k of a loop, or with i of -1 one that only the attempt makes after it; and its tool calls.
func (e *engine) perform(ctx context.Context, l, k, i int, request recorded.Request, stale bool) error {
	run := &e.runs[l]
	for {
		more, err := e.performOnce(ctx, l, k, i, request, stale)
		if err != nil || !more || e.stop != nil {
			return err
		}
		i, stale = -1, false
		base := e.Steps[e.Loops[l].Calls[k]].Model.Request
		request = base.Clone()
		request.Messages = slices.Concat(request.Messages[:e.Loops[l].Turns[k].Leading], run.state, run.pending)
	}
}

// performOnce makes one call. It returns true if another one follows that the recording does not have.
func (e *engine) performOnce(ctx context.Context, l, k, i int, request recorded.Request, stale bool) (more bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	call := &loop.Turns[k]
	if e.counted++; e.counted > e.maxSteps {
		e.end(tooManySteps(e.maxSteps), i)
		return false, nil
	}
	leading := e.applyEdits(&request, l, call.Step, i)
	run.sent = run.sent.Next(e.cache, request.Messages)
	request.Messages = run.sent.Messages()
	name := request.DigestOf(&run.sent.Conversation, e.toolForms)
	step := e.liveStep(l, k, i)
	step.Stale = stale
	response, err := e.respond(ctx, &step, call.Step, i, &request, name)
	if err != nil || response == nil && step.Source == "" {
		return false, err
	}
	same := false
	if i >= 0 {
		same = step.Source == SourceServed || e.sameAnswer(response, e.Steps[i].Model.Response)
		step.Differs = !same || step.Status != e.Steps[i].Status || step.ErrorType != e.Steps[i].ErrorType || name != e.Requests[i].Request
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
	run.state, run.pending = request.Messages[leading:], nil
	if i >= 0 && !run.diverged && run.sent.BodyDigest() != e.Requests[i].Body {
		run.own, run.diverged = true, true
	}
	if response == nil {
		if e.stop == nil && step.Source != SourceServed {
			e.end(modelFailed(step.ErrorMessage), call.Step)
		}
		return false, nil
	}
	answer := e.cache.Read(response.Message)
	run.state = append(run.state, e.remembered(l, response.Message))
	run.names, run.answer = namesOf(answer.Calls), answer.Text
	if i >= 0 && !same {
		e.differ(i, e.recordedAnswer(i), answer.Text)
		e.lose(i, answer)
	}
	return e.useTools(ctx, l, k, i, answer, len(e.steps)-1)
}

// useTools makes the tool calls of an answer, and decides what follows.
func (e *engine) useTools(ctx context.Context, l, k, i int, answer *recorded.Message, asker int) (more bool, err error) {
	loop, run := &e.Loops[l], &e.runs[l]
	ended := false
	begin := run.clock
	for _, one := range answer.Calls {
		end, err := e.useTool(ctx, l, k, one, asker, begin)
		if err != nil || e.stop != nil {
			return false, err
		}
		run.clock = max(run.clock, end)
		ended = ended || e.ends[one.Name]
	}
	next := k+1 < len(loop.Turns) && !loop.Turns[k+1].Turn
	switch {
	case len(answer.Calls) == 0 || ended:
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
			Recorded: -1, Parent: like.Parent, Kind: recorded.KindModel, SpanKind: like.SpanKind, Name: like.Name, Agent: like.Agent, Provider: like.Model.Provider,
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
func (e *engine) respond(ctx context.Context, step *AttemptStep, base, i int, request *recorded.Request, name recorded.Digest) (*recorded.Response, error) {
	if i >= 0 {
		if done, response := e.edited(step, i); done {
			return response, nil
		}
		if e.stop != nil {
			return nil, nil
		}
		was := e.Steps[i].Model
		if e.options.Executor == ExecutorCassette && name == e.Requests[i].Request {
			step.Source, step.Tier = SourceServed, TierHit
			e.fate(i, FateServed, "")
			if was.Response == nil && !e.Steps[i].Failed() {
				step.Source = ""
				e.end(unansweredRequest, i)
				return nil, nil
			}
			return was.Response, nil
		}
	}
	if e.options.Executor == ExecutorCassette {
		e.fate(i, FateUnknown, "The recording has no answer to the request.")
		e.end(otherRequest, base)
		return nil, nil
	}
	if e.dry {
		e.planCall(i, base, request)
		return nil, nil
	}
	return e.call(ctx, step, base, i, request, name)
}

// call calls the model, or takes the answer that an interrupted attempt got.
func (e *engine) call(ctx context.Context, step *AttemptStep, base, i int, request *recorded.Request, name recorded.Digest) (*recorded.Response, error) {
	step.Source = SourceReissued
	index := len(e.steps)
	if index < len(e.options.Done) {
		done := &e.options.Done[index]
		if done.Source != SourceReissued || done.Request == nil || done.Request.Digest(e.cache) != name {
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
			e.end(limited(reason), base)
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
		if jsontext.Members(answer.Response.Message) == nil {
			return nil, fmt.Errorf("call the model for step %d: %w", index, errAnswer)
		}
		step.Status, step.ErrorType, step.ErrorMessage = runmodel.StatusOK, "", ""
	}
	step.Duration, step.CostUSD, step.Attempts = &answer.Duration, answer.CostUSD, answer.Attempts
	var response *recorded.Response
	if err == nil {
		response = &answer.Response
	}
	e.spend(response, step.Duration, step.CostUSD)
	return response, nil
}

var errAnswer = errors.New("the answer has no message")

// spend counts a call.
func (e *engine) spend(response *recorded.Response, took *time.Duration, cost *float64) {
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
func (e *engine) sameAnswer(a, b *recorded.Response) bool {
	if a == nil || b == nil {
		return a == b
	}
	return e.cache.Read(a.Message).Answer == e.cache.Read(b.Message).Answer
}

// lose notes texts of recorded arguments that the new answer does not have: nobody knows what they would be. Those that the model was
// told are no texts of its own.
func (e *engine) lose(i int, answer *recorded.Message) {
	model := e.Steps[i].Model
	if model.Response == nil {
		return
	}
	var now []string
	for _, call := range answer.Calls {
		now = append(now, recorded.Strings(call.Arguments)...)
	}
	for _, call := range e.cache.Read(model.Response.Message).Calls {
		for _, text := range recorded.Strings(call.Arguments) {
			text = strings.TrimSpace(text)
			if len(text) >= recorded.ShortestOutput && !slices.Contains(now, text) && !e.WasTold(i, text) {
				e.lost[text] = true
			}
		}
	}
}

// remembered is an answer as the next request has it: without what the recorded program left out of its requests. Reasoning is
// sent back if Anthropic's API wants it, and if nobody knows.
func (e *engine) remembered(l int, raw json.RawMessage) json.RawMessage {
	message := jsontext.Members(raw)
	if message[recorded.KeyAnthropic] != nil {
		return raw
	}
	reasoning := message[recorded.KeyReasoning] != nil && e.dropsReasoning(l)
	text := !jsontext.IsNull(message["content"]) && len(jsontext.List(message[recorded.KeyToolCalls])) > 0 && slices.ContainsFunc(e.Loops[l].Turns, func(c recorded.LoopCall) bool { return c.Bare })
	if !reasoning && !text {
		return raw
	}
	if reasoning {
		delete(message, recorded.KeyReasoning)
	}
	if text {
		message["content"] = json.RawMessage("null")
	}
	out, err := jsontext.Encode(message)
	if err != nil {
		return raw
	}
	return out
}

// dropsReasoning reports whether the recorded program sends answers back without the reasoning that they had.
func (e *engine) dropsReasoning(l int) bool {
	for k, i := range e.Loops[l].Calls {
		model := e.Steps[i].Model
		if model.Response == nil || k+1 == len(e.Loops[l].Calls) || jsontext.Members(model.Response.Message)[recorded.KeyReasoning] == nil {
			continue
		}
		next := e.Steps[e.Loops[l].Calls[k+1]].Model.Request.Messages
		return !slices.ContainsFunc(next, func(raw json.RawMessage) bool { return jsontext.Members(raw)[recorded.KeyReasoning] != nil })
	}
	return false
}
