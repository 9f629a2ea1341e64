package agentview

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// earlySteps is how many acting steps are shown before the critical path.
const earlySteps = 12

// nearAt is the level of a focused step after which its neighbors are shown.
const nearAt = 2

// plan is the order in which a view grows. The mistakes of an agent are mostly in what its model wrote and called, seldom where an error
// is reported. So the first failure is followed by the steps in which a model acted, then by those of tools and others, and then by all
// of them in more and more detail. rank has the order of steps.
func (v *view) plan(focus int, acting, others []int) iter.Seq[operation] {
	return func(yield func(operation) bool) {
		show := func(level int, steps ...int) bool {
			for _, i := range steps {
				if !yield(operation{kind: addStep, step: i, level: level}) {
					return false
				}
			}
			return true
		}
		about, attributes := operation{kind: addAbout}, operation{kind: addAttributes}
		if focus >= 0 {
			for level := range len(levels) {
				if !show(level+1, focus) || (level == nearAt && (!show(1, v.neighbors(focus)...) || !yield(about) || !yield(attributes))) {
					return
				}
			}
		}
		if !yield(about) {
			return
		}
		if len(v.chain) > 0 && (!yield(operation{kind: addChain}) || !show(1, v.chain[0])) {
			return
		}
		if len(v.suspects) > 0 && !yield(operation{kind: addSuspects}) {
			return
		}
		if v.outline.Run.Fingerprint != "" && !yield(attributes) { // what sets a failed run apart
			return
		}
		early := min(len(acting), earlySteps)
		if !show(1, acting[:early]...) || (len(v.path) > 0 && !yield(operation{kind: addPath})) {
			return
		}
		for level := range len(levels) {
			if !show(level+1, acting...) || !yield(attributes) || !show(level+1, others...) {
				return
			}
		}
	}
}

// byRole lists the steps in which a model acts and the others, both newest first. An agent acts if no model call below it is recorded.
func (v *view) byRole() (acting, others []int) {
	above := map[uint64]bool{} // spans with a model call below them
	parents := make(map[uint64]uint64, len(v.steps))
	for i := range v.steps {
		parents[v.steps[i].span.SpanID] = v.steps[i].span.ParentSpanID
	}
	for i := range v.steps {
		if v.steps[i].span.EffectiveKind() == runmodel.KindLLM {
			for id := v.steps[i].span.ParentSpanID; id != 0 && !above[id]; id = parents[id] {
				above[id] = true
			}
		}
	}
	for i := len(v.steps) - 1; i >= 0; i-- {
		span := v.steps[i].span
		switch kind := span.EffectiveKind(); {
		case kind == runmodel.KindLLM, kind == runmodel.KindAgent && !above[span.SpanID]:
			acting = append(acting, i)
			v.steps[i].acts = true
		default:
			others = append(others, i)
		}
	}
	return acting, others
}

// maxRanked is how many steps are ranked by their texts, which must be read for it.
const maxRanked = 512

// rank orders acting and other steps by what they are worth: a step says more the longer its text is, and less the more often a step of
// the same kind came before; and it costs what it takes in the view at the first level. Steps are of one kind if they have the same name
// and begin with the same word. Of equals the older comes first. The root is the first of the others. In a run with more steps than can
// be ranked, the newest are, and the rest follows, newest first.
func (v *view) rank(focus int) (acting, others []int, err error) {
	acting, others = v.byRole()
	ranked := [][]int{acting[:min(len(acting), maxRanked)], others[:min(len(others), max(0, maxRanked-len(acting)))]}
	read := slices.Concat(ranked...)
	if focus >= 0 && !slices.Contains(read, focus) {
		read = append(read, focus)
	}
	if err := v.readTexts(read); err != nil {
		return nil, nil, err
	}
	v.findRepeats(focus)
	type stepKind struct{ name, word string }
	seen := map[stepKind]int{}
	worth := map[int]float64{}
	for _, i := range slices.Sorted(slices.Values(slices.Concat(ranked...))) {
		s := &v.steps[i]
		kind := stepKind{v.nameOf(i), s.firstWord()}
		tokens := s.estimate()
		worth[i] = math.Pow(tokens, lengthExponent) / float64(1+seen[kind]) / (headerTokens + min(tokens, float64(levels[0])))
		s.earlier = seen[kind]
		seen[kind]++
	}
	for _, steps := range ranked {
		slices.SortFunc(steps, func(a, b int) int { return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b)) })
	}
	if root := v.outline.Root(); len(v.steps) > 0 {
		if at := slices.Index(others, root); at > 0 {
			copy(others[1:at+1], others[:at])
			others[0] = root
		}
	}
	return acting, others, nil
}

const (
	// lengthExponent says how much less each further token of a text is worth.
	lengthExponent = .7
	// headerTokens is about what a step costs besides its text.
	headerTokens = 24
)

// neighbors returns the steps around a step: its ancestors, its children, and those before and after it.
func (v *view) neighbors(focus int) []int {
	const near, above, below = 2, 3, 8
	span := v.steps[focus].span
	var found []int
	parent := span.ParentSpanID
	for range above {
		for i := range v.steps {
			if v.steps[i].span.SpanID == parent && i != focus {
				found = append(found, i)
				parent = v.steps[i].span.ParentSpanID
				break
			}
		}
	}
	for i := max(0, focus-near); i <= min(len(v.steps)-1, focus+near); i++ {
		if i != focus {
			found = append(found, i)
		}
	}
	children := 0
	for i := range v.steps {
		if v.steps[i].span.ParentSpanID == span.SpanID && i != focus && children < below {
			found = append(found, i)
			children++
		}
	}
	return found
}
