package runmodel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// Failure says how a run failed, and by which fingerprint runs that failed alike are known. It is part of Run.
type Failure struct {
	// Fingerprint is empty for a run that did not fail.
	Fingerprint string `ch:"fingerprint"`
	Class       string `ch:"failure_class"`
	// FailingSpanID is the step at which the run failed.
	FailingSpanID uint64 `ch:"failing_span_id"`
	FailingKind   string `ch:"failing_kind"`
	FailingName   string `ch:"failing_name"`
	FailingType   string `ch:"failing_type"`
	// FailingTemplate is the error's message without what tells messages of one kind apart.
	FailingTemplate string `ch:"failing_template"`
}

// Classes of failures.
const (
	FailureError     = "error"
	FailureTimeout   = "timeout"
	FailureCancelled = "cancelled"
	// FailureUnrecovered is a step that failed in a run that ended well, and nothing went well after it.
	FailureUnrecovered = "unrecovered"
)

// FingerprintVersion begins fingerprints that are made as failureOf does now. Whoever changes what goes into one makes a
// new version: what is known by an old one is told from what is known by this one.
const FingerprintVersion = "fp:v2:"

// KeyFingerprint is the attribute by which a client groups failures itself.
const KeyFingerprint = "fingerprint"

// Bounds of what goes into a fingerprint.
const (
	fingerprintTokens = 8 // of the message
	fingerprintPath   = 3 // steps above the failing one
)

var timeoutWords = regexp.MustCompile(`(?i)time[d ]*-?out|deadline.?exceeded`)

// failureOf says how a run failed, of its spans in start order; nothing where it did not. What a model said never enters:
// only the kinds, names and errors of steps do.
func failureOf(run *Run, spans []Span) Failure {
	endedWell := run.Status != StatusCancelled && run.Status != StatusError
	if run.Status == StatusRunning || endedWell && run.ErrorCount == 0 {
		return Failure{}
	}
	errs := errorsOf(spans)
	origins := errs.origins()
	if endedWell {
		origins = errs.unrecovered(origins)
	}
	root := rootIndex(spans)
	var chain []int
	switch {
	case len(origins) > 0:
		chain = errs.chain(origins[0])
	case endedWell:
		return Failure{}
	default:
		chain = []int{root} // nobody says where
	}
	origin := &spans[chain[0]]
	class := FailureError
	switch {
	case run.Status == StatusCancelled:
		class = FailureCancelled
	case endedWell:
		class = FailureUnrecovered
	case timeoutWords.MatchString(origin.ErrorType) || timeoutWords.MatchString(origin.ErrorMessage):
		class = FailureTimeout
	}
	f := Failure{
		Class: class, FailingSpanID: origin.SpanID, FailingKind: origin.EffectiveKind(), FailingName: stepName(origin),
		FailingType: nameTemplate(origin.ErrorType), FailingTemplate: Template(origin.ErrorMessage),
	}
	own := ""
	for _, i := range append(chain, root) {
		own = cmp.Or(own, spans[i].Attributes[KeyFingerprint])
	}
	if own != "" {
		f.Fingerprint = fingerprintOf(run.ProjectID.String(), KeyFingerprint, own)
		return f
	}
	tokens := strings.Fields(f.FailingTemplate)
	parts := []string{
		run.ProjectID.String(), cmp.Or(run.AgentName, nameTemplate(run.Name)), class, f.FailingKind, f.FailingName, f.FailingType,
		strings.Join(tokens[:min(fingerprintTokens, len(tokens))], " "),
	}
	for _, i := range chain[1:min(1+fingerprintPath, len(chain))] {
		parts = append(parts, stepName(&spans[i]))
	}
	f.Fingerprint = fingerprintOf(parts...)
	return f
}

func fingerprintOf(parts ...string) string {
	const digits = 16
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return FingerprintVersion + hex.EncodeToString(sum[:])[:digits]
}

// ErrorChain returns the first span that failed by itself, and the spans above it up to the root. A span fails by itself
// where no span below it failed, or where one that did not fail is between it and those that did, and it names an error. One
// after which all spans above it failed as well comes before one that somebody caught, and both come before one that was made
// good: the same was done again, later and beside it, and went well.
func ErrorChain(spans []Span) []int {
	errs := errorsOf(spans)
	origins := errs.origins()
	if len(origins) == 0 {
		return nil
	}
	return errs.chain(origins[0])
}

// spanErrors is what failed among a run's spans, which are in start order.
type spanErrors struct {
	spans   []Span
	parents []int // -1 for none
	failed  []bool
	// tops are, of spans that failed, the topmost span above them up to which all failed.
	tops []int
	// well are the last spans that went well, by what they did.
	well map[deed]int
}

// deed is what a span did, and below which span.
type deed struct {
	parent     uint64
	kind, name string
}

func (e *spanErrors) deed(i int) deed {
	return deed{e.spans[i].ParentSpanID, e.spans[i].EffectiveKind(), e.spans[i].Name}
}

