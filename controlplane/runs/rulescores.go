package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// RuleScore is a score that a rule gives a run.
type RuleScore struct {
	RunID uuid.UUID
	Name  string
	// Value is a float64, a bool or a string.
	Value   any
	Comment string
}

// PutRuleScores writes scores of a project's runs with a rule as their author. One that was written before by the same rule, with the same
// name, is replaced. It returns the runs that are gone, whose scores are left out.
func (s *Service) PutRuleScores(ctx context.Context, in access.Projects, rule uuid.UUID, ruleName string, scores []RuleScore) (gone map[uuid.UUID]bool, err error) {
	gone = map[uuid.UUID]bool{}
	var ids []uuid.UUID
	for i := range scores {
		if id := scores[i].RunID; !gone[id] {
			ids = append(ids, id)
			gone[id] = true
		}
	}
	if len(ids) == 0 {
		return gone, nil
	}
	locations, err := s.locationsOf(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	if len(locations) == 0 {
		return gone, nil
	}
	area := areaOf(in, locations)
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?)", ids)
	var rows []struct {
		ProjectID uuid.UUID `ch:"project_id"`
		RunID     uuid.UUID `ch:"run_id"`
		Version   uint64    `ch:"version"`
	}
	if err := query(ctx, s.conn, in, &rows, `SELECT project_id, run_id, version FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Version > locations[row.RunID].DeletedAt {
			delete(gone, row.RunID)
		}
	}
	made := make([]runmodel.Score, 0, len(scores))
	now := s.now().UTC()
	for i := range scores {
		score := &scores[i]
		if gone[score.RunID] {
			continue
		}
		one := runmodel.Score{
			ProjectID: locations[score.RunID].ProjectID, RunID: score.RunID, ScoreID: ruleScoreID(rule, score.RunID, score.Name), Version: uint64(now.UnixNano()), Name: score.Name,
			Comment: score.Comment, Source: runmodel.ScoreProgram, AuthorKind: runmodel.ScoreByRule, AuthorID: rule, AuthorName: ruleName, CreatedAt: now,
		}
		if !one.SetValue(score.Value) {
			return nil, fmt.Errorf("value of a score is a %T", score.Value)
		}
		made = append(made, one)
	}
	if err := s.replaceScores(ctx, in, made); err != nil {
		return nil, err
	}
	if err := clickhouse.InsertScores(ctx, s.conn, made); err != nil {
		return nil, classify(err)
	}
	return gone, nil
}

// ruleScoreID is the id of the score of a run by a rule.
func ruleScoreID(rule, run uuid.UUID, name string) uuid.UUID {
	return uuid.NewSHA1(rule, append(run[:], name...))
}

// replaceScores makes scores newer than those that are there with their ids, and keeps the times of creation.
func (s *Service) replaceScores(ctx context.Context, in access.Projects, scores []runmodel.Score) error {
	if len(scores) == 0 {
		return nil
	}
	runIDs, ids := make([]uuid.UUID, len(scores)), make([]uuid.UUID, len(scores))
	for i := range scores {
		runIDs[i], ids[i] = scores[i].RunID, scores[i].ScoreID
	}
	var before []struct {
		ScoreID   uuid.UUID `ch:"score_id"`
		Version   uint64    `ch:"newest"`
		CreatedAt time.Time `ch:"created"`
	}
	if err := query(ctx, s.conn, in, &before, `SELECT score_id, max(version) AS newest, argMax(created_at, version) AS created FROM scores
		WHERE {projects} AND run_id IN (?) AND score_id IN (?) GROUP BY score_id`, runIDs, ids); err != nil {
		return err
	}
	for _, known := range before {
		for i := range scores {
			if scores[i].ScoreID == known.ScoreID {
				scores[i].Version, scores[i].CreatedAt = max(scores[i].Version, known.Version+1), known.CreatedAt
			}
		}
	}
	return nil
}
