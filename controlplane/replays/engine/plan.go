package engine

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
)

// Fate is what an attempt would do with a recorded step.
type Fate string

// The fates.
const (
	FateCopied Fate = "copied"
	FateServed Fate = "served"
	// FateLive: the model would be called.
	FateLive Fate = "live"
	// FateUnknown: it depends on an answer that nobody has yet, or the attempt would have stopped before.
	FateUnknown Fate = "unknown"
)

// Plan is what an attempt would do. Calls that only the attempt would make are not part of it.
type Plan struct {
	// Steps are those of the recording, in its order.
	Steps []PlanStep `json:"steps"`
	// Fork is the first step that is not copied, -1 if all are.
	Fork int `json:"fork"`
	// Counts are the model calls and tool calls by their fate.
	Counts map[Fate]int `json:"counts"`
	// Stop is where the attempt would end for certain. Its reason is StopCompleted if nothing is known that ends it early.
	Stop Stop `json:"stop"`
	// Calls estimate the live model calls of one attempt.
	Calls Estimates `json:"calls"`
	// Missing is what the recording lacks, as in Replayability.
	Missing []recorded.Missing `json:"missing,omitempty"`
	// Warnings are about what weakens a verdict.
	Warnings []Warning `json:"warnings,omitempty"`
}

// WarnSideEffects is the code of the warning that tools count as writing because nothing is known of them.
const WarnSideEffects = "side_effects_unknown"

// Warning is what weakens a verdict. Detail says in a sentence what it is, Remedy what to do about it.
type Warning struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// PlanStep is what an attempt would do with a recorded step.
type PlanStep struct {
	Recorded int           `json:"recorded"`
	SpanID   string        `json:"span_id"`
	Kind     recorded.Kind `json:"kind"`
	Name     string        `json:"name"`
	Fate     Fate          `json:"fate"`
	// Edits are the indexes of the edits that change the step.
	Edits []int `json:"edits,omitempty"`
	// InCone reports that the step can depend on the edit: see Recording.Downstream.
	InCone bool `json:"in_cone"`
	// OnMiss says of a tool call of the fate unknown what happens if the recording does not have it.
	OnMiss OnMiss `json:"on_miss,omitempty"`
	// SideEffects is the class that counts for a tool call.
	SideEffects recorded.SideEffects `json:"side_effects,omitempty"`
	// Note says why, if it is not plain.
	Note string `json:"note,omitempty"`
}

// Estimates are the least, the likely and the most of the live calls of an attempt. The least is one call for each loop that
// is live, the likely as many as recorded, the most as many as the step limit allows, each as large as the largest.
type Estimates struct {
	Least  Estimate `json:"least"`
	Likely Estimate `json:"likely"`
	Most   Estimate `json:"most"`
}

// Estimate is the size of some model calls.
type Estimate struct {
	Calls int `json:"calls"`
	// ByModel are the tokens by the name of the model.
	ByModel map[string]Tokens `json:"by_model"`
}

// Tokens are those of some calls. Guessed counts the calls whose tokens were not recorded: they are guessed from the
// length of the texts, with 2.7 bytes a token.
type Tokens struct {
	Calls   int64 `json:"calls"`
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Guessed int64 `json:"guessed"`
}

// callSize is the size of a live call.
type callSize struct {
	loop          int
	model         string
	input, output int64
	guessed       bool
}

// MakePlan says what an attempt would do. No call is made.
func MakePlan(recording *recorded.Recording, edits *edit.Checked, options Options) (*Plan, error) {
	options.Done, options.Store, options.Limit = nil, nil, nil
	e, err := newEngine(recording, edits, options)
	if err != nil {
		return nil, err
	}
	e.dry = true
	e.fates, e.notes = make([]Fate, len(e.Steps)), make([]string, len(e.Steps))
	if err := e.walk(context.Background()); err != nil {
		return nil, err
	}
	if !slices.Contains(e.fates, FateLive) {
		attempt, err := e.finish(context.Background())
		if err != nil {
			return nil, err
		}
		e.settleFates(attempt)
	}
	return e.plan(), nil
}

