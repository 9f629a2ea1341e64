// Package agentview writes a run within a budget of tokens, for a language model or an agent to read. It uses no model itself.
// docs/agent-view.md has the order in which things are shown, and its reasons.
package agentview

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
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

// Limits of a budget in tokens.
const (
	MinBudget = 256
	MaxBudget = 100_000
)

// ErrNoSuchSpan means that the run does not have the focused span.
var ErrNoSuchSpan = problem.Missing()

// Options are how a view is written.
type Options struct {
	// Budget is how many tokens the view may have, from MinBudget to MaxBudget.
	Budget int
	// Focus is the step to show first and in most detail, by its span id in 16 digits or by its number. Empty is none.
	Focus string
	// Format is FormatJSON or FormatText.
	Format string
	// Calls are what a reader may call next.
	Calls Calls
	// Key determines the marks around recorded text. The author of the text must not know it.
	Key []byte
}

// Excerpts reads the texts of spans. It is called only for spans that the budget may have room for.
type Excerpts func(spanIDs []uint64) ([]runs.Span, error)

// View is a run as it is sent.
type View struct {
	Body       []byte
	TokensUsed int
}

// Build writes a run. The same run and options give the same bytes. Of two views that differ in budget, the larger shows every step and
// every part of a text that the smaller one shows.
//
// The order in which things are added does not depend on the budget. The view is the longest prefix of that order that fits.
func Build(outline runs.Outline, read Excerpts, options Options) (View, error) {
	steps := stepsOf(outline)
	focus, err := focused(steps, options.Focus)
	if err != nil {
		return View{}, err
	}
	v := &view{
		outline: outline, options: options, tokens: newCounter(), steps: steps, shown: map[int]string{},
		chain: runmodel.ErrorChain(outline.Spans, outline.Run.FailingSpanID), path: longestFirst(runs.CriticalPath(outline.Spans, outline.Root())), last: -1, read: read,
		recovered: map[int]bool{},
	}
	for _, i := range runmodel.Recovered(outline.Spans) {
		if outline.Spans[i].SpanID != outline.Run.FailingSpanID {
			v.recovered[i] = true
		}
	}
	v.render = jsonRenderer{v}
	if options.Format == FormatText {
		v.render = textRenderer{v}
	}
	v.attributes = v.fencedAttributes()
	acting, others, err := v.rank(focus)
	if err != nil {
		return View{}, err
	}
	if outline.Run.Fingerprint != "" { // it failed
		v.suspects = v.findSuspects(acting)
	}
	if err := v.fill(v.plan(focus, acting, others)); err != nil {
		return View{}, err
	}
	return v.finish(), nil
}

// focused returns the index of the step that is to be shown first, -1 for none.
func focused(steps []step, focus string) (int, error) {
	if focus == "" {
		return -1, nil
	}
	if n, err := strconv.Atoi(focus); err == nil && len(focus) < spanIDDigits {
		if n < 1 || n > len(steps) {
			return -1, ErrNoSuchSpan
		}
		return n - 1, nil
	}
	i := slices.IndexFunc(steps, func(s step) bool { return runmodel.FormatSpanID(s.span.SpanID) == focus })
	if i < 0 {
		return -1, ErrNoSuchSpan
	}
	return i, nil
}

const spanIDDigits = 16

// view is a view while it is written. Everything in it fits the budget.
type view struct {
	outline runs.Outline
	options Options
	tokens  *counter
	render  renderer
	read    Excerpts

	steps []step
	chain []int // steps from the one with the error up to the root
	// suspects are the steps that may be why the run failed, the likeliest first.
	suspects []int
	path     []section // longest first
	// attributes are those of the run between marks, empty if it has none.
	attributes string
	// repeats are the texts of the steps that were ranked, nil before.
	repeats repeats
	// recovered are the failed steps that the run recovered from.
	recovered map[int]bool

	// What is shown so far.
	withAbout, withAttributes, withChain, withSuspects, withPath bool

	shown      map[int]string // line of each step that is shown
	cut        int            // number of shown steps that are cut
	last       int            // last step that is shown, -1 for none
	stepTokens int            // of all shown lines with their separators
}

// section is how long the critical path is in a step itself.
type section struct {
	step int
	self time.Duration
}

// longestFirst adds up a path by step, the longest first.
func longestFirst(path []runs.Section) []section {
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
	addAttributes
	addChain
	addSuspects
	addPath
)

// fill applies operations until one does not fit.
func (v *view) fill(plan iter.Seq[operation]) error {
	if !v.fits() {
		return fmt.Errorf("frame of the view has %d tokens, which exceeds the budget of %d", v.total(), v.options.Budget)
	}
	pull, stop := iter.Pull(plan)
	defer stop()
	queue := &prefetcher{v: v, pull: pull}
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

// apply applies an operation and returns true. If that does not fit, it leaves the view as it is and returns false.
func (v *view) apply(op operation) bool {
	if with := map[operationKind]*bool{addAbout: &v.withAbout, addAttributes: &v.withAttributes, addChain: &v.withChain, addSuspects: &v.withSuspects, addPath: &v.withPath}[op.kind]; with != nil {
		*with = true
		*with = v.fits()
		return *with
	}
	s := &v.steps[op.step]
	before, beforeLast, beforeTokens := *s, v.last, v.stepTokens
	line, had := v.shown[op.step]
	if s.level >= op.level || (had && !s.isCut()) {
		return true // an earlier operation has shown this much
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

// fits reports whether the view is within its budget. From 1,000 on, both the budget and tokens_used take another token to write. A
// budget of 999 leaves one token free, so that one of 1,000 does not show less.
func (v *view) fits() bool {
	limit := v.options.Budget
	if limit == 999 {
		limit--
	}
	return v.total() <= limit
}

// total is the exact number of tokens of the view, because no token extends over the end of a piece (see counter).
func (v *view) total() int {
	n := v.stepTokens
	if v.last >= 0 {
		line := v.shown[v.last]
		n += v.tokens.count(v.render.step(line, true)) - v.tokens.count(v.render.step(line, false))
	}
	for _, piece := range v.frame(0) {
		n += v.tokens.count(piece)
	}
	// The frame has 0 in place of n. That is one token, as are each three digits from the left.
	if n >= 1000 {
		n++
	}
	return n
}

// frame is everything except the steps.
func (v *view) frame(used int) []string {
	pieces := []string{v.render.head(used), v.render.run()}
	if v.withAbout {
		pieces = append(pieces, v.render.about())
	}
	if v.withAttributes {
		pieces = append(pieces, v.render.attributes())
	}
	if v.withChain {
		pieces = append(pieces, v.render.chain())
	}
	if v.withSuspects {
		pieces = append(pieces, v.render.suspects())
	}
	if v.withPath {
		pieces = append(pieces, v.render.path())
	}
	return append(pieces, v.render.beforeSteps(), v.render.afterSteps())
}

// finish joins the pieces.
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

// leftOut returns the first and the last step that are not shown.
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
