package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// maxComment is the length of the comment of a score.
	maxComment = 4000
)

// outcome is what became of a run. The zero value is of one that the worker does not have any more.
type outcome struct {
	RunID  uuid.UUID `json:"run_id"`
	Status RunStatus `json:"status"`
	// NextAttempt is for a pending run.
	NextAttempt *time.Time      `json:"next_attempt"`
	Attempted   bool            `json:"attempted"`
	ErrorCode   *string         `json:"error_code"`
	ErrorDetail *string         `json:"error_detail"`
	Counted     providers.Money `json:"counted"`
	// CostUnknown is whether calls may have been made whose votes are lost.
	CostUnknown bool `json:"cost_unknown"`

	scores []execute.MadeScore
	group  *int64
}

// end is the outcome of a run with a reason, an empty one for none.
func (t *leasedRun) end(status RunStatus, code, detail string) outcome {
	o := outcome{RunID: t.RunID, Status: status, Attempted: true, Counted: t.CountedNanousd, CostUnknown: t.costUnknown}
	if code != "" {
		o.ErrorCode, o.ErrorDetail = &code, new(utf8text.Storable(detail))
	}
	return o
}

// skip is the outcome of a run that cannot be scored.
func (t *leasedRun) skip(code, detail string) outcome { return t.end(Skipped, code, detail) }

// again is the outcome of a run that is tried again without having been tried now.
func (w *worker) again(t *leasedRun, after time.Duration) outcome {
	o := t.end(Pending, "", "")
	o.Attempted, o.NextAttempt = false, new(w.now().Add(after))
	return o
}

// outcome says what became of a run that was scored.
func (w *worker) outcome(ctx context.Context, t *leasedRun, scored *execute.Scored) outcome {
	code, detail := whyMissing(scored)
	switch passing := passingFailure(scored); {
	case scored.Stopped != nil:
		return w.stopRule(ctx, t, scored.Stopped)
	case scored.Busy != nil:
		o := w.again(t, soon)
		o.ErrorCode, o.ErrorDetail = &scored.Busy.Code, new(utf8text.Storable(scored.Busy.Error()))
		return o
	case scored.Unaffordable:
		return t.end(OverBudget, "over_budget", "The votes cost more than was left of max_cost_usd_per_day.")
	case passing != nil && t.Attempts < len(retryAfter):
		o := t.end(Pending, *passing.ErrorCode, aboutVote(passing))
		o.NextAttempt = new(w.now().Add(retryAfter[t.Attempts]))
		return o
	}
	values, missing := 0, 0
	for i := range scored.Scores {
		switch score := &scored.Scores[i]; {
		case score.Missing:
			missing++
		case valueOf(score) != nil:
			values++
		}
	}
	var o outcome
	switch {
	case values > 0 && missing == 0:
		o = t.end(Scored, "", "")
	case values > 0:
		o = t.end(PartlyScored, code, detail)
	case missing > 0:
		o = t.end(Failed, code, detail)
	default:
		o = t.skip("not_applicable", "No grader applies to the run.")
	}
	o.scores = scored.Scores
	return o
}

// valueOf returns the value of a score as runs have it, nil for none.
func valueOf(score *execute.MadeScore) any {
	switch {
	case score.Label != "":
		return score.Label
	case score.Boolean && score.Pass != nil:
		return *score.Pass
	case score.Value != nil:
		return *score.Value
	}
	return nil
}

// passingFailure returns the first vote whose failure may pass by itself, nil if there is none.
func passingFailure(scored *execute.Scored) *evaluations.Vote {
	for i := range scored.Votes {
		if scored.Votes[i].FailedTransiently() {
			return &scored.Votes[i]
		}
	}
	return nil
}

// whyMissing says why a score is missing, by the first vote or grader that failed.
func whyMissing(scored *execute.Scored) (code, detail string) {
	for i := range scored.Scores {
		score := &scored.Scores[i]
		if !score.Missing {
			continue
		}
		for j := range scored.Votes {
			if v := &scored.Votes[j]; v.PanelName == score.Name && v.Status != judge.StatusOK {
				code = string(v.Status)
				if v.ErrorCode != nil {
					code = *v.ErrorCode
				}
				return code, aboutVote(v)
			}
		}
		if score.Code != "" {
			return score.Code, score.Name + ": " + score.Reason
		}
		return "grader_failed", score.Name + ": " + score.Error
	}
	return "", ""
}

