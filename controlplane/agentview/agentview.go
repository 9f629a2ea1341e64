// Package agentview writes a run for a reader that has so many tokens and no more: a language model, or the agent
// around it. It needs no model itself. docs/agent-view.md says what is shown in which order, and why.
package agentview

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Formats of a view.
const (
	FormatJSON = "json"
	FormatText = "text" // Markdown
)

// Bounds of a budget, in tokens.
const (
	MinBudget = 256
	MaxBudget = 100_000
)

// ErrNoSuchSpan says that the run does not have the span that was asked for.
var ErrNoSuchSpan = problem.Missing()

// Options say how a view is written.
type Options struct {
	// Budget is how many tokens the view may have, MinBudget to MaxBudget.
	Budget int
	// Encoding is EncodingO200k or EncodingCL100k.
	Encoding string
	// Focus is the span to show first and at most length, nil for none.
	Focus *uint64
	// Format is FormatJSON or FormatText.
	Format string
	// Calls name what a reader may ask for next.
	Calls Calls
	// Key decides the marks around recorded text: who wrote the text does not know it.
	Key []byte
}

// Excerpts reads what spans say; it is asked for those only that the budget has room for.
type Excerpts func(spanIDs []uint64) ([]runs.Span, error)

// View is a run as it is sent.
type View struct {
	Body       []byte
	TokensUsed int
}

// batchSize is how many spans' texts are read at a time.
const batchSize = 128

// Build writes a run. The same run and options give the same bytes. Of two views that differ in budget, the larger
// shows every step and every part of a text that the smaller one shows.
//
// The order in which things are added does not depend on the budget; the view is the longest beginning of that order
// which fits.
func Build(outline runs.Outline, read Excerpts, options Options) (View, error) {
	tokens, err := newCounter(options.Encoding)
	if err != nil {
		return View{}, err
	}
	steps := stepsOf(outline)
	focus := -1
	for i := range steps {
		if options.Focus != nil && steps[i].span.SpanID == *options.Focus {
			focus = i
		}
	}
	if options.Focus != nil && focus < 0 {
		return View{}, ErrNoSuchSpan
	}
	v := &view{
		outline: outline, options: options, tokens: tokens, steps: steps, shown: map[int]string{},
		chain: runmodel.ErrorChain(outline.Spans), path: longest(runs.CriticalPath(outline.Spans, outline.Root())), last: -1, read: read,
	}
	v.render = jsonRenderer{v}
	if options.Format == FormatText {
		v.render = textRenderer{v}
	}
	if err := v.fill(v.plan(focus)); err != nil {
		return View{}, err
	}
	return v.finish(), nil
}

// view is a view that is being written. All that it holds fits the budget.
type view struct {
	outline runs.Outline
	options Options
	tokens  *counter
	render  renderer
	read    Excerpts

	steps []step
	chain []int     // steps, from the first failure up to the root
	path  []section // longest first

	// What is shown so far.
	withAbout, withChain, withPath bool

	shown      map[int]string // the line of each step that is shown
	cut        int            // how many of them are cut
	last       int            // the last step that is shown, -1 for none
	stepTokens int            // of all shown lines, each with what separates it from a next one
}

// section is how long the critical path is with a step itself.
type section struct {
	step int
	self time.Duration
}

// longest sums a path up by step, the longest first.
func longest(path []runs.Section) []section {
	self := map[int]time.Duration{}
	for _, s := range path {
		self[s.Span] += s.To.Sub(s.From)
	}
	sections := make([]section, 0, len(self))
	for step, d := range self {
		sections = append(sections, section{step, d})
	}
	slices.SortFunc(sections, func(a, b section) int { return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(a.step, b.step)) })
	return sections
}

// operation adds something to a view.
type operation struct {
	kind  operationKind
	step  int
	level int
}

type operationKind int

const (
	addStep operationKind = iota
	addAbout
	addChain
	addPath
)

// fill applies operations until one does not fit.
func (v *view) fill(plan iter.Seq[operation]) error {
	if !v.fits() {
		return fmt.Errorf("frame of the view takes %d tokens of %d", v.total(), v.options.Budget)
	}
	pull, stop := iter.Pull(plan)
	defer stop()
	queue := &reader{v: v, pull: pull, has: map[int]bool{}}
	for {
		op, ok, err := queue.next()
		if err != nil {
			return err
		}
		if !ok || !v.apply(op) {
			return nil
		}
	}
}

