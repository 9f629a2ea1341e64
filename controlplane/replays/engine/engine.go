package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors of Replay and MakePlan.
var (
	// ErrNotDone is the error for Options.Done that are not steps of the attempt.
	ErrNotDone = errors.New("the steps that are done are not those of this attempt")

	errNoModel  = errors.New("the executor server needs a function that calls the model")
	errExecutor = errors.New("the executor is not known: it must be cassette or server")
)

// Replay makes an attempt. model may be nil for ExecutorCassette. Its error is that of the context, of model, of Store or
// ErrNotDone, or one of kind Invalid for a fork that is no step; an attempt that ends early has none, but a Stop.
func Replay(ctx context.Context, recording *recorded.Recording, edits *edit.Checked, options Options, model ModelFunc) (*Attempt, error) {
	if options.Executor == ExecutorServer && model == nil {
		return nil, errNoModel
	}
	e, err := newEngine(recording, edits, options)
	if err != nil {
		return nil, err
	}
	e.model = model
	if err := e.walk(ctx); err != nil {
		return nil, err
	}
	return e.finish(ctx)
}

// engine makes an attempt, or a plan.
type engine struct {
	*recorded.Recording
	edits   *edit.Checked
	options Options
	model   ModelFunc
	// dry makes a plan: nothing is called, and what an answer decides stays unknown.
	dry bool

	cache     recorded.MessageCache
	toolForms recorded.ToolCache
	tape      *cassette
	structure timing.Effects
	ends      map[string]bool
	// from are the steps that change, and downstream what can depend on them.
	from       []int
	downstream []bool

	steps []AttemptStep
	// made is the index of the attempt's step for a recorded model call or tool call. Others are -1.
	made []int
	// tools is the nearest tool call above a step, -1 for none. changedBelow reports that something
	// below a step depends on the change.
	tools        []int
	changedBelow []bool
	// covered are recorded tool calls that were answered without what is below them, by whether that is copied.
	covered map[int]bool
	// deferred are tool calls that depend on what is below them.
	deferred map[int]bool
	runs     []loopRun
	spent    Spent
	maxSteps int
	counted  int
	stop     *Stop
	// changed has the new texts of outputs that differ, by the recorded ones. open are recorded texts whose new ones are unknown.
	changed map[string]string
	// repeated are those of changed that may be in a text for another reason.
	repeated map[string]bool
	open     map[string]bool
	// lost are recorded texts that have no counterpart in the attempt.
	lost map[string]bool
	// callOf is the index of the recorded call of a tool step.
	callOf map[int]int
	// fates and notes are those of a plan.
	fates []Fate
	notes []string
	// sizes are the live calls of a plan, in order. below and recordedBelow count calls below frames.
	sizes                []callSize
	below, recordedBelow []int
}

func newEngine(r *recorded.Recording, edits *edit.Checked, options Options) (*engine, error) {
	switch options.Executor {
	case "":
		options.Executor = ExecutorCassette
	case ExecutorCassette, ExecutorServer:
	default:
		return nil, errExecutor
	}
	if err := CheckTools(options.Tools, "tools"); err != nil {
		return nil, err
	}
	e := &engine{
		Recording: r, edits: edits, options: options, cache: maps.Clone(r.Cache), toolForms: maps.Clone(r.Definitions), tape: newCassette(r, options.Tools), structure: timing.Of(r, edits),
		ends: r.EndingTools(), made: make([]int, len(r.Steps)), covered: map[int]bool{}, deferred: map[int]bool{}, runs: make([]loopRun, len(r.Loops)),
		changed: map[string]string{}, repeated: map[string]bool{}, open: map[string]bool{}, lost: map[string]bool{}, callOf: map[int]int{}, maxSteps: options.MaxSteps,
	}
	if e.cache == nil {
		e.cache, e.toolForms = recorded.MessageCache{}, recorded.ToolCache{}
	}
	was := 0
	for i := range r.Steps {
		e.made[i] = -1
		parent := r.Steps[i].Parent
		switch {
		case parent < 0 || r.Steps[parent].Kind == recorded.KindTool:
			e.tools = append(e.tools, parent)
		default:
			e.tools = append(e.tools, e.tools[parent])
		}
		if r.Steps[i].Kind != recorded.KindFrame {
			was++
		}
	}
	if e.maxSteps <= 0 {
		const more = 5
		e.maxSteps = 2*was + more
	}
	for n := range r.Calls {
		if step := r.Calls[n].Step; step >= 0 {
			e.callOf[step] = n
		}
	}
	return e, e.fork()
}

// fork finds the steps that change.
func (e *engine) fork() error {
	if id := e.options.ForkSpanID; id != "" {
		if refusal := e.Replayability.Refusal(recorded.LevelLLM); refusal != "" && e.options.Executor == ExecutorServer {
			return problem.InvalidField("fork_span_id", "cannot be forked at: no model call of this run can be made again. "+refusal)
		}
		i := slices.IndexFunc(e.Steps, func(s recorded.Step) bool { return s.SpanID == strings.ToLower(id) })
		if i < 0 {
			return problem.InvalidField("fork_span_id", fmt.Sprintf("names no step of the run: it has none with the id %.40q.", id))
		}
		e.from = append(e.from, i)
	}
	for _, i := range slices.Sorted(maps.Keys(e.edits.ByStep)) {
		content := slices.ContainsFunc(e.edits.ByStep[i], func(n int) bool { return !e.edits.Edits[n].Set.Structural() })
		effect := e.structure.Steps[i].Effect
		if content || effect == timing.TimedOut || effect == timing.Censored {
			e.from = append(e.from, i)
		}
	}
	e.downstream = make([]bool, len(e.Steps))
	if len(e.from) > 0 {
		e.downstream = e.Downstream(e.from)
	}
	e.changedBelow = make([]bool, len(e.Steps))
	for i := range e.Steps {
		if !e.downstream[i] || e.Steps[i].Kind == recorded.KindFrame {
			continue
		}
		for at := e.Steps[i].Parent; at >= 0 && !e.changedBelow[at]; at = e.Steps[at].Parent {
			e.changedBelow[at] = true
		}
	}
	return nil
}

