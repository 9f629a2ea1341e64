package runmodel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
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
	// FailingEffects is EffectsRead or EffectsWrite, empty for a step that is no call of a tool, or of which it is unknown.
	FailingEffects string `ch:"failing_effects"`
	FailingType    string `ch:"failing_type"`
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
	// FailureScored is a run without any of these that a score fails. It is not stored: see ScoreFailure.
	FailureScored = "scored"
)

// FingerprintVersion is the prefix of the fingerprints that failureOf makes. Change it with what goes into a
// fingerprint, the masks of messages among it, once a release has made some, so that older ones are recognized.
const FingerprintVersion = "fp:v3:"

// KeyFingerprint is the attribute by which a client groups failures itself.
const KeyFingerprint = "fingerprint"

// Limits of what goes into a fingerprint.
const (
	fingerprintTokens = 8 // of the message
	fingerprintPath   = 3 // steps above the failing one
)

var timeoutWords = regexp.MustCompile(`(?i)time[d ]*-?out|deadline.?exceeded`)

// IsTimeout reports whether an error speaks of a timeout.
func IsTimeout(errorType, message string) bool {
	return timeoutWords.MatchString(errorType) || timeoutWords.MatchString(message)
}

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
	case IsTimeout(origin.ErrorType, origin.ErrorMessage):
		class = FailureTimeout
	}
	f := Failure{
		Class: class, FailingSpanID: origin.SpanID, FailingKind: origin.EffectiveKind(), FailingName: stepName(origin), FailingEffects: origin.effects(),
		FailingType: nameTemplate(origin.ErrorType), FailingTemplate: Template(errorText(origin)),
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
// if no span below it failed with the same error. Candidates come in this order: those whose error reached the root or
// an ancestor, those whose ancestors all failed, those whose error an ancestor caught, and those that the run made
// good. If failing is one of the spans, it comes first in any case: Run.FailingSpanID, which is found with the whole
// messages. It is nil if nothing failed.
func ErrorChain(spans []Span, failing uint64) []int {
	errs := errorsOf(spans)
	if at := slices.IndexFunc(spans, func(s Span) bool { return failing != 0 && s.SpanID == failing }); at >= 0 && errs != nil {
		return errs.chain(at)
	}
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
	// nearest caches failedAbove.
	nearest []int
	// requests are those below calls that did not fail themselves, by call.
	requests map[int]int
	// succeeded holds the last span that succeeded of each operation.
	succeeded map[operation]int
	// operations holds the operation of each span.
	operations []operation
}

// operation identifies what a span does, to recognize that it was done again: the kind and name of the step, and the
// agent that took it. Rounds, nodes and turns of an agent stand between the two, so they do not matter.
type operation struct {
	agent, kind, name string
}

// errorsOf returns nil where nothing failed.
func errorsOf(spans []Span) *spanErrors {
	e := &spanErrors{spans: spans, failed: make([]bool, len(spans)), requests: map[int]int{}}
	for i := range spans {
		e.failed[i] = spans[i].EffectiveStatus() == StatusError
	}
	if !slices.Contains(e.failed, true) {
		return nil
	}
	e.parents = parentsOf(spans)
	e.dropRequests()
	e.findOperations()
	e.findTops()
	return e
}

// parentsOf returns the index of each span's parent, -1 for none.
func parentsOf(spans []Span) []int {
	index := indexOf(spans)
	parents := make([]int, len(spans))
	for i := range spans {
		parents[i] = -1
		if parent, ok := index[spans[i].ParentSpanID]; ok && parent != i {
			parents[i] = parent
		}
	}
	return parents
}

// requestName matches the names of HTTP client spans: OpenTelemetry semantic conventions, docs/http/http-spans.md.
var requestName = regexp.MustCompile(`^(?:HTTP )?(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b`)

// statusType matches error.type of an HTTP client span that got an answer.
var statusType = regexp.MustCompile(`^[1-5]\d\d$`)

// dropRequests leaves out the failed requests below calls of models and tools. They are how the call failed, not what
// failed: if the call is retried or handles the answer, its own status says so.
func (e *spanErrors) dropRequests() {
	for i := range e.spans {
		if !e.failed[i] || e.spans[i].EffectiveKind() != KindSpan {
			continue
		}
		call := e.parents[i]
		for range maxRequestDepth {
			if call < 0 || e.spans[call].EffectiveKind() != KindSpan {
				break
			}
			call = e.parents[call]
		}
		if call < 0 {
			continue
		}
		isRequest := requestName.MatchString(e.spans[i].Name) || statusType.MatchString(e.spans[i].ErrorType)
		if kind := e.spans[call].EffectiveKind(); !e.spans[call].isCall() && (kind != KindTool && kind != KindRetriever || !isRequest) {
			continue
		}
		e.failed[i] = false
		if _, ok := e.requests[call]; !ok && !e.failed[call] {
			e.requests[call] = i
		}
	}
}

// maxRequestDepth limits how many plain spans may stand between a request and its call.
const maxRequestDepth = 8

// findOperations finds the operation of each span, and the last success of each.
func (e *spanErrors) findOperations() {
	e.operations = make([]operation, len(e.spans))
	e.succeeded = map[operation]int{}
	agents := e.agents()
	for i := range e.spans {
		s := &e.spans[i]
		e.operations[i] = operation{agents[i], s.EffectiveKind(), cmp.Or(s.ToolName, nameWithoutModel(s))}
		if s.EffectiveStatus() == StatusOK {
			e.succeeded[e.operations[i]] = i
		}
	}
}

// agents returns the name of the nearest agent above each span, "" for none.
func (e *spanErrors) agents() []string {
	names := make([]string, len(e.spans))
	known := make([]bool, len(e.spans))
	var path []int
	for i := range e.spans {
		path = path[:0]
		at, name := i, ""
		for at >= 0 {
			if known[at] {
				name = names[at]
				break
			}
			known[at] = true // also ends the search where parents form a cycle
			path = append(path, at)
			parent := e.parents[at]
			if parent >= 0 && e.spans[parent].EffectiveKind() == KindAgent {
				name = cmp.Or(e.spans[parent].AgentName, nameWithoutModel(&e.spans[parent]))
				break
			}
			at = parent
		}
		for _, below := range path {
			names[below] = name
		}
	}
	return names
}

// findTops finds the top of each failed span.
func (e *spanErrors) findTops() {
	e.tops = slices.Repeat([]int{-1}, len(e.spans))
	var path []int
	for i := range e.spans {
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
}

// failedAbove returns the nearest failed ancestor of a span, -1 for none. The span itself may have failed.
func (e *spanErrors) failedAbove(i int) int {
	const unknown, none = 0, -1 // else the index plus one
	if e.nearest == nil {
		e.nearest = make([]int, len(e.spans))
	}
	var path []int
	at := e.parents[i]
	for at >= 0 && !e.failed[at] && e.nearest[at] == unknown {
		e.nearest[at] = none // also ends the search where parents form a cycle
		path = append(path, at)
		at = e.parents[at]
	}
	if at >= 0 && !e.failed[at] {
		at = max(e.nearest[at]-1, -1)
	}
	for _, passed := range path {
		e.nearest[passed] = cmp.Or(at+1, none)
	}
	return at
}

// sameError reports whether two failed spans tell of the same error: one has the message of the other, or both have
// data with the same message, or one has no message and both have the same type.
func (e *spanErrors) sameError(a, b int) bool {
	x, y := &e.spans[a], &e.spans[b]
	shorter, longer := errorText(x), errorText(y)
	if len(shorter) > len(longer) {
		shorter, longer = longer, shorter
	}
	if shorter == "" {
		return x.ErrorType != "" && shortType(x.ErrorType) == shortType(y.ErrorType)
	}
	return containsMessage(longer, shorter) || containsMessage(cmp.Or(dataMessage(longer), longer), cmp.Or(dataMessage(shorter), shorter)) ||
		containsMessage(cmp.Or(dataMessage(shorter), shorter), cmp.Or(dataMessage(longer), longer))
}

// containsMessage reports whether a message is the whole or a recognizable part of another one.
func containsMessage(longer, shorter string) bool {
	return longer == shorter || len(shorter) >= minShared && strings.Contains(longer, shorter)
}

// dataMessage returns the message of the error that a message has as JSON or as a Python dict, "" for none:
// Error in agent run: {'error': 'no such city'}.
func dataMessage(message string) string {
	from := strings.IndexByte(message, '{')
	if from < 0 {
		return ""
	}
	found := errorMember.FindStringSubmatch(message[from:])
	if found == nil {
		return ""
	}
	return pythonEscapes.Replace(found[1] + found[2])
}

// errorMember matches a member with the text of an error.
var errorMember = regexp.MustCompile(`['"](?:error|message)['"]: ?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)

// minShared is how many bytes a message must have to be recognized within a longer one.
const minShared = 8

// errorText returns the beginning of an error's message, without the type that clients write before it.
func errorText(s *Span) string {
	message := strings.TrimSpace(s.ErrorMessage[:min(len(s.ErrorMessage), maxBody)])
	for range 2 { // some write it twice
		name, rest, ok := strings.Cut(message, ": ")
		if !ok || s.ErrorType == "" || shortType(name) != shortType(s.ErrorType) {
			break
		}
		message = strings.TrimSpace(rest)
	}
	return message
}

// shortType returns a type without its package.
func shortType(name string) string { return name[strings.LastIndexAny(name, ".:")+1:] }

// namesError reports whether a span says how it failed.
func (s *Span) namesError() bool { return s.ErrorType != "" || s.ErrorMessage != "" }

// explains reports whether a failed span says no more of an error than the span below it that failed as well: nothing,
// or the same.
func (e *spanErrors) explains(below, above int) bool {
	return !e.spans[above].namesError() || e.sameError(above, below)
}

// candidates reports which spans failed on their own: see ErrorChain.
func (e *spanErrors) candidates() []bool {
	own := slices.Clone(e.failed)
	for i := range e.spans {
		if !e.failed[i] {
			continue
		}
		if parent := e.parents[i]; parent >= 0 && e.failed[parent] {
			own[parent] = false
		} else if at := e.failedAbove(e.tops[i]); at >= 0 && at != e.tops[i] && e.explains(i, at) {
			own[at] = false
		}
	}
	for call, request := range e.requests {
		if at := e.failedAbove(call); at >= 0 && e.explains(request, at) {
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
	var reached, raised, caught, madeGood []int
	for i, own := range e.candidates() {
		if !own {
			continue
		}
		end := e.tops[i] // the span in which the error ended up
		if at := e.failedAbove(end); at >= 0 && e.spans[at].namesError() && e.sameError(at, i) {
			end = e.tops[at]
		}
		switch parent := e.parents[end]; {
		case e.doneAgain(i):
			madeGood = append(madeGood, i)
		case end != i && e.spans[end].namesError() && e.sameError(end, i):
			reached = append(reached, i)
		case parent < 0 || e.failed[parent]:
			raised = append(raised, i)
		default:
			caught = append(caught, i)
		}
	}
	return slices.Concat(reached, raised, caught, madeGood, slices.Sorted(maps.Keys(e.requests)))
}

// doneAgain reports whether what failed was done again and succeeded.
func (e *spanErrors) doneAgain(i int) bool {
	last, ok := e.succeeded[e.operations[i]]
	return ok && last > i && e.precedes(i, last)
}

// precedes reports whether a failed span ended before another one started.
func (e *spanErrors) precedes(failed, other int) bool {
	return e.interval(failed).Precedes(Interval{e.spans[other].StartTime, e.spans[other].EndTime})
}

// interval returns when a span ran. One without an end ended when it started.
func (e *spanErrors) interval(i int) Interval {
	took := Interval{e.spans[i].StartTime, e.spans[i].StartTime}
	if !IsAbsent(e.spans[i].EndTime) {
		took.End = e.spans[i].EndTime
	}
	return took
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

// maxChain limits the length of an error chain.
const maxChain = 10_000
