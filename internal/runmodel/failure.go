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

// fingerprintVersion begins fingerprints that are made as failureOf does now. Whoever changes what goes into one makes a
// new version: groups that are known by an old one stay as they are.
const fingerprintVersion = "fp:v1:"

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
	if run.ErrorCount == 0 && run.Status != StatusCancelled && run.Status != StatusError {
		return Failure{}
	}
	chain := ErrorChain(spans)
	root := rootIndex(spans)
	if len(chain) == 0 {
		if run.Status != StatusCancelled && run.Status != StatusError {
			return Failure{}
		}
		chain = []int{root} // nobody says where
	}
	origin := &spans[chain[0]]
	class := FailureError
	switch {
	case run.Status == StatusCancelled:
		class = FailureCancelled
	case run.Status == StatusRunning:
		return Failure{}
	case run.Status != StatusError:
		if recovered(spans, chain) {
			return Failure{}
		}
		class = FailureUnrecovered
	case timeoutWords.MatchString(origin.ErrorType) || timeoutWords.MatchString(origin.ErrorMessage):
		class = FailureTimeout
	}
	f := Failure{
		Class: class, FailingSpanID: origin.SpanID, FailingKind: origin.EffectiveKind(), FailingName: stepName(origin),
		FailingType: Template(origin.ErrorType), FailingTemplate: Template(origin.ErrorMessage),
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
		run.ProjectID.String(), cmp.Or(run.AgentName, Template(run.Name)), class, f.FailingKind, f.FailingName, f.FailingType,
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
	return fingerprintVersion + hex.EncodeToString(sum[:])[:digits]
}

// recovered tells of a run that ended well whether it did so after a failure: the topmost step that failed with it has one
// beside it that began no earlier than it ended, and went well; or the same was done again and went well.
func recovered(spans []Span, chain []int) bool {
	top := chain[0]
	for _, i := range chain[1:] {
		if spans[i].EffectiveStatus() != StatusError {
			break
		}
		top = i
	}
	failed := &spans[top]
	took := Interval{failed.StartTime, failed.StartTime}
	if !IsAbsent(failed.EndTime) {
		took.End = failed.EndTime
	}
	return slices.ContainsFunc(spans, func(s Span) bool {
		return s.ParentSpanID == failed.ParentSpanID && s.SpanID != failed.SpanID && s.EffectiveStatus() == StatusOK &&
			(took.Precedes(Interval{s.StartTime, s.EndTime}) || s.Name == failed.Name && s.StartTime.After(failed.StartTime))
	})
}

// ErrorChain returns the first span that failed by itself, and the spans above it up to the root. A span fails by itself
// where no span below it failed. One after which all spans above it failed as well comes before one that somebody caught,
// and both come before one that was made good: the same was done again, later and beside it, and went well.
func ErrorChain(spans []Span) []int {
	index := indexOf(spans)
	parentOf := func(i int) int {
		if parent, ok := index[spans[i].ParentSpanID]; ok && parent != i {
			return parent
		}
		return -1
	}
	failed := make([]bool, len(spans))
	failedBelow := make([]bool, len(spans)) // a child
	type deed struct {
		parent     uint64
		kind, name string
	}
	deedOf := func(i int) deed {
		return deed{spans[i].ParentSpanID, spans[i].EffectiveKind(), spans[i].Name}
	}
	found := false
	doneWell := map[deed]int{} // the last span that did it well
	for i := range spans {
		switch spans[i].EffectiveStatus() {
		case StatusError:
			failed[i], found = true, true
			if parent := parentOf(i); parent >= 0 {
				failedBelow[parent] = true
			}
		case StatusOK:
			doneWell[deedOf(i)] = i
		}
	}
	if !found {
		return nil
	}
	const madeGood, caught, raised = 1, 2, 3
	origin, best := -1, 0
	for i := range spans {
		if !failed[i] || failedBelow[i] {
			continue
		}
		rank := raised
		if last, ok := doneWell[deedOf(i)]; ok && last > i {
			rank = madeGood
		} else {
			steps := 0 // a bound, since parents may form a cycle
			for at := parentOf(i); at >= 0 && steps < len(spans); at, steps = parentOf(at), steps+1 {
				if !failed[at] {
					rank = caught
					break
				}
			}
		}
		if rank > best {
			origin, best = i, rank
		}
		if best == raised {
			break
		}
	}
	if origin < 0 {
		return nil // all that failed is in a circle
	}
	chain := []int{origin}
	for at := parentOf(origin); at >= 0 && !slices.Contains(chain, at) && len(chain) < maxChain; at = parentOf(at) {
		chain = append(chain, at)
	}
	return chain
}

// maxChain bounds an error chain, which is searched for circles.
const maxChain = 10_000