// walk goes through the recorded steps in their order.
func (e *engine) walk(ctx context.Context) error {
	for i := range e.Steps {
		if e.stop != nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay a run: %w", err)
		}
		var err error
		if above := e.coveredBy(i); above >= 0 {
			if e.covered[above] && e.Steps[i].Kind != recorded.KindFrame && e.made[i] < 0 {
				err = e.copy(ctx, i, e.steps[e.made[above]].Stale)
			}
		} else {
			switch e.Steps[i].Kind {
			case recorded.KindModel:
				err = e.modelStep(ctx, i)
			case recorded.KindTool:
				err = e.toolStep(ctx, i)
			}
		}
		if err != nil {
			return err
		}
	}
	return e.closeDeferred(ctx)
}

// coveredBy returns the nearest tool call above a step that was answered without what is below it, -1 for none.
func (e *engine) coveredBy(i int) int {
	for at := e.tools[i]; at >= 0; at = e.tools[at] {
		if _, ok := e.covered[at]; ok {
			return at
		}
		if e.made[at] < 0 && e.downstream[at] && !e.deferred[at] {
			e.covered[at] = false // it was not called
			return at
		}
	}
	return -1
}

// copy takes a recorded step over as it is.
func (e *engine) copy(ctx context.Context, i int, stale bool) error {
	s := &e.Steps[i]
	if n, ok := e.callOf[i]; ok {
		e.tape.take(n)
	}
	if s.Kind == recorded.KindModel {
		e.takeUnseen(i)
	}
	e.fate(i, FateCopied, "")
	step := e.stepOf(i)
	step.Source, step.Stale = SourceCopied, stale
	step.CostUSD = e.costOf(i)
	return e.emit(ctx, step)
}

// takeUnseen marks the calls of a model's answer that have no span as made.
func (e *engine) takeUnseen(asker int) {
	for _, n := range e.asked(asker) {
		if e.Calls[n].Step < 0 {
			e.tape.take(n)
		}
	}
}

// asked returns the recorded calls that an answer asked for, in its order.
func (e *engine) asked(asker int) []int {
	from, ok := slices.BinarySearchFunc(e.Calls, asker, func(c recorded.Call, asker int) int {
		if c.Asker < 0 {
			return 1 // calls by the program come last
		}
		return c.Asker - asker
	})
	var calls []int
	for n := from; ok && n < len(e.Calls) && e.Calls[n].Asker == asker; n++ {
		calls = append(calls, n)
	}
	return calls
}

func (e *engine) costOf(i int) *float64 {
	if e.Steps[i].Model == nil {
		return nil
	}
	return e.Steps[i].Model.CostUSD
}

// stepOf begins a step of the attempt that stands for a recorded one.
func (e *engine) stepOf(i int) AttemptStep {
	s := &e.Steps[i]
	return AttemptStep{
		Recorded: i, SpanID: s.SpanID, Parent: s.Parent, Kind: s.Kind, SpanKind: s.SpanKind, Name: s.Name, Agent: s.Agent,
		Offset: s.Offset, Duration: s.Duration, Status: s.Status, ErrorType: s.ErrorType, ErrorMessage: s.ErrorMessage,
	}
}

// emit adds a step to the attempt and stores it.
func (e *engine) emit(ctx context.Context, step AttemptStep) error {
	step.Index = len(e.steps)
	if step.Recorded >= 0 && step.Source != SourceNotReached {
		e.made[step.Recorded] = step.Index
	}
	e.steps = append(e.steps, step)
	if e.dry {
		return nil
	}
	if step.Index < len(e.options.Done) {
		done := &e.options.Done[step.Index]
		if done.Kind != step.Kind || done.Recorded != step.Recorded || done.Source != step.Source || done.Name != step.Name {
			return fmt.Errorf("step %d: %w", step.Index, ErrNotDone)
		}
		return nil
	}
	if e.options.Store != nil {
		if err := e.options.Store(ctx, step); err != nil {
			return fmt.Errorf("store step %d: %w", step.Index, err)
		}
	}
	return nil
}

// end ends the attempt at a recorded step, -1 for none.
func (e *engine) end(as ending, i int) {
	if e.stop != nil {
		return
	}
	e.stop = &Stop{Reason: as.reason, Recorded: i, Detail: as.detail, Remedy: as.remedy}
	if i >= 0 {
		e.stop.SpanID = e.Steps[i].SpanID
	}
}

// fate notes what a plan says of a step.
func (e *engine) fate(i int, fate Fate, note string) {
	if e.dry && i >= 0 && e.fates[i] == "" {
		e.fates[i], e.notes[i] = fate, note
	}
}

// gap is the recorded pause before a step, after the latest of some others. It is negative for a step that began before their end.
func (e *engine) gap(i int, before ...int) time.Duration {
	latest, ok := time.Duration(0), false
	for _, j := range before {
		if end, ended := e.Steps[j].End(); ended && (!ok || end > latest) {
			latest, ok = end, true
		}
	}
	if !ok {
		return 0
	}
	return e.Steps[i].Offset - latest
}
