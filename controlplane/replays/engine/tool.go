package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// outcome is what an edit makes of a tool call.
type outcome struct {
	text                string
	status, kind, error string
	duration            *time.Duration
	set                 bool // whether there is one
	timed               bool // whether duration is set
}

// outcomeOf returns what edits make of a recorded tool call.
func (e *engine) outcomeOf(i int) (out outcome) {
	for _, n := range e.edits.ByStep[i] {
		set := &e.edits.Edits[n].Set
		switch {
		case len(set.ToolResult) > 0:
			return outcome{text: jsontext.Text(set.ToolResult), status: runmodel.StatusOK, set: true}
		case set.ToolError != nil:
			out = outcome{
				text: recorded.ErrorText(set.ToolError.Type, set.ToolError.Message), status: runmodel.StatusError, kind: set.ToolError.Type, error: set.ToolError.Message, set: true,
			}
		}
	}
	switch t := e.structure.Steps[i]; t.Effect {
	case timing.TimedOut:
		text := timeoutText(t.Timeout)
		return outcome{text: recorded.ErrorText(timeoutType, text), status: runmodel.StatusError, kind: timeoutType, error: text, duration: t.Timeout, set: true, timed: true}
	case timing.Censored:
		e.fate(i, FateUnknown, "The recording ends before the result.")
		e.end(resultCensored, i)
	}
	return out
}

// toolStep copies a recorded tool call, or makes one that no answer of the attempt asks for.
func (e *engine) toolStep(ctx context.Context, i int) error {
	s := &e.Steps[i]
	switch {
	case e.made[i] >= 0:
		return nil
	case s.Loop >= 0 && e.runs[s.Loop].awaits && e.downstream[i] && e.made[s.Asker] < 0:
		e.fate(i, FateUnknown, "A model that is asked again may call it or not.")
		return nil
	case !e.downstream[i]:
		return e.copy(ctx, i, false)
	case s.Asker >= 0 && (e.made[s.Asker] < 0 || e.steps[e.made[s.Asker]].Source != SourceCopied):
		return nil // useTool made it, or nothing asked for it
	}
	if out := e.outcomeOf(i); e.stop != nil {
		return nil
	} else if out.set {
		return e.editTool(ctx, i, out)
	}
	if slices.Contains(e.from, i) { // a control forks here: the call has its recorded result
		e.covered[i] = true
		return e.copy(ctx, i, false)
	}
	if e.changedBelow[i] {
		e.deferred[i] = true
		return nil
	}
	arguments, d := e.renew(s.Tool.Arguments)
	switch {
	case s.Asker >= 0 || d == independent:
		return e.copy(ctx, i, false)
	case d == awaited:
		e.fate(i, FateUnknown, "Its arguments have an answer that nobody has yet.")
		e.open[*orEmpty(s.Tool.Result)] = true
		return nil
	case d == contained:
		e.fate(i, FateUnknown, "Its arguments have an output that differs, in a text that only the program makes.")
		e.end(writtenArguments, i)
		return nil
	}
	_, err := e.serve(ctx, AttemptStep{
		Recorded: -1, Parent: s.Parent, Kind: recorded.KindTool, SpanKind: s.SpanKind, Name: s.Tool.Name, Agent: s.Agent, Offset: s.Offset, Status: runmodel.StatusOK,
	}, -1, recorded.MessageCall{ID: s.Tool.CallID, Name: s.Tool.Name, Arguments: arguments}, i)
	return err
}

func orEmpty(text *string) *string {
	if text == nil {
		return new("")
	}
	return text
}

// editTool makes a recorded tool call whose outcome an edit says.
func (e *engine) editTool(ctx context.Context, i int, out outcome) error {
	s := &e.Steps[i]
	e.fate(i, FateServed, "The edit says the result.")
	if n, ok := e.callOf[i]; ok {
		e.tape.take(n)
	}
	e.covered[i] = false
	step := e.stepOf(i)
	e.setOutcome(&step, s.Tool, out)
	e.differ(i, *orEmpty(s.Tool.Result), out.text)
	if s.Asker < 0 && out.status == runmodel.StatusError && !s.Failed() {
		e.end(handledError, i)
	}
	return e.emit(ctx, step)
}