// errorsOf returns nil where nothing failed.
func errorsOf(spans []Span) *spanErrors {
	e := &spanErrors{spans: spans, parents: make([]int, len(spans)), failed: make([]bool, len(spans)), tops: make([]int, len(spans)), well: map[deed]int{}}
	for i := range spans {
		switch spans[i].EffectiveStatus() {
		case StatusError:
			e.failed[i] = true
		case StatusOK:
			e.well[e.deed(i)] = i
		}
	}
	if !slices.Contains(e.failed, true) {
		return nil
	}
	index := indexOf(spans)
	for i := range spans {
		e.parents[i], e.tops[i] = -1, -1
		if parent, ok := index[spans[i].ParentSpanID]; ok && parent != i {
			e.parents[i] = parent
		}
	}
	var path []int
	for i := range spans {
		if !e.failed[i] {
			continue
		}
		path = path[:0]
		at := i
		for e.tops[at] < 0 {
			e.tops[at] = at // ends the search where parents form a circle, too
			path = append(path, at)
			if parent := e.parents[at]; parent >= 0 && e.failed[parent] {
				at = parent
			}
		}
		for _, below := range path {
			e.tops[below] = e.tops[at]
		}
	}
	return e
}

// byThemselves tells which spans failed by themselves.
func (e *spanErrors) byThemselves() []bool {
	own := slices.Clone(e.failed)
	seen := make([]bool, len(e.spans)) // spans that did not fail, below which one did
	for i := range e.spans {
		if !e.failed[i] {
			continue
		}
		at := e.parents[i]
		for at >= 0 && !e.failed[at] && !seen[at] {
			seen[at] = true
			at = e.parents[at]
		}
		if at < 0 || at == i || !e.failed[at] {
			continue
		}
		if namesError := e.spans[at].ErrorType != "" || e.spans[at].ErrorMessage != ""; at == e.parents[i] || !namesError {
			own[at] = false
		}
	}
	return own
}

// origins are the spans that failed by themselves in the order in which ErrorChain takes them. There are none where nothing
// failed, or all that did is in a circle.
func (e *spanErrors) origins() []int {
	if e == nil {
		return nil
	}
	var raised, caught, madeGood []int
	for i, own := range e.byThemselves() {
		if !own {
			continue
		}
		above := e.parents[e.tops[i]]
		if last, ok := e.well[e.deed(i)]; ok && last > i {
			madeGood = append(madeGood, i)
		} else if above >= 0 && !e.failed[above] {
			caught = append(caught, i)
		} else {
			raised = append(raised, i)
		}
	}
	return slices.Concat(raised, caught, madeGood)
}

// chain is an origin and what is above it.
func (e *spanErrors) chain(origin int) []int {
	chain := []int{origin}
	seen := map[int]bool{origin: true}
	for at := e.parents[origin]; at >= 0 && !seen[at] && len(chain) < maxChain; at = e.parents[at] {
		chain = append(chain, at)
		seen[at] = true
	}
	return chain
}

// unrecovered are the origins, of a run that ended well, from the first one on after which it did not go on: the topmost step
// that failed with it has none beside it that began no earlier than it ended, and went well; nor was the same done again and
// went well.
func (e *spanErrors) unrecovered(origins []int) []int {
	if e == nil {
		return nil
	}
	type named struct {
		parent uint64
		name   string
	}
	beside := map[uint64][]int{}
	again := map[named]int{}
	for i := range e.spans {
		if s := &e.spans[i]; s.EffectiveStatus() == StatusOK {
			beside[s.ParentSpanID] = append(beside[s.ParentSpanID], i)
			again[named{s.ParentSpanID, s.Name}] = i
		}
	}
	recovered := map[int]bool{} // tops
	for at, origin := range origins {
		top := e.tops[origin]
		if recovered[top] {
			continue
		}
		failed := &e.spans[top]
		last, ok := again[named{failed.ParentSpanID, failed.Name}]
		recovered[top] = ok && e.spans[last].StartTime.After(failed.StartTime) || e.wentOn(failed, beside[failed.ParentSpanID])
		if !recovered[top] {
			return origins[at:]
		}
	}
	return nil
}

// wentOn tells whether one of the spans beside a failed one, which went well, began no earlier than it ended.
func (e *spanErrors) wentOn(failed *Span, beside []int) bool {
	took := Interval{failed.StartTime, failed.StartTime}
	if !IsAbsent(failed.EndTime) {
		took.End = failed.EndTime
	}
	for _, i := range slices.Backward(beside) {
		s := &e.spans[i]
		if took.Precedes(Interval{s.StartTime, s.EndTime}) {
			return true
		}
		if s.StartTime.Before(took.End.Add(-maxRounding)) {
			break // nor do those before it
		}
	}
	return false
}

// maxChain bounds an error chain.
const maxChain = 10_000
