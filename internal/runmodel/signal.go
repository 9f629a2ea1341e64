package runmodel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Signals of a run: it looks wrong, though it may have no error. They are classes of groups beside those of failures, and change neither
// the status nor the outcome of the run.
const (
	// SignalRepeatedCall is the same call of a tool three times without progress between.
	SignalRepeatedCall = "repeated_call"
	// SignalEmptyAnswer is a last answer with nothing in it, SignalCutAnswer one that ended at the limit of its length.
	SignalEmptyAnswer = "empty_answer"
	SignalCutAnswer   = "cut_answer"
	// SignalUnusedError is a tool's error that the run went on from as if nothing had happened.
	SignalUnusedError = "unused_error"
	// These are beyond what is usual for the agent: see Usual.
	SignalSlow       = "slow"
	SignalExpensive  = "expensive"
	SignalManyTokens = "many_tokens"
)

// AllSignals are the signals in their order.
var AllSignals = []string{
	SignalRepeatedCall, SignalEmptyAnswer, SignalCutAnswer, SignalUnusedError, SignalSlow, SignalExpensive, SignalManyTokens,
}

// SignalFingerprint is the prefix of the fingerprints of groups of runs with a signal.
const SignalFingerprint = "fp:g1:"

// SignalsVersion numbers the rules of signals. Change it with them: `looptrace derive` derives runs of earlier versions again.
const SignalsVersion = 1

// RunSignals are the signals of a run: parallel lists. They are part of Run.
type RunSignals struct {
	Signals []string `ch:"signals"`
	// SignalSpanIDs, SignalKinds, SignalNames and SignalEffects are the step of each.
	SignalSpanIDs []uint64 `ch:"signal_span_ids"`
	SignalKinds   []string `ch:"signal_kinds"`
	SignalNames   []string `ch:"signal_names"`
	SignalEffects []string `ch:"signal_effects"` // as Failure.FailingEffects
	// SignalFingerprints are the groups. Runs of one agent with the same signal at the same step are a group.
	SignalFingerprints []string `ch:"signal_fingerprints"`
	// SignalsUnknown are those about which nothing is known, because something was not recorded or too few runs came before.
	SignalsUnknown []string `ch:"signals_unknown"`
	// SignalsVersion is that of the rules, 0 for a run that was stored before there were any, or is too long for them.
	SignalsVersion uint8 `ch:"signals_version"`
}

// addSignal notes a signal at a step.
func (r *Run) addSignal(signal string, step *Span) {
	const longest = 200 // lists cut names behind that
	name := utf8text.Bytes(stepName(step), longest)
	sum := sha256.Sum256([]byte(strings.Join([]string{r.ProjectID.String(), r.scorePeers(), signal, name}, "\x00")))
	r.Signals = append(r.Signals, signal)
	r.SignalSpanIDs = append(r.SignalSpanIDs, step.SpanID)
	r.SignalKinds = append(r.SignalKinds, step.EffectiveKind())
	r.SignalNames = append(r.SignalNames, name)
	r.SignalEffects = append(r.SignalEffects, step.effects())
	r.SignalFingerprints = append(r.SignalFingerprints, SignalFingerprint+hex.EncodeToString(sum[:scoreHash]))
}

// DropSignals removes signals.
func (r *Run) DropSignals(off []string) {
	if len(off) == 0 {
		return
	}
	kept := RunSignals{SignalsVersion: r.SignalsVersion}
	for i, signal := range r.Signals {
		if !slices.Contains(off, signal) {
			kept.Signals = append(kept.Signals, signal)
			kept.SignalSpanIDs = append(kept.SignalSpanIDs, r.SignalSpanIDs[i])
			kept.SignalKinds = append(kept.SignalKinds, r.SignalKinds[i])
			kept.SignalNames = append(kept.SignalNames, r.SignalNames[i])
			kept.SignalEffects = append(kept.SignalEffects, r.SignalEffects[i])
			kept.SignalFingerprints = append(kept.SignalFingerprints, r.SignalFingerprints[i])
		}
	}
	for _, signal := range r.SignalsUnknown {
		if !slices.Contains(off, signal) {
			kept.SignalsUnknown = append(kept.SignalsUnknown, signal)
		}
	}
	r.RunSignals = kept
}