// apply adds what the operation says and returns true, or leaves the view as it is where that does not fit.
func (v *view) apply(op operation) bool {
	if with := map[operationKind]*bool{addAbout: &v.withAbout, addChain: &v.withChain, addPath: &v.withPath}[op.kind]; with != nil {
		*with = true
		*with = v.fits()
		return *with
	}
	s := &v.steps[op.step]
	before, beforeLast, beforeTokens := *s, v.last, v.stepTokens
	line, had := v.shown[op.step]
	if s.level >= op.level || (had && !s.isCut()) {
		return true // an earlier operation said more, or everything
	}
	wasCut := had && s.isCut()
	s.raise(op.level, v.tokens)
	if had {
		v.stepTokens -= v.tokens.count(v.render.step(line, false))
	}
	next := v.render.line(op.step)
	v.shown[op.step] = next
	v.stepTokens += v.tokens.count(v.render.step(next, false))
	v.last = max(v.last, op.step)
	v.cut += one(s.isCut()) - one(wasCut)
	if v.fits() {
		return true
	}
	v.cut += one(wasCut) - one(s.isCut())
	*s, v.last, v.stepTokens = before, beforeLast, beforeTokens
	if had {
		v.shown[op.step] = line
	} else {
		delete(v.shown, op.step)
	}
	return false
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fits tells whether the view is within its budget. From 1,000 on the budget takes a token more to write, and so does what is used of
// it: of 999 one stays free, so that 1,000 shows no less.
func (v *view) fits() bool {
	most := v.options.Budget
	if most == 999 {
		most--
	}
	return v.total() <= most
}

// total is how many tokens the view has as it is: to the token, because no token reaches over the end of a piece
// (see counter).
func (v *view) total() int {
	n := v.stepTokens
	if v.last >= 0 {
		line := v.shown[v.last]
		n += v.tokens.count(v.render.step(line, true)) - v.tokens.count(v.render.step(line, false))
	}
	for _, piece := range v.frame(0) {
		n += v.tokens.count(piece)
	}
	// The frame says 0 where n goes: one token, as each three digits from the left are.
	if n >= 1000 {
		n++
	}
	return n
}

// frame is all but the steps.
func (v *view) frame(used int) []string {
	pieces := []string{v.render.head(used), v.render.run()}
	if v.withAbout {
		pieces = append(pieces, v.render.about())
	}
	if v.withChain {
		pieces = append(pieces, v.render.chain())
	}
	if v.withPath {
		pieces = append(pieces, v.render.path())
	}
	return append(pieces, v.render.beforeSteps(), v.render.afterSteps())
}

// finish puts the pieces together.
func (v *view) finish() View {
	used := v.total()
	frame := v.frame(used)
	var b strings.Builder
	for _, piece := range frame[:len(frame)-1] {
		b.WriteString(piece)
	}
	for i := range v.steps {
		if line, ok := v.shown[i]; ok {
			b.WriteString(v.render.step(line, i == v.last))
		}
	}
	b.WriteString(frame[len(frame)-1])
	return View{Body: []byte(b.String()), TokensUsed: used}
}

// leftOut are the first and the last step that are not shown.
func (v *view) leftOut() (first, last, count int) {
	count = len(v.steps) - len(v.shown)
	if count == 0 {
		return -1, -1, 0
	}
	isShown := func(i int) bool { _, ok := v.shown[i]; return ok }
	for isShown(first) {
		first++
	}
	for last = len(v.steps) - 1; isShown(last); last-- {
	}
	return first, last, count
}

func (v *view) focusCall(i int) string {
	return v.options.Calls.Focus(v.outline.Run.RunID, runmodel.FormatSpanID(v.steps[i].span.SpanID))
}

// reader reads the texts of steps ahead of the operations that show them.
type reader struct {
	v       *view
	pull    func() (operation, bool)
	pending []operation
	has     map[int]bool
}

func (r *reader) next() (operation, bool, error) {
	if len(r.pending) == 0 {
		if err := r.ahead(); err != nil {
			return operation{}, false, err
		}
	}
	if len(r.pending) == 0 {
		return operation{}, false, nil
	}
	op := r.pending[0]
	r.pending = r.pending[1:]
	return op, true, nil
}

// ahead takes the next operations and reads the texts of the steps that they are the first to name. How many it takes
// at a time does not show in the view.
func (r *reader) ahead() error {
	const tokensOfAStep = 48
	limit := min(batchSize, max(16, r.v.options.Budget/tokensOfAStep))
	var ids []uint64
	at := map[uint64]int{}
	for len(ids) < limit && len(r.pending) < 4*batchSize {
		op, ok := r.pull()
		if !ok {
			break
		}
		r.pending = append(r.pending, op)
		if op.kind == addStep && !r.has[op.step] {
			r.has[op.step] = true
			id := r.v.steps[op.step].span.SpanID
			ids = append(ids, id)
			at[id] = op.step
		}
	}
	if len(ids) == 0 {
		return nil
	}
	spans, err := r.v.read(ids)
	if err != nil {
		return err
	}
	for i := range spans {
		if step, ok := at[spans[i].SpanID]; ok {
			r.v.steps[step].say(&spans[i], r.v.options.Key)
		}
	}
	return nil
}
