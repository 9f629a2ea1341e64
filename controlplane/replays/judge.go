package replays

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
	"github.com/looptrace/looptrace/controlplane/replays/verdict"
)

// judge says whether the edit had an effect, by what the attempts did.
func (t *try) judge(ctx context.Context) (*verdict.Verdict, error) {
	in, err := t.evidence(ctx)
	if err != nil {
		return nil, err
	}
	t.judged = &in
	result := verdict.Of(in)
	return &result, nil
}

// evidence is what the verdict needs to know of the attempts.
func (t *try) evidence(ctx context.Context) (in verdict.Input, err error) {
	stored, err := t.Attempts(ctx, &t.r)
	if err != nil {
		return in, err
	}
	recording := t.source.recording
	in = verdict.Input{
		Mode:      verdict.Mode(t.config.Executor),
		Seed:      verdict.Seed(t.r.RunID.String(), t.config.EditHash, strconv.Itoa(t.r.Controls), strconv.Itoa(t.r.Treatments)),
		DiffEmpty: true, ModelEdited: t.config.editsModel(), Looks: t.r.Looks,
	}
	answer := answerIn(recording)
	outcome := t.graded(ctx, answer)
	was, signatures := doneBy(recording, outcome, answer)
	in.Recorded = runOf(&was, outcome)
	all := []*Did{&was}
	in.Steps = t.steps(signatures, len(stored))
	index := map[string]int{}
	for i := range in.Steps {
		index[in.Steps[i].ID] = i
	}
	for i := range stored {
		a := &stored[i]
		result, err := a.ReadResult()
		if err != nil {
			return in, err
		}
		if result == nil {
			in.Attempts, all = append(in.Attempts, verdict.Attempt{Role: verdict.Role(a.Role), Index: a.Index, Unfinished: a.unfinished()}), append(all, nil)
			continue
		}
		details, err := t.Details(ctx, &t.r, a.Number) // one at a time: those of long runs are large
		if err != nil {
			return in, err
		}
		details.intern()
		attempt := attemptOf(a, result, &details.Did)
		in.Attempts, all = append(in.Attempts, attempt), append(all, &details.Did)
		if a.Role == Treatment && in.Failure == nil && t.config.Executor == engine.ExecutorCassette {
			in.Failure = t.failureIn(a, details.Steps)
		}
		addSignatures(in.Steps, index, i+1, details.Steps, attempt.Unfinished == "")
		if a.Role == Control {
			in.Changes = addChanges(in.Changes, recording, result)
		} else if attempt.Unfinished == "" && attempt.ReachedEdit && details.Did.Bytes != was.Bytes {
			in.DiffEmpty = false
		}
	}
	if in.Structure, in.Answer, err = distances(ctx, all); err != nil {
		return in, err
	}
	in.DiffEmpty = in.DiffEmpty && in.Failure == nil
	if in.Integrity, err = t.integrity(stored, in.Failure != nil); err != nil {
		return in, err
	}
	if t.edits.Structural && len(t.edits.Edits) > 0 {
		structure := timing.Of(recording, t.edits)
		// Where the recorded times are unknown, nothing is proven.
		sameTime := structure.Duration != nil && recording.Duration != nil && *structure.Duration == *recording.Duration
		in.Proven = structure.NoEffect && sameTime
		in.DiffEmpty = in.DiffEmpty && sameTime
	}
	if len(t.edits.Edits) == 0 && t.config.Executor == engine.ExecutorCassette && !slices.Contains(t.downstream, true) {
		in.Proven = in.DiffEmpty // there is nothing to change, and nothing to make anew
	}
	return in, nil
}

// runOf says what the verdict needs to know of a run.
func runOf(d *Did, outcome *float64) verdict.Run {
	return verdict.Run{Outcome: outcome, CostUSD: d.CostUSD, DurationMS: d.DurationMS, Tokens: d.Tokens, Bytes: d.Bytes, Decisions: d.Decisions}
}

// unfinished says in a word or two why an attempt has no end, "" if it has.
func (a *Attempt) unfinished() string {
	switch {
	case a.StopReason != nil && *a.StopReason != engine.StopCompleted:
		return strings.ReplaceAll(string(*a.StopReason), "_", " ")
	case a.Result == nil:
		return string(a.Status)
	}
	return ""
}

// failureIn is the call that times out in an attempt which could not go on after it, nil if there is none.
func (t *try) failureIn(a *Attempt, steps []StepSource) *verdict.Failure {
	if !t.edits.Structural || a.unfinished() == "" || a.Remedy == nil {
		return nil
	}
	made := map[string]bool{}
	for i := range steps {
		made[steps[i].Recorded] = steps[i].Source == engine.SourceEdited
	}
	times := timing.Of(t.source.recording, t.edits).Steps
	for i := range times {
		step := &t.source.recording.Steps[i]
		if times[i].Effect != timing.TimedOut || step.Kind == recorded.KindFrame || !made[step.SpanID] {
			continue
		}
		failure := &verdict.Failure{Scope: "the tool call", Text: fmt.Sprintf("Step %d, %q, times out.", i+1, step.Name), Remedy: *a.Remedy}
		switch {
		case step.Kind == recorded.KindModel:
			failure.Scope = "the model call"
		case *a.StopReason == engine.StopMiss: // the model is told of the failure, which the recorded request does not say
			failure.Scope = "the tool call and the next request"
		}
		return failure
	}
	return nil
}