// setOutcome sets what an edit makes of a call.
func (e *engine) setOutcome(step *AttemptStep, call *recorded.ToolCall, out outcome) {
	tool := *call
	step.Differs = tool.Result == nil || recorded.CanonicalText(*tool.Result) != recorded.CanonicalText(out.text) || step.Status != out.status
	tool.Result = &out.text
	step.Source, step.Tool = SourceEdited, &tool
	step.Status, step.ErrorType, step.ErrorMessage = out.status, out.kind, out.error
	if out.timed {
		step.Duration = out.duration
	}
}

// closeDeferred makes the tool calls that wait for what is below them.
func (e *engine) closeDeferred(ctx context.Context) error {
	for i := range e.Steps {
		if e.deferred[i] && e.stop == nil {
			if err := e.closeTool(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeTool makes a tool call after what is below it. Its result is known if it was that of a step below it.
func (e *engine) closeTool(ctx context.Context, i int) error {
	delete(e.deferred, i)
	e.endLoops(i)
	differs, awaits := e.differsBelow(i)
	result := orEmpty(e.Steps[i].Tool.Result)
	if awaits {
		e.fate(i, FateUnknown, "It has an answer that nobody has yet.")
		e.open[*result] = true
		return nil
	}
	if !differs {
		return e.copy(ctx, i, false)
	}
	text, d := e.renew(*result)
	if d != derived {
		e.fate(i, FateUnknown, "Its result is made of steps that differ, in a way that only the program knows.")
		e.end(writtenResult, i)
		return nil
	}
	if n, ok := e.callOf[i]; ok {
		e.tape.take(n)
	}
	step := e.stepOf(i)
	tool := *e.Steps[i].Tool
	tool.Result = &text
	step.Source, step.Tool, step.Differs, step.Note = SourceDerived, &tool, true, "The result is the answer of a step below it."
	if d := e.endBelow(i); d > step.Offset {
		step.Duration = new(d - step.Offset)
	}
	e.differ(i, *result, text)
	return e.emit(ctx, step)
}

// differsBelow reports whether a step below differs, or waits for an answer.
func (e *engine) differsBelow(i int) (differs, awaits bool) {
	below := map[int]bool{i: true}
	for j := i + 1; j < len(e.Steps); j++ {
		if !below[e.Steps[j].Parent] {
			continue
		}
		below[j] = true
		if e.Steps[j].Kind == recorded.KindFrame {
			continue
		}
		at := e.made[j]
		differs = differs || at < 0 || e.outputDiffers(&e.steps[at])
		awaits = awaits || e.dry && at < 0 && e.fates[j] != "" // else it is not made in any attempt
	}
	for n := range e.steps {
		differs = differs || e.steps[n].Recorded < 0 && below[e.steps[n].Parent]
	}
	return differs, awaits
}

// outputDiffers reports whether what a step returned differs from the recording.
func (e *engine) outputDiffers(step *AttemptStep) bool {
	if step.Kind == recorded.KindModel && step.Response != nil && step.Recorded >= 0 {
		return !e.sameAnswer(step.Response, e.Steps[step.Recorded].Model.Response)
	}
	return step.Differs
}

// endBelow returns when the last step below ends.
func (e *engine) endBelow(i int) (end time.Duration) {
	below := map[int]bool{i: true}
	for j := i + 1; j < len(e.Steps); j++ {
		if below[e.Steps[j].Parent] {
			below[j] = true
		}
	}
	for n := range e.steps {
		if s := &e.steps[n]; below[s.Parent] && s.Duration != nil {
			end = max(end, s.Offset+*s.Duration)
		}
	}
	return end
}

// useTool makes a call that an answer asks for, and adds its result to the next request. It returns when the call ends.
func (e *engine) useTool(ctx context.Context, l, k int, call recorded.MessageCall, asker int, begin time.Duration) (time.Duration, error) {
	by := &e.steps[asker]
	step := AttemptStep{
		Recorded: -1, Parent: by.Parent, Kind: recorded.KindTool, SpanKind: runmodel.KindTool, Name: call.Name, Agent: by.Agent, Offset: begin, Status: runmodel.StatusOK,
	}
	at, err := e.serve(ctx, step, l, call, e.Loops[l].Calls[k])
	if err != nil || e.stop != nil || at < 0 {
		return begin, err
	}
	made := &e.steps[at]
	run := &e.runs[l]
	run.diverged = run.diverged || made.Differs
	message, err := jsontext.Encode(map[string]json.RawMessage{"role": jsontext.MustEncode(recorded.RoleTool), "tool_call_id": jsontext.MustEncode(call.ID), "content": e.contentOf(made)})
	if err != nil {
		return begin, fmt.Errorf("encode the result of a tool: %w", err)
	}
	run.pending = append(run.pending, message)
	if made.Recorded >= 0 {
		run.before = append(run.before, made.Recorded)
	}
	if made.Duration == nil {
		return made.Offset, nil
	}
	return made.Offset + *made.Duration, nil
}

// contentOf returns what the model is told of a call.
func (e *engine) contentOf(step *AttemptStep) json.RawMessage {
	text := *step.Tool.Result
	if recorded.IsContentList(json.RawMessage(text)) {
		return json.RawMessage(text)
	}
	return jsontext.MustEncode(text)
}

// serve looks a call up and makes its step. It returns the index of the step, -1 if there is none.
func (e *engine) serve(ctx context.Context, step AttemptStep, loop int, call recorded.MessageCall, at int) (int, error) {
	if e.counted++; e.counted > e.maxSteps {
		e.end(tooManySteps(e.maxSteps), at)
		return -1, nil
	}
	found := e.tape.find(loop, call.Name, call.Arguments)
	if e.ends[call.Name] && found.content == nil {
		return -1, nil // the program ends at it, and has no result
	}
	if found.content == nil {
		e.end(e.tape.unrecorded(&found, call.Name, call.Arguments), at)
		return -1, nil
	}
	step.Tier, step.Stale, step.Note, step.Source = found.tier, found.stale, found.note, found.source
	if step.Stale {
		step.Source = SourceStale
	}
	result := string(found.content)
	if jsontext.IsString(found.content) {
		result = jsontext.String(found.content)
	}
	step.Tool = &recorded.ToolCall{Name: call.Name, CallID: call.ID, Arguments: call.Arguments, Result: &result, SideEffects: e.tape.class(call.Name)}
	step.Differs = found.tier != TierHit
	step.Unrecorded = !e.hasToolSpans()
	if found.call >= 0 && e.Calls[found.call].Step >= 0 {
		if e.standFor(&step, e.Calls[found.call].Step, found); e.stop != nil {
			return -1, nil
		}
	} else if found.call >= 0 && found.tier == TierHit {
		step.Unrecorded = true
	}
	if err := e.emit(ctx, step); err != nil {
		return -1, err
	}
	return len(e.steps) - 1, nil
}

// hasToolSpans reports whether the recording has spans of tool calls.
func (e *engine) hasToolSpans() bool {
	return slices.ContainsFunc(e.Steps, func(s recorded.Step) bool { return s.Kind == recorded.KindTool })
}

// standFor lets a step stand for a recorded tool call, unless another one does.
func (e *engine) standFor(step *AttemptStep, was int, found lookup) {
	s := &e.Steps[was]
	step.Duration = s.Duration
	if found.source == SourceServed {
		step.Status, step.ErrorType, step.ErrorMessage = s.Status, s.ErrorType, s.ErrorMessage
	}
	if e.made[was] >= 0 || !found.stands {
		return
	}
	step.Recorded, step.SpanID, step.Parent, step.SpanKind, step.Agent = was, s.SpanID, s.Parent, s.SpanKind, s.Agent
	if s.Asker >= 0 {
		step.Offset += e.gap(was, s.Asker)
		if end, ok := e.Steps[s.Asker].End(); ok && s.Offset < end && e.made[s.Asker] >= 0 { // it began during the answer
			step.Offset = e.steps[e.made[s.Asker]].Offset + s.Offset - e.Steps[s.Asker].Offset
		}
	}
	e.fate(was, FateServed, "")
	out := e.outcomeOf(was)
	if e.stop != nil {
		return
	}
	if out.set {
		e.covered[was] = false
		e.setOutcome(step, step.Tool, out)
		e.differ(was, *orEmpty(s.Tool.Result), out.text)
		return
	}
	e.covered[was] = true
}