// settleFates takes the fates from an attempt that calls no model: it is as every attempt with the same edits.
func (e *engine) settleFates(attempt *Attempt) {
	for n := range attempt.Steps {
		step := &attempt.Steps[n]
		i := step.Recorded
		if i < 0 {
			continue
		}
		switch {
		case step.Source == SourceCopied:
			e.fates[i] = FateCopied
		case step.Source != SourceNotReached && (step.Kind != recorded.KindFrame || step.Outputs != "" || e.Steps[i].Outputs == ""):
			e.fates[i] = FateServed
		default: // it is not reached, or only the program could make its output
			e.fates[i] = FateUnknown
		}
	}
}

// planCall notes a call of the model that the attempt would make. What follows its answer is unknown.
func (e *engine) planCall(i, base int, request *recorded.Request) {
	run := &e.runs[e.Steps[base].Loop]
	run.awaits, run.own, run.diverged = true, true, true
	if i < 0 {
		e.size(base, request)
		return
	}
	e.fate(i, FateLive, "")
	e.size(i, request)
	e.await(i)
}

// await notes that the outputs of a recorded model call are not those of the attempt.
func (e *engine) await(i int) {
	for _, text := range e.OutputsOf(i) {
		if text = strings.TrimSpace(text); text != "" {
			e.open[text] = true
		}
	}
}

// expect notes a recorded call that the attempt would make if the model goes on as recorded.
func (e *engine) expect(i int) {
	if e.options.Executor != ExecutorServer {
		e.fate(i, FateUnknown, "")
		return
	}
	effect := e.structure.Steps[i].Effect
	if effect == timing.TimedOut || effect == timing.Censored || e.hasEdit(i, func(s *edit.Set) bool { return len(s.Response) > 0 }) {
		e.fate(i, FateUnknown, "If the model goes on as recorded, the edit decides.")
		return
	}
	e.fate(i, FateLive, "If the model goes on as recorded.")
	request := e.Steps[i].Model.Request.Clone()
	e.applyEdits(&request, e.Steps[i].Loop, i, i)
	e.size(i, &request)
	e.await(i)
}

// size notes the size of a live call: as recorded, or guessed from its texts.
func (e *engine) size(i int, request *recorded.Request) {
	s := &e.Steps[i]
	size := callSize{loop: s.Loop, model: request.Model, guessed: true}
	if response := s.Model.Response; response != nil && response.Usage != nil && response.Usage.Input != nil && response.Usage.Output != nil {
		size.input, size.output, size.guessed = *response.Usage.Input, *response.Usage.Output, false
	} else {
		length := 0
		for _, list := range [][]json.RawMessage{request.Messages, request.Tools} {
			for _, raw := range list {
				length += len(raw)
			}
		}
		size.input = tokensOf(length)
		if response != nil {
			size.output = tokensOf(len(response.Message))
		}
	}
	e.sizes = append(e.sizes, size)
}

// tokensOf guesses tokens from a length: 2.7 bytes a token, which is more than most texts have.
func tokensOf(length int) int64 {
	const bytesPerToken = 2.7
	return int64(math.Ceil(float64(length) / bytesPerToken))
}

