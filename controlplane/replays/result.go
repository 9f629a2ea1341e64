package replays

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/work"
)

// Result is what an attempt was like, without texts of it.
type Result struct {
	// Outcome is what the grader says: 1 for a good end and 0 for another, or a score; nil if it is unknown.
	Outcome *float64 `json:"outcome"`
	// Spent is what its calls of models took. Exposure counts model calls and tool calls by where they come from.
	Spent    engine.Spent   `json:"spent"`
	Exposure map[string]int `json:"exposure"`
	Warnings []string       `json:"warnings"`
	// DurationMS is that of the run, nil if it is unknown.
	DurationMS *float64 `json:"duration_ms"`
	// DownstreamCalls counts downstream calls, DownstreamLive those of them that were made. ReachedEdit is whether there are any.
	DownstreamCalls int  `json:"cone_calls"`
	DownstreamLive  int  `json:"cone_live"`
	ReachedEdit     bool `json:"entered_cone"`
	// OutsideDifferences counts steps that differ and that the edit cannot have changed.
	OutsideDifferences int `json:"outside_differences"`
	// Models and Fingerprints are those of answers that were made.
	Models       []string `json:"models"`
	Fingerprints []string `json:"fingerprints"`
	// CachedTokens are the input tokens that came from a provider's cache, nil if no answer says.
	CachedTokens *int64 `json:"cached_tokens,omitempty"`
	// Batch is the job that made the attempt. Those of one job were made together, controls and treatments in turn.
	Batch int64 `json:"batch"`
}

// Details are what an attempt did at its steps, without texts of it. Those of a long run are large.
type Details struct {
	Did Did `json:"did"`
	// Steps are where the steps of the attempt's run come from.
	Steps []StepSource `json:"steps"`
}

// StepSource is where a step of an attempt comes from.
type StepSource struct {
	// SpanID is that of the attempt's run, empty for a step that was not reached. Recorded is that of the recorded run, empty for a new step.
	SpanID   string        `json:"span_id,omitempty"`
	Recorded string        `json:"recorded,omitempty"`
	Source   engine.Source `json:"source"`
	Tier     engine.Tier   `json:"tier,omitempty"`
	InCone   bool          `json:"in_cone,omitempty"`
	Outside  bool          `json:"outside,omitempty"`
	// Did is a hash of what was decided, empty for a step that is no call.
	Did string `json:"did,omitempty"`
}

// ReadResult returns what the attempt was like, nil before its end.
func (a *Attempt) ReadResult() (*Result, error) {
	if a.Result == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var result Result
	if err := json.Unmarshal([]byte(*a.Result), &result); err != nil {
		return nil, fmt.Errorf("read the result of attempt %d: %w", a.Number, err)
	}
	return &result, nil
}

// result describes an attempt that ended.
func (m *making) result(ctx context.Context, made *engine.Attempt) (*Result, *Details, error) {
	r, d := &Result{Spent: made.Spent, Exposure: made.Exposure, Models: []string{}, Fingerprints: []string{}}, &Details{}
	if made.Stop.Reason == engine.StopCompleted {
		var err error
		if r.Outcome, err = m.judged(ctx, made); err != nil {
			return nil, nil, err
		}
	}
	r.Warnings = m.warnings
	if job, _ := work.JobOf(ctx); job != nil {
		r.Batch = *job
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	var n noting
	did := make([]string, len(made.Steps))
	for _, i := range inOrder(made.Steps) {
		did[i] = n.addStep(m.source.recording, &made.Steps[i])
	}
	for i := range made.Steps {
		step := &made.Steps[i]
		isDownstream := step.Recorded < 0 || m.downstream[step.Recorded]
		cut := made.Stop.Reason != engine.StopCompleted && step.Source == engine.SourceNotReached
		from := StepSource{Recorded: step.SpanID, Source: step.Source, Tier: step.Tier, InCone: isDownstream, Outside: step.Differs && !isDownstream && !cut}
		if step.Source != engine.SourceNotReached && !step.Unrecorded {
			from.SpanID = m.spanID(step)
		}
		if from.Outside {
			r.OutsideDifferences++
		}
		call := step.Kind != recorded.KindFrame && step.Source != engine.SourceNotReached
		from.Did = did[i]
		d.Steps = append(d.Steps, from)
		if !call {
			continue
		}
		if isDownstream {
			r.ReachedEdit = true
			r.DownstreamCalls++
		}
		if step.Source == engine.SourceReissued {
			if isDownstream {
				r.DownstreamLive++
			}
			r.answered(step.Response)
		}
	}
	r.DurationMS = milliseconds(made.Duration)
	d.Did = n.end(r.Outcome, made.Answer)
	d.Did.DurationMS = r.DurationMS
	return r, d, nil
}

// answered keeps which model answered, and what its provider's cache had.
func (r *Result) answered(response *recorded.Response) {
	if response == nil {
		return
	}
	if response.Model != "" && !slices.Contains(r.Models, response.Model) {
		r.Models = append(r.Models, response.Model)
	}
	if response.Fingerprint != "" && !slices.Contains(r.Fingerprints, response.Fingerprint) {
		r.Fingerprints = append(r.Fingerprints, response.Fingerprint)
	}
	if u := response.Usage; u != nil && u.CacheRead != nil {
		if r.CachedTokens == nil {
			r.CachedTokens = new(int64(0))
		}
		*r.CachedTokens += *u.CacheRead
	}
}

// graded grades an answer, nil if there is none, it cannot be graded, or no grader was given: that an attempt came to an answer says
// nothing of how good that is.
func (t *try) graded(ctx context.Context, answer *string) *float64 {
	if t.outcome == nil || answer == nil {
		return nil
	}
	result := t.outcome.Grade(ctx, &grader.Sample{Input: jsonOf(t.source.run.Inputs), Output: textOf(*answer)})
	return result.Score
}