// failures say what is wrong with a vote without an error of its provider.
var failures = map[judge.Status]string{
	judge.StatusParseError: "The answer could not be read.", judge.StatusRefused: "The model refused to judge.", judge.StatusOffScale: "The value is not on the scale.",
}

func aboutVote(v *evaluations.Vote) string {
	if v.ErrorDetail != nil {
		return fmt.Sprintf("%s: %s", v.JudgeName, *v.ErrorDetail)
	}
	return v.JudgeName + ": " + failures[v.Status]
}

// Size is about the bytes of the outcome.
func (o outcome) Size() int { return 1000 * (1 + len(o.scores)) }

// flushAll stores outcomes. Runs whose outcome cannot be stored are scored again when the lease ends, with the votes that are stored.
func (w *worker) flushAll(ctx context.Context, outcomes <-chan outcome) {
	for {
		err := work.Store(ctx, outcomes, w.flush)
		if err == nil {
			return
		}
		w.log.WarnContext(ctx, "store the scores of runs; will retry", "rule_id", w.rule.ID, "error", err)
	}
}

// flush gives runs their scores, and then stores what became of them. A repetition of it replaces the scores. Those of runs that this worker
// or version of the rule does not have any more are left out.
func (w *worker) flush(ctx context.Context, batch []outcome) error {
	ids := make([]uuid.UUID, len(batch))
	for i := range batch {
		ids[i] = batch[i].RunID
	}
	mine, err := postgres.Many[struct{ RunID uuid.UUID }](ctx, w.db, "list leased runs", pgx.NamedArgs{
		"id": w.rule.ID, "version": w.rule.Version, "worker": w.id, "runs": ids,
	})
	if err != nil {
		return err
	}
	has := make(map[uuid.UUID]bool, len(mine))
	for _, one := range mine {
		has[one.RunID] = true
	}
	var scores []runs.RuleScore
	for i := range batch {
		if !has[batch[i].RunID] {
			batch[i].scores = nil
		}
		for j := range batch[i].scores {
			score := &batch[i].scores[j]
			if value := valueOf(score); value != nil {
				scores = append(scores, runs.RuleScore{RunID: batch[i].RunID, Name: score.Name, Value: value, Comment: utf8text.Cut(score.Comment, maxComment)})
			}
		}
	}
	gone, err := w.runs.PutRuleScores(ctx, w.in, w.rule.ID, w.rule.Name, scores)
	if err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	var forgotten []uuid.UUID
	for i := range batch {
		if gone[batch[i].RunID] || batch[i].ErrorCode != nil && *batch[i].ErrorCode == codeDeleted {
			forgotten = append(forgotten, batch[i].RunID)
			batch[i].scores = nil
		}
	}
	if err := w.finish(ctx, batch); err != nil || len(forgotten) == 0 {
		return err
	}
	return w.Forget(ctx, w.in, forgotten)
}

// scoreRow is a score as it is stored.
type scoreRow struct {
	RunID    uuid.UUID `json:"run_id"`
	Ordinal  int       `json:"ordinal"`
	GroupKey *int64    `json:"group_key"`
	Name     string    `json:"name"`
	Value    *float64  `json:"value"`
	Pass     *bool     `json:"pass"`
	Label    *string   `json:"label"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error"`
	Evidence *string   `json:"evidence"`
}

// finish stores outcomes.
func (w *worker) finish(ctx context.Context, batch []outcome) error {
	scores := []scoreRow{}
	for i := range batch {
		for j := range batch[i].scores {
			score := &batch[i].scores[j]
			row := scoreRow{
				RunID: batch[i].RunID, Ordinal: j, GroupKey: batch[i].group, Name: score.Name, Value: score.Value, Pass: score.Pass, Reason: utf8text.Storable(score.Reason), Error: utf8text.Storable(score.Error),
			}
			if score.Label != "" {
				row.Label = &score.Label
			}
			if len(score.Evidence) > 0 {
				row.Evidence = new(utf8text.Storable(string(score.Evidence)))
			}
			scores = append(scores, row)
		}
	}
	rows, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode outcomes: %w", err)
	}
	texts, err := json.Marshal(scores)
	if err != nil {
		return fmt.Errorf("encode scores: %w", err)
	}
	_, err = w.db.Exec(ctx, "finish runs", pgx.NamedArgs{
		"id": w.rule.ID, "version": w.rule.Version, "worker": w.id, "rows": string(rows), "scores": string(texts), "now": w.now(),
	})
	return err
}