// integrity is what makes the replay unusable. That no attempt with the edits came to its end does not, where it is known why one failed.
func (t *try) integrity(attempts []Attempt, known bool) (reasons []verdict.Reason, err error) {
	if t.config.Recording != hashOf(t.source.recording) {
		reasons = append(reasons, verdict.Reason{Code: errRecordingChanged.Code, Text: errRecordingChanged.Detail})
	}
	if known {
		return reasons, nil
	}
	var first *Attempt
	for i := range attempts {
		a := &attempts[i]
		if a.Role != Treatment {
			continue
		}
		if a.Result == nil || a.unfinished() == "" {
			return reasons, nil
		}
		if first == nil {
			first = a
		}
	}
	if first != nil && first.Detail != nil && first.Remedy != nil {
		result, err := first.ReadResult()
		if err != nil {
			return nil, err
		}
		why := *first.Detail
		if *first.StopReason == engine.StopModelError && result.Spent.Calls > 0 { // what a provider says stays with the attempt
			why = "A call of the model failed."
		}
		reasons = append(reasons, verdict.Reason{Code: "all_stopped", Text: "No attempt with the edits came to its end. " + why + " " + *first.Remedy})
	}
	return reasons, nil
}

func attemptOf(a *Attempt, r *Result, did *Did) verdict.Attempt {
	batch := r.Batch
	if a.Reused { // of another time
		batch = 0
	}
	var cached *float64
	if r.CachedTokens != nil && r.Spent.InputTokens > 0 {
		cached = new(float64(*r.CachedTokens) / float64(r.Spent.InputTokens))
	}
	return verdict.Attempt{
		Run: runOf(did, r.Outcome), Batch: batch, Models: r.Models, Fingerprints: r.Fingerprints, CachedShare: cached, Unfinished: a.unfinished(), Role: verdict.Role(a.Role), Index: a.Index, ReachedEdit: r.ReachedEdit, DownstreamCalls: r.DownstreamCalls, DownstreamLive: r.DownstreamLive,
		OutsideDifferences: r.OutsideDifferences, Exposure: exposureOf(r.Exposure),
	}
}

func exposureOf(counts map[string]int) verdict.Exposure {
	return verdict.Exposure{
		Stale: counts[string(engine.SourceStale)], Nearest: counts[string(engine.SourceNearest)], Reissued: counts[string(engine.SourceReissued)],
	}
}

// addChanges adds what differs between the models that answered then and now.
func addChanges(changes []verdict.Change, recording *recorded.Recording, result *Result) []verdict.Change {
	var models, fingerprints []string
	for i := range recording.Steps {
		if call := recording.Steps[i].Model; call != nil && call.Response != nil {
			models, fingerprints = append(models, call.Response.Model), append(fingerprints, call.Response.Fingerprint)
		}
	}
	for _, kind := range []struct {
		what      string
		then, now []string
	}{{"model", models, result.Models}, {"system fingerprint", fingerprints, result.Fingerprints}} {
		then := slices.DeleteFunc(kind.then, func(s string) bool { return s == "" })
		for _, now := range kind.now {
			change := verdict.Change{What: kind.what, To: now}
			if len(then) == 0 || slices.Contains(then, now) {
				continue
			}
			if change.From = then[0]; !slices.Contains(changes, change) {
				changes = append(changes, change)
			}
		}
	}
	return changes
}

// distances are those between the runs. They are NaN for a run of which nothing is known, nil here.
func distances(ctx context.Context, all []*Did) (structure, answer [][]float64, err error) {
	structure, answer = make([][]float64, len(all)), make([][]float64, len(all))
	for i := range all {
		structure[i], answer[i] = make([]float64, len(all)), make([]float64, len(all))
	}
	for i, a := range all {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		for j, b := range all[:i+1] {
			calls, words := math.NaN(), math.NaN()
			if a != nil && b != nil {
				calls = a.callsDistance(b)
			}
			if a != nil && b != nil && a.Answer != "" && b.Answer != "" {
				words = a.answerDistance(b)
			}
			structure[i][j], structure[j][i], answer[i][j], answer[j][i] = calls, calls, words, words
		}
	}
	return structure, answer, nil
}

// steps returns the downstream calls, with what the recorded run decided there.
func (t *try) steps(signatures []string, attempts int) []verdict.Step {
	var list []verdict.Step
	for i := range t.source.recording.Steps {
		step := &t.source.recording.Steps[i]
		if t.downstream[i] && step.Kind != recorded.KindFrame {
			all := make([]string, attempts+1)
			all[0] = signatures[i]
			list = append(list, verdict.Step{ID: step.SpanID, Name: fmt.Sprintf("step %d, %s", i+1, step.Name), Signatures: all})
		}
	}
	return list
}

// addSignatures adds what an attempt decided. What one would have done after it stopped is unknown.
func addSignatures(list []verdict.Step, index map[string]int, at int, steps []StepSource, whole bool) {
	for i := range list {
		if whole {
			list[i].Signatures[at] = verdict.Absent
		}
	}
	for i := range steps {
		step := &steps[i]
		if place, ok := index[step.Recorded]; ok && step.SpanID != "" {
			list[place].Signatures[at] = step.Did
		}
	}
}

// intern lets equal hashes share their memory.
func (d *Details) intern() {
	for i := range d.Did.Calls {
		call := &d.Did.Calls[i]
		call.Tool, call.Call = unique.Make(call.Tool).Value(), unique.Make(call.Call).Value()
	}
	for i := range d.Steps {
		d.Steps[i].Did = unique.Make(d.Steps[i].Did).Value()
	}
}
