package replays

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/replay"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/verdict"
)

// judge says whether the edit had an effect, by what the attempts did.
func (t *try) judge(ctx context.Context) (*verdict.Verdict, error) {
	stored, err := t.Attempts(ctx, &t.r)
	if err != nil {
		return nil, err
	}
	recording := t.source.recording
	in := verdict.Input{
		Mode: verdict.Mode(t.config.Executor), Design: verdict.Design{Controls: t.r.Controls, Treatments: t.r.Treatments}, EngineVersion: replay.EngineVersion,
		Seed:      verdict.Seed(t.r.RunID.String(), t.config.EditHash, strconv.Itoa(t.r.Controls), strconv.Itoa(t.r.Treatments)),
		DiffEmpty: true,
	}
	outcome := t.recordedOutcome(ctx)
	recorded, signatures := doneBy(recording, outcome, answerIn(recording))
	in.Recorded = runOf(&recorded, outcome)
	results := make([]*Result, len(stored))
	for i := range stored {
		a := &stored[i]
		if results[i], err = a.ReadResult(); err != nil {
			return nil, err
		}
		if results[i] == nil {
			in.Attempts = append(in.Attempts, verdict.Attempt{Role: verdict.Role(a.Role), Index: a.Index, Unfinished: string(a.Status)})
			continue
		}
		in.Attempts = append(in.Attempts, attemptOf(a, results[i]))
		if a.Role == Control {
			in.Changes = addChanges(in.Changes, recording, results[i])
		} else if results[i].Did.Bytes != recorded.Bytes {
			in.DiffEmpty = false
		}
	}
	in.Structure, in.Answer = distances(&recorded, results)
	in.Steps = t.steps(signatures, results)
	if t.edits.Structural && len(t.edits.Edits) > 0 {
		in.Proven = recording.Structure(t.edits).NoEffect
	}
	result := verdict.Of(in)
	return &result, nil
}

// runOf says what the verdict needs to know of a run.
func runOf(d *Did, outcome *float64) verdict.Run {
	return verdict.Run{Outcome: outcome, CostUSD: d.CostUSD, DurationMS: d.DurationMS, Tokens: d.Tokens, Bytes: d.Bytes, Decisions: d.Decisions}
}

func attemptOf(a *Attempt, r *Result) verdict.Attempt {
	attempt := verdict.Attempt{
		Run: runOf(&r.Did, r.Outcome), Role: verdict.Role(a.Role), Index: a.Index, EnteredCone: r.EnteredCone, ConeCalls: r.ConeCalls, ConeLive: r.ConeLive,
		OutsideDifferences: r.OutsideDifferences, Exposure: exposureOf(r.Exposure),
	}
	if a.StopReason != nil && *a.StopReason != string(replay.StopCompleted) {
		attempt.Unfinished = strings.ReplaceAll(*a.StopReason, "_", " ")
	}
	return attempt
}

func exposureOf(counts map[string]int) verdict.Exposure {
	return verdict.Exposure{
		Copied: counts[string(replay.SourceCopied)] + counts[string(replay.SourceEdited)] + counts[string(replay.SourceFixed)],
		Hit:    counts[string(replay.TierHit)], HitReordered: counts[string(replay.TierReordered)], HitNormalised: counts[string(replay.TierNormalised)],
		Stale: counts[string(replay.SourceStale)], Nearest: counts[string(replay.SourceNearest)], Reissued: counts[string(replay.SourceReissued)],
	}
}

// recordedOutcome says whether the recorded run came to a good end.
func (t *try) recordedOutcome(ctx context.Context) *float64 {
	if t.outcome != nil {
		return t.graded(ctx, answerIn(t.source.recording))
	}
	good := 1.
	if t.source.run.Status == runmodel.StatusError {
		good = 0
	}
	return &good
}

// addChanges adds what differs between the models that answered then and now.
func addChanges(changes []verdict.Change, recording *replay.Recording, result *Result) []verdict.Change {
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

// distances are those between the recorded run and all attempts, in that order. They are NaN for an attempt of which nothing is known.
func distances(recorded *Did, results []*Result) (structure, answer [][]float64) {
	all := []*Did{recorded}
	for _, r := range results {
		if r == nil {
			all = append(all, nil)
		} else {
			all = append(all, &r.Did)
		}
	}
	structure, answer = make([][]float64, len(all)), make([][]float64, len(all))
	for i, a := range all {
		structure[i], answer[i] = make([]float64, len(all)), make([]float64, len(all))
		for j, b := range all {
			structure[i][j], answer[i][j] = math.NaN(), math.NaN()
			if a == nil || b == nil {
				continue
			}
			structure[i][j] = a.callsDistance(b)
			if a.Answer != "" && b.Answer != "" {
				answer[i][j] = a.answerDistance(b)
			}
		}
	}
	return structure, answer
}

// steps returns the calls in the cone, with what each attempt decided there.
func (t *try) steps(signatures []string, results []*Result) []verdict.Step {
	index := map[string]int{}
	var list []verdict.Step
	for i := range t.source.recording.Steps {
		step := &t.source.recording.Steps[i]
		if !t.cone[i] || step.Kind == replay.KindFrame {
			continue
		}
		index[step.SpanID] = len(list)
		all := make([]string, len(results)+1)
		all[0] = signatures[i]
		for j, r := range results {
			if r != nil {
				all[j+1] = verdict.Absent
			}
		}
		list = append(list, verdict.Step{ID: step.SpanID, Name: fmt.Sprintf("step %d, %s", i+1, step.Name), Signatures: all})
	}
	for j, r := range results {
		if r == nil {
			continue
		}
		for i := range r.Steps {
			step := &r.Steps[i]
			if at, ok := index[step.Recorded]; ok && step.SpanID != "" {
				list[at].Signatures[j+1] = step.Did
			}
		}
	}
	return list
}