// plan puts the plan together.
func (e *engine) plan() *Plan {
	out := &Plan{Fork: -1, Counts: map[Fate]int{}, Stop: Stop{Reason: StopCompleted, Recorded: -1}, Missing: e.Replayability.Missing}
	if e.stop != nil {
		out.Stop = *e.stop
	}
	unknown := map[string]bool{}
	awaits := e.awaitsBelow()
	for i := range e.Steps {
		s := &e.Steps[i]
		step := PlanStep{Recorded: i, SpanID: s.SpanID, Kind: s.Kind, Name: s.Name, Fate: e.fates[i], Note: e.notes[i], Edits: e.edits.ByStep[i], InCone: e.downstream[i]}
		switch {
		case step.Fate != "":
		case !e.downstream[i] && (e.stop == nil || e.beforeStop(i)):
			step.Fate = FateCopied
		case s.Kind == recorded.KindFrame && e.stop == nil && !awaits[i]:
			step.Fate = FateCopied
		default:
			step.Fate = FateUnknown
		}
		if step.Fate == FateUnknown && step.Note == "" && e.stop != nil && !e.beforeStop(i) {
			step.Note = "The attempt ends before."
		}
		if s.Kind == recorded.KindTool {
			step.SideEffects = e.tape.class(s.Tool.Name)
			if step.Fate == FateUnknown {
				if step.OnMiss = e.tape.policy(s.Tool.Name).OnMiss; step.OnMiss == "" {
					step.OnMiss = MissStop
				}
			}
			if e.downstream[i] && e.tape.policy(s.Tool.Name).SideEffects == "" && e.Effects[s.Tool.Name] == "" {
				unknown[s.Tool.Name] = true
			}
		}
		if s.Kind != recorded.KindFrame {
			out.Counts[step.Fate]++
			if out.Fork < 0 && step.Fate != FateCopied {
				out.Fork = i
			}
		}
		out.Steps = append(out.Steps, step)
	}
	if len(unknown) > 0 {
		names := slices.Sorted(maps.Keys(unknown))
		for i := range names {
			names[i] = strconv.Quote(names[i])
		}
		out.Warnings = append(out.Warnings, Warning{
			Code: WarnSideEffects,
			Detail: "Nothing says whether these tools change anything: " + strings.Join(names, ", ") +
				". They count as tools that write: after a call that was not recorded, recorded results may no longer hold.",
			Remedy: "Say which of them only read.",
		})
	}
	e.estimate(&out.Calls)
	return out
}

// awaitsBelow reports for each step whether something below it is not copied.
func (e *engine) awaitsBelow() []bool {
	awaits := make([]bool, len(e.Steps))
	for i := len(e.Steps) - 1; i >= 0; i-- { // a parent comes before its children
		if parent := e.Steps[i].Parent; parent >= 0 && (awaits[i] || e.fates[i] != "" && e.fates[i] != FateCopied) {
			awaits[parent] = true
		}
	}
	return awaits
}

// estimate sums up the live calls.
func (e *engine) estimate(out *Estimates) {
	out.Least.ByModel, out.Likely.ByModel, out.Most.ByModel = map[string]Tokens{}, map[string]Tokens{}, map[string]Tokens{}
	if len(e.sizes) == 0 {
		return
	}
	loops := map[int]bool{}
	largest := map[string]callSize{}
	for _, size := range e.sizes {
		out.Likely.add(size, 1)
		if !loops[size.loop] {
			loops[size.loop] = true
			out.Least.add(size, 1)
		}
		big := largest[size.model]
		largest[size.model] = callSize{model: size.model, input: max(big.input, size.input), output: max(big.output, size.output), guessed: big.guessed || size.guessed}
	}
	// Models share the calls that the limit leaves as they share the likely ones.
	left := int64(max(e.maxSteps-e.counted+len(loops), len(e.sizes)))
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		share := left * int64(e.sizesOf(name)) / int64(len(e.sizes))
		out.Most.add(largest[name], max(share, int64(e.sizesOf(name))))
	}
}

func (e *engine) sizesOf(model string) int {
	n := 0
	for _, size := range e.sizes {
		if size.model == model {
			n++
		}
	}
	return n
}

func (e *Estimate) add(size callSize, calls int64) {
	tokens := e.ByModel[size.model]
	tokens.Calls += calls
	tokens.Input += calls * size.input
	tokens.Output += calls * size.output
	if size.guessed {
		tokens.Guessed += calls
	}
	e.ByModel[size.model] = tokens
	e.Calls += int(calls)
}