// FailAs gives a run the signal of a fingerprint as its failure, as a member of that group.
func (r *Run) FailAs(fingerprint string) {
	at := slices.Index(r.SignalFingerprints, fingerprint)
	if at < 0 {
		return
	}
	r.Failure = Failure{
		Fingerprint: fingerprint, Class: r.Signals[at], FailingSpanID: r.SignalSpanIDs[at], FailingKind: r.SignalKinds[at], FailingName: r.SignalNames[at],
		FailingEffects: r.SignalEffects[at],
	}
}

// ForgetSignals makes the signals unknown: what is known of the run is a part of it.
func (r *Run) ForgetSignals() { r.RunSignals = RunSignals{} }

// findSignals finds the signals that need only the run itself. Spans are in start order, and calls and tools are indexes of them.
func (r *Run) findSignals(spans []Span, index map[uint64]int, calls, tools []int) {
	r.SignalsVersion = SignalsVersion
	if r.Status == StatusRunning || !r.GenAI {
		return
	}
	steps := signalSteps{spans, index, calls, tools}
	steps.repeated(r)
	if r.Status == StatusOK && r.Fingerprint == "" {
		steps.answer(r)
		steps.unused(r)
	}
}

type signalSteps struct {
	spans        []Span
	index        map[uint64]int
	calls, tools []int
}

// agentOf returns the nearest agent above a span, -1 for none: what one of two agents did is no repetition of what the other did.
func (s *signalSteps) agentOf(i int) int {
	const most = 256 // that a chain of spans does not take the square of its length
	for range most {
		parent, ok := s.index[s.spans[i].ParentSpanID]
		if !ok {
			break
		}
		if i = parent; s.spans[i].EffectiveKind() == KindAgent {
			return i
		}
	}
	return -1
}

// repeats is how often a call must occur without progress.
const repeats = 3

// repeated looks for a call of a tool that an agent made three times with the same arguments, and that either failed each time, or all of the
// agent's calls in between brought nothing new: each was made before and had the result of the last time, or failed. A call whose arguments or
// result were not recorded may bring something new.
func (s *signalSteps) repeated(run *Run) {
	type call struct {
		agent     int
		tool      string
		arguments uint64
	}
	results := map[call]uint64{}
	failures := map[call]int{}        // since the last success
	stalled := map[int]map[call]int{} // by agent, how often each call was made since the last progress
	known := false
	for _, i := range s.tools {
		step := &s.spans[i]
		made := call{s.agentOf(i), cmp.Or(step.ToolName, step.Name), step.CallHash}
		before, again := results[made]
		failed := step.EffectiveStatus() == StatusError || step.Said == SaidError
		known = known || step.CallHash != 0
		results[made] = step.ResultHash
		if made.arguments == 0 || !again || !failed && (step.ResultHash == 0 || step.ResultHash != before) {
			stalled[made.agent] = map[call]int{}
		}
		if made.arguments == 0 {
			continue
		}
		if failures[made]++; !failed {
			failures[made] = 0
		}
		if stalled[made.agent][made]++; stalled[made.agent][made] == repeats || failures[made] == repeats {
			run.addSignal(SignalRepeatedCall, step)
			return
		}
	}
	if len(s.tools) > 0 && !known {
		run.SignalsUnknown = append(run.SignalsUnknown, SignalRepeatedCall)
	}
}

// cutReasons are the finish reasons of an answer that ended at a limit of its length: OpenAI, Anthropic, Google, Mistral, OpenAI Responses.
var cutReasons = []string{"length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens", "model_context_window_exceeded"}

// answer judges the last answer of a model.
func (s *signalSteps) answer(run *Run) {
	if len(s.calls) == 0 {
		return
	}
	last := s.lastCall()
	switch {
	case len(last.FinishReasons) == 0:
		run.SignalsUnknown = append(run.SignalsUnknown, SignalCutAnswer)
	case slices.ContainsFunc(last.FinishReasons, func(reason string) bool { return slices.Contains(cutReasons, reason) }):
		run.addSignal(SignalCutAnswer, last)
	}
	switch {
	case last.Said == "" && last.OutputPreview == "":
		run.SignalsUnknown = append(run.SignalsUnknown, SignalEmptyAnswer)
	case last.Said == SaidNothing && !s.answeredAbove(last):
		run.addSignal(SignalEmptyAnswer, last)
	}
}

