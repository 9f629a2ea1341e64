package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// FailureRules knows which scores fail the runs of a project, and which signals it has.
type FailureRules interface {
	// FailureRules returns the project's own definitions, one for a name of a score at most. It is called for projects that the caller may read.
	FailureRules(ctx context.Context, project uuid.UUID) (runmodel.FailureRules, error)
}

// failuresOf returns what fails the runs of a project.
func (s *Service) failuresOf(ctx context.Context, project uuid.UUID) (definition, error) {
	if s.failureRules == nil {
		return definition{}, nil
	}
	rules, err := s.failureRules.FailureRules(ctx, project)
	if err != nil {
		return definition{}, fmt.Errorf("read which scores fail runs: %w", err)
	}
	return definition(rules), nil
}

// definition says which scores fail a run, and which signals are off. It is the only place that decides about it: all statements take their
// conditions from fails and signals.
type definition runmodel.FailureRules

// fails is the condition that a score fails its run, on the columns of scores.
func (d definition) fails() (condition string, args []any) {
	condition = "multiIf("
	for i := range d.Scores {
		one := &d.Scores[i]
		args = append(args, one.Name)
		switch one.When {
		case runmodel.ScoreBelow, runmodel.ScoreAbove:
			compare := map[runmodel.ScoreFailsWhen]string{runmodel.ScoreBelow: "<", runmodel.ScoreAbove: ">"}[one.When]
			condition += "name = ?, value_kind IN ('number', 'boolean') AND ifNull(number " + compare + " toFloat64(?), false), "
			args = append(args, *one.Bound)
		case runmodel.ScoreInCategories:
			condition += "name = ?, value_kind = 'category' AND label IN (?), "
			args = append(args, one.Categories)
		case runmodel.ScoreTrue:
			condition += "name = ?, value_kind = 'boolean' AND ifNull(number = 1, false), "
		case runmodel.ScoreNever:
			condition += "name = ?, false, "
		}
	}
	const byDefault = "value_kind = 'boolean' AND ifNull(number = 0, false)"
	if len(d.Scores) == 0 {
		return byDefault, nil
	}
	return condition + byDefault + ")", args
}

// failing selects the newest scores of runs as a whole that fail them, one for each run and name, from the rows of a table that w selects:
// scores or run_scores. The newest version of a score counts, and of these the newest of a name.
func (d definition) failing(table string, w where) (statement string, args []any) {
	fails, args := d.fails()
	return `SELECT run_id, score, scored_value.1 AS value_kind, scored_value.2 AS number, substringUTF8(scored_value.3, 1, 200) AS label FROM (
			SELECT run_id, scored_row.2 AS score, argMax((scored_row.3, scored_row.4, scored_row.5, scored_row.6), (scored_at, score_id)) AS scored_value FROM (
				SELECT run_id, score_id, max(version) AS scored_at,
					argMax((deleted, substring(toString(name), 1, 800), toString(value_kind), number, label, ` + fails + `), version) AS scored_row
				FROM ` + table + ` WHERE ` + w.String() + ` GROUP BY run_id, score_id
			) WHERE scored_row.1 = 0 AND scored_row.2 != '' AND scored_row.3 != '' GROUP BY run_id, score
		) WHERE scored_value.4`, append(args, w.args...)
}

// scoreSlack is how long before its run a score can have been written: their clocks may differ.
const scoreSlack = 24 * time.Hour

// failingSince is failing for the runs that started at a time or later. Only their scores that were written since are read.
func (d definition) failingSince(start time.Time) (statement string, args []any) {
	since := uint64(0)
	if from := start.Add(-scoreSlack); !start.IsZero() && from.UnixNano() > 0 {
		since = uint64(from.UnixNano())
	}
	fails, failsArgs := d.fails()
	w := inProjects()
	w.add("version >= ?", since)
	// Few runs have any score that fails. The scores of the others are not grouped.
	w.add("run_id IN (SELECT run_id FROM run_scores WHERE "+projectsMark+" AND version >= ? AND deleted = 0 AND "+fails+")", append([]any{since}, failsArgs...)...)
	return d.failing("run_scores", w)
}

// scoredAsFailed adds the condition that a run, of those that started at a time or later, failed by a score alone.
func (d definition) scoredAsFailed(w *where, start time.Time) {
	failing, args := d.failingSince(start)
	w.add(failedOtherwise+" AND run_id IN (SELECT run_id FROM ("+failing+"))", args...)
}

// failedOtherwise is the condition that only a score can fail the run.
const failedOtherwise = "status != '" + runmodel.StatusRunning + "' AND NOT " + failedItself

// scoreFingerprint adds the condition that a run has a fingerprint of scores: of several scores that fail it the first name counts.
func (d definition) scoreFingerprint(w *where, start time.Time, score, peers string) {
	failing, args := d.failingSince(start)
	w.add(failedOtherwise+" AND "+runmodel.PeersHashSQL+" = ?", peers)
	w.add("run_id IN (SELECT run_id FROM (SELECT run_id, min(score) AS score FROM ("+failing+") GROUP BY run_id) WHERE "+runmodel.ScoreHashSQL+" = ?)", append(args, score)...)
}

// maxFailedScores is how many scores that fail a run it is read with.
const maxFailedScores = 20

// addFailedScores gives runs of one project the scores that fail them, of those written after a version. It removes the signals that are off.
func (s *Service) addFailedScores(ctx context.Context, projects access.Projects, deletedAt uint64, runs []*runmodel.Run) error {
	if len(runs) == 0 {
		return nil
	}
	d, err := s.failuresOf(ctx, runs[0].ProjectID)
	if err != nil {
		return err
	}
	for _, run := range runs {
		run.DropSignals(d.SignalsOff)
	}
	projects = projects.Only(runs[0].ProjectID)
	byRun := make(map[uuid.UUID]*runmodel.Run, len(runs))
	for _, run := range runs {
		byRun[run.RunID] = run
	}
	ids := make([]uuid.UUID, 0, len(byRun))
	for _, run := range runs {
		ids = append(ids, run.RunID)
	}
	for some := range slices.Chunk(ids, selectedAtOnce) {
		w := inProjects()
		w.add("run_id IN (?)", some)
		w.add("span_id = 0")
		w.add("version > ?", deletedAt)
		failing, args := d.failing("scores", w)
		var rows []struct {
			RunID uuid.UUID `ch:"run_id"`
			runmodel.FailedScore
		}
		err := query(ctx, s.conn, projects, &rows, failing+` ORDER BY run_id, score LIMIT ? BY run_id`, append(args, maxFailedScores)...)
		if err != nil {
			return err
		}
		found := make(map[uuid.UUID][]runmodel.FailedScore, len(rows))
		for i := range rows {
			found[rows[i].RunID] = append(found[rows[i].RunID], rows[i].FailedScore)
		}
		for id, scores := range found {
			byRun[id].FailByScores(scores)
		}
	}
	return nil
}
