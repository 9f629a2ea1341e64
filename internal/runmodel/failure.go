package runmodel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// Failure describes how a run failed. Runs with the same fingerprint failed in the same way. It is part of Run.
type Failure struct {
	// Fingerprint is empty for a run that did not fail.
	Fingerprint string `ch:"fingerprint"`
	Class       string `ch:"failure_class"`
	// FailingSpanID is the span that failed first.
	FailingSpanID uint64 `ch:"failing_span_id"`
	FailingKind   string `ch:"failing_kind"`
	FailingName   string `ch:"failing_name"`
	FailingType   string `ch:"failing_type"`
	// FailingTemplate is the error message with its variable parts masked.
	FailingTemplate string `ch:"failing_template"`
}

// Classes of failures.
const (
	FailureError     = "error"
	FailureTimeout   = "timeout"
	FailureCancelled = "cancelled"
	// FailureUnrecovered is a run that ended well although a step failed and nothing succeeded after it.
	FailureUnrecovered = "unrecovered"
)

// FingerprintVersion is the prefix of the fingerprints that failureOf makes. Change it with what goes into a
// fingerprint, so that older ones are recognized.
const FingerprintVersion = "fp:v2:"

// KeyFingerprint is the attribute by which a client groups failures itself.
const KeyFingerprint = "fingerprint"

// Limits of what goes into a fingerprint.
const (
	fingerprintTokens = 8 // of the message
	fingerprintPath   = 3 // steps above the failing one
)

var timeoutWords = regexp.MustCompile(`(?i)time[d ]*-?out|deadline.?exceeded`)

// failureOf describes how a run failed. Its spans must be in start order. It returns the zero value for a run that
// did not fail. It reads kinds, names and errors of spans, never what a model wrote.
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
		chain = []int{root} // no span says where
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

// ErrorChain returns the span at which a run failed, followed by its ancestors up to the root. A span is a candidate
// if no span below it failed. It is also one if it names an error and a span in between succeeded. Candidates whose
// ancestors all failed come first, then those whose error an ancestor caught, then those that were retried: a later
// sibling with the same kind and name succeeded.
func ErrorChain(spans []Span) []int {
	errs := errorsOf(spans)
	origins := errs.origins()
	if len(origins) == 0 {
		return nil
	}
	return errs.chain(origins[0])
}

// spanErrors describes the failed spans of a run. The spans are in start order.
type spanErrors struct {
	spans   []Span
	parents []int // -1 for none
	failed  []bool
	// tops holds for each failed span its highest ancestor up to which all failed.
	tops []int
	// succeeded holds the last span that succeeded of each operation.
	succeeded map[operation]int
}

// operation identifies what a span does, to recognize a retry.
type operation struct {
	parent     uint64
	kind, name string
}

func (e *spanErrors) operation(i int) operation {
	return operation{e.spans[i].ParentSpanID, e.spans[i].EffectiveKind(), e.spans[i].Name}
}

// errorsOf returns nil where nothing failed.
func errorsOf(spans []Span) *spanErrors {
	e := &spanErrors{spans: spans, parents: make([]int, len(spans)), failed: make([]bool, len(spans)), tops: make([]int, len(spans)), succeeded: map[operation]int{}}
	for i := range spans {
		switch spans[i].EffectiveStatus() {
		case StatusError:
			e.failed[i] = true
		case StatusOK:
			e.succeeded[e.operation(i)] = i
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
			e.tops[at] = at // also ends the search where parents form a cycle
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

// candidates reports which spans failed on their own: see ErrorChain.
func (e *spanErrors) candidates() []bool {
	own := slices.Clone(e.failed)
	seen := make([]bool, len(e.spans)) // spans that did not fail and have a failed descendant
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

// origins returns the candidates in the order of ErrorChain. It is empty if nothing failed, or if all failed spans
// form a cycle.
func (e *spanErrors) origins() []int {
	if e == nil {
		return nil
	}
	var raised, caught, madeGood []int
	for i, own := range e.candidates() {
		if !own {
			continue
		}
		above := e.parents[e.tops[i]]
		if last, ok := e.succeeded[e.operation(i)]; ok && last > i {
			madeGood = append(madeGood, i)
		} else if above >= 0 && !e.failed[above] {
			caught = append(caught, i)
		} else {
			raised = append(raised, i)
		}
	}
	return slices.Concat(raised, caught, madeGood)
}

// chain returns an origin and its ancestors.
func (e *spanErrors) chain(origin int) []int {
	chain := []int{origin}
	seen := map[int]bool{origin: true}
	for at := e.parents[origin]; at >= 0 && !seen[at] && len(chain) < maxChain; at = e.parents[at] {
		chain = append(chain, at)
		seen[at] = true
	}
	return chain
}

// unrecovered returns the origins of a run that ended well, starting with the first one that the run did not recover
// from. A run recovers from a failure if a sibling of the topmost failed span started after it ended and succeeded,
// or if a later sibling of the same name succeeded.
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

// wentOn reports whether one of the successful siblings of a failed span started after it ended.
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
			break // earlier ones did not either
		}
	}
	return false
}

// maxChain limits the length of an error chain.
const maxChain = 10_000