// lastCall returns the call of a model that ended last.
func (s *signalSteps) lastCall() *Span {
	last := &s.spans[s.calls[0]]
	for _, i := range s.calls {
		if !s.spans[i].EndTime.Before(last.EndTime) {
			last = &s.spans[i]
		}
	}
	return last
}

// answeredAbove reports whether a step above a call has an output of its own: the program answers in the model's stead.
func (s *signalSteps) answeredAbove(call *Span) bool {
	for range maxRounds {
		parent, ok := s.index[call.ParentSpanID]
		if !ok {
			return false
		}
		if call = &s.spans[parent]; call.OutputPreview != "" && !call.OutputCalls {
			return true
		}
	}
	return false
}

// unused looks for a tool's error that the run passed over: the agent's next call of a model gave the answer, which does not speak of it,
// and no call of a tool followed, nor had the same tool been called again. An agent that calls any tool afterwards may have found another way.
func (s *signalSteps) unused(run *Run) {
	var failed *Span
	resultKnown, answerKnown := false, true
	var lastTool time.Time
	last := map[string]int{} // call of each tool
	for _, i := range s.tools {
		lastTool = later(lastTool, s.spans[i].StartTime)
		last[cmp.Or(s.spans[i].ToolName, s.spans[i].Name)] = i
	}
	calls := map[int][]int{} // by agent
	for _, i := range s.calls {
		agent := s.agentOf(i)
		calls[agent] = append(calls[agent], i)
	}
	for _, i := range s.tools {
		step := &s.spans[i]
		resultKnown = resultKnown || step.Said != ""
		if step.EffectiveStatus() != StatusError && step.Said != SaidError || last[cmp.Or(step.ToolName, step.Name)] != i {
			continue
		}
		own := calls[s.agentOf(i)]
		at, _ := slices.BinarySearchFunc(own, step.EndTime.Add(-maxRounding), func(call int, end time.Time) int { return s.spans[call].StartTime.Compare(end) })
		if at == len(own) {
			continue
		}
		next := &s.spans[own[at]]
		if next.EffectiveStatus() != StatusOK || lastTool.After(next.StartTime) {
			continue
		}
		answerKnown = answerKnown && next.Said != "" && next.Said != SaidUnread
		if next.Said == SaidText {
			failed = step
		}
	}
	switch {
	case failed != nil:
		run.addSignal(SignalUnusedError, failed)
	case len(s.tools) > 0 && (!resultKnown || !answerKnown):
		run.SignalsUnknown = append(run.SignalsUnknown, SignalUnusedError)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Usual is what is usual for the runs of an agent, or of a name without an agent: the values that at most one run in 200 exceeds, and that
// are at least twice the median. A member is nil if too few runs came before.
type Usual struct {
	Duration *time.Duration
	CostUSD  *float64
	Tokens   *int64
}

// HasUsual reports whether a run is compared with those before it: it has ended, and a program of the user made it.
func (r *Run) HasUsual() bool {
	return r.SignalsVersion > 0 && r.GenAI && r.Status != StatusRunning && r.Source == SourceUser && !IsAbsent(r.EndTime)
}

// CompareWith adds the signals of a run that is beyond what is usual.
func (r *Run) CompareWith(usual Usual) {
	root := Span{SpanID: r.RootSpanID, Name: r.Name, Kind: r.Kind}
	judge := func(signal string, known, beyond bool) {
		switch {
		case !known:
			r.SignalsUnknown = append(r.SignalsUnknown, signal)
		case beyond:
			r.addSignal(signal, &root)
		}
	}
	judge(SignalSlow, usual.Duration != nil, usual.Duration != nil && r.EndTime.Sub(r.StartTime) > *usual.Duration)
	judge(SignalExpensive, usual.CostUSD != nil && r.CostUSD != nil, usual.CostUSD != nil && r.CostUSD != nil && *r.CostUSD > *usual.CostUSD)
	tokens := r.TotalTokens()
	judge(SignalManyTokens, usual.Tokens != nil && tokens != nil, usual.Tokens != nil && tokens != nil && *tokens > *usual.Tokens)
}

// TotalTokens returns the input, output and other tokens of the run, nil if none is known.
func (r *Run) TotalTokens() (total *int64) {
	for _, part := range [...]*int64{r.InputTokens, r.OutputTokens, r.OtherTokens} {
		add(&total, part, MaxTokens)
	}
	return total
}
