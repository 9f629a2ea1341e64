package runs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// How many of its newest scores a run or span is read with, in a list and by itself. Scores lists all.
const (
	maxListedScores = 20
	maxReadScores   = 100
)

// Limits of the texts of a score in bytes. The API accepts names of 200 characters and comments of 4,000.
const (
	scoreName = 800
	// shortComment is for lists of runs or spans, longComment for lists of scores.
	shortComment = 256
	longComment  = 16 << 10
)

// maxSpanScores is how many scores come with a page of spans.
const maxSpanScores = 10_000

// cutScore cuts what was read as score columns.
func cutScore(s *runmodel.Score, comment int) {
	var c cutter
	c.text("text", scoreName, &s.Name, &s.Label, &s.AuthorName)
	c.text("text", comment, &s.Comment)
	s.Truncated = len(c.members) > 0
}

// ScoresQuery selects a page of a run's scores.
type ScoresQuery struct {
	// SpanID selects the scores of one span; 0 does not filter.
	SpanID        uint64
	Limit, Offset int
}

// ScoreWrite is a score as its author sends it.
type ScoreWrite struct {
	RunID uuid.UUID
	// SpanID is a span of the run; 0 scores the run as a whole.
	SpanID uint64
	// ID is that of a score to replace; [uuid.Nil] writes a new one.
	ID   uuid.UUID
	Name string
	// Value is a float64, a bool or a string, or nil for a comment alone.
	Value   any
	Comment string
	// Source is runmodel.ScoreHuman or runmodel.ScoreProgram; empty follows from who the author is.
	Source string
}

// score checks what was sent, and makes a score by its author of it.
func (w *ScoreWrite) score(by *access.Principal) (runmodel.Score, error) {
	score := runmodel.Score{RunID: w.RunID, SpanID: w.SpanID, ScoreID: w.ID, Name: cmp.Or(w.Name, "comment"), Comment: strings.TrimSpace(w.Comment)}
	var wrong []problem.Field
	if text, ok := w.Value.(string); ok && strings.TrimSpace(text) == "" {
		wrong = append(wrong, problem.Field{Location: "body.value", Message: "must not be empty"})
	}
	if !score.SetValue(w.Value) {
		return score, fmt.Errorf("value of a score is a %T", w.Value)
	}
	switch {
	case w.Value == nil && score.Comment == "":
		wrong = append(wrong, problem.Field{Location: "body.value", Message: "is required without a comment"})
	case w.Value != nil && w.Name == "":
		wrong = append(wrong, problem.Field{Location: "body.name", Message: "is required with a value"})
	}
	if len(wrong) > 0 {
		return score, problem.InvalidFields(wrong...)
	}
	if score.ScoreID == uuid.Nil {
		var err error
		if score.ScoreID, err = uuid.NewV7(); err != nil {
			return score, fmt.Errorf("make an id: %w", err)
		}
	}
	if by.User != nil {
		score.AuthorKind, score.AuthorID, score.AuthorName, score.Source = runmodel.ScoreByUser, by.User.ID, by.User.Email, runmodel.ScoreHuman
	} else {
		score.AuthorKind, score.AuthorID, score.AuthorName, score.Source = runmodel.ScoreByKey, by.Key.ID, by.Key.Name, runmodel.ScoreProgram
	}
	score.Source = cmp.Or(w.Source, score.Source)
	return score, nil
}

// PutScore writes a score of a run in one of the grant's projects, with the grant's principal as its author. It replaces a score of the
// same run and id, and keeps its time of creation; created is true if there was none.
func (s *Service) PutScore(ctx context.Context, grant access.Grant, w ScoreWrite) (stored runmodel.Score, created bool, err error) {
	score, err := w.score(grant.Principal)
	if err != nil {
		return score, false, err
	}
	loc, err := s.find(ctx, grant.Projects, score.RunID)
	if err != nil {
		return score, false, err
	}
	if err := s.exists(ctx, loc, score.RunID, score.SpanID); err != nil {
		return score, false, err
	}
	before, err := s.newestVersion(ctx, loc, score.RunID, score.ScoreID)
	if err != nil {
		return score, false, err
	}
	now := s.now().UTC()
	score.ProjectID, score.Version, score.Deleted, score.CreatedAt = loc.ProjectID, uint64(now.UnixNano()), 0, now
	if before != nil {
		score.Version = max(score.Version, before.Version+1)
	}
	created = before == nil || before.Deleted != 0
	if !created {
		score.CreatedAt = before.CreatedAt
	}
	if err := clickhouse.InsertScores(ctx, s.conn, []runmodel.Score{score}); err != nil {
		return score, false, classify(err)
	}
	return score, created, nil
}

// DeleteScore deletes a score. A span that is delivered again does not bring it back.
func (s *Service) DeleteScore(ctx context.Context, projects access.Projects, runID, scoreID uuid.UUID) error {
	loc, err := s.find(ctx, projects, runID)
	if err != nil {
		return err
	}
	score, err := s.newestVersion(ctx, loc, runID, scoreID)
	if err != nil {
		return err
	}
	if score == nil || score.Deleted != 0 {
		return ErrNotFound
	}
	// The text of the score is not kept.
	deleted := runmodel.Score{
		ProjectID: score.ProjectID, RunID: runID, ScoreID: scoreID, SpanID: score.SpanID, Deleted: 1,
		Version: max(uint64(s.now().UnixNano()), score.Version+1), CreatedAt: score.CreatedAt,
	}
	if err := clickhouse.InsertScores(ctx, s.conn, []runmodel.Score{deleted}); err != nil {
		return classify(err)
	}
	return nil
}

// Scores returns a page of a run's scores, newest first, including those of its spans, and whether there are more.
func (s *Service) Scores(ctx context.Context, projects access.Projects, runID uuid.UUID, q ScoresQuery) ([]runmodel.Score, bool, error) {
	loc, err := s.find(ctx, projects, runID)
	if err != nil {
		return nil, false, err
	}
	if err := s.exists(ctx, loc, runID, 0); err != nil {
		return nil, false, err
	}
	w := loc.scores(runID)
	if q.SpanID != 0 {
		w.add("span_id = ?", q.SpanID)
	}
	var scores []runmodel.Score
	err = query(ctx, s.conn, loc.projects, &scores, `SELECT `+longScoreColumns+` FROM scores FINAL WHERE `+w.String()+`
		ORDER BY version DESC, score_id LIMIT ? OFFSET ?`, append(w.args, q.Limit+1, q.Offset)...)
	if err != nil {
		return nil, false, err
	}
	for i := range scores {
		cutScore(&scores[i], longComment)
	}
	return scores[:min(len(scores), q.Limit)], len(scores) > q.Limit, nil
}

// scores selects the scores of the run that were not deleted with an earlier run of its id.
func (loc location) scores(runID uuid.UUID) where {
	w := inProjects()
	w.add("run_id = ?", runID)
	if loc.DeletedAt > 0 {
		w.add("version > ?", loc.DeletedAt)
	}
	return w
}

// exists returns ErrNotFound if the run is gone, and ErrNoSuchSpan if it has no such span. A spanID of 0 checks the run only.
func (s *Service) exists(ctx context.Context, loc location, runID uuid.UUID, spanID uint64) error {
	var rows []struct {
		RunID uuid.UUID `ch:"run_id"`
	}
	w := loc.where(runID)
	if err := query(ctx, s.conn, loc.projects, &rows, `SELECT run_id FROM runs FINAL WHERE `+w.String()+` LIMIT 1`, w.args...); err != nil {
		return err
	}
	if len(rows) == 0 {
		return ErrNotFound
	}
	if spanID == 0 {
		return nil
	}
	rows = nil
	w.add("span_id = ?", spanID)
	if err := query(ctx, s.conn, loc.projects, &rows, `SELECT run_id FROM spans WHERE `+w.String()+` LIMIT 1`, w.args...); err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%w: %s", ErrNoSuchSpan, runmodel.FormatSpanID(spanID))
	}
	return nil
}

// newestVersion returns the newest version of a score, nil if there is none.
func (s *Service) newestVersion(ctx context.Context, loc location, runID, scoreID uuid.UUID) (*runmodel.Score, error) {
	w := loc.scores(runID)
	w.add("score_id = ?", scoreID)
	var rows []runmodel.Score
	err := query(ctx, s.conn, loc.projects, &rows, `SELECT `+clickhouse.ScoreColumns+` FROM scores
		WHERE `+w.String()+` ORDER BY version DESC LIMIT 1`, w.args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// addScores gives runs their newest scores, up to limit each.
func (s *Service) addScores(ctx context.Context, projects access.Projects, runs []Run, limit int) error {
	return s.addScoresAfter(ctx, projects, 0, runs, limit)
}

// byKey returns the ids of runs, and the runs by their keys.
func byKey(runs []Run) (ids []uuid.UUID, at map[runmodel.RunKey]*Run) {
	ids, at = make([]uuid.UUID, len(runs)), make(map[runmodel.RunKey]*Run, len(runs))
	for i := range runs {
		ids[i] = runs[i].RunID
		at[runmodel.RunKey{ProjectID: runs[i].ProjectID, RunID: runs[i].RunID}] = &runs[i]
	}
	return ids, at
}

// addScoresAfter leaves out scores up to the version deletedAt, up to which the runs are deleted.
func (s *Service) addScoresAfter(ctx context.Context, projects access.Projects, deletedAt uint64, runs []Run, limit int) error {
	if len(runs) == 0 {
		return nil
	}
	ids, at := byKey(runs)
	var rows []struct {
		runmodel.Score
		Total uint64 `ch:"total"`
	}
	columns := clickhouse.ScoreColumns
	if limit == maxListedScores {
		columns = shortScoreColumns
	}
	err := query(ctx, s.conn, projects, &rows, `SELECT `+columns+`, count() OVER (PARTITION BY project_id, run_id) AS total
		FROM scores FINAL WHERE {projects} AND run_id IN (?) AND version > ?
		ORDER BY version DESC, score_id LIMIT ? BY project_id, run_id`, ids, deletedAt, limit)
	if err != nil {
		return err
	}
	for i := range rows {
		if run := at[runmodel.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID}]; run != nil {
			if limit == maxListedScores {
				cutScore(&rows[i].Score, shortComment)
			}
			run.Scores = append(run.Scores, rows[i].Score)
			run.ScoreCount = rows[i].Total
		}
	}
	return nil
}

// spanScores reads the newest scores of a span of a run, or of each of its spans if spanID is 0.
func (s *Service) spanScores(ctx context.Context, loc location, runID uuid.UUID, spanID uint64, full bool) ([]runmodel.Score, error) {
	w := loc.scores(runID)
	columns := clickhouse.ScoreColumns
	if spanID != 0 {
		w.add("span_id = ?", spanID)
	} else {
		w.add("span_id != 0")
	}
	if !full {
		columns = shortScoreColumns
	}
	var scores []runmodel.Score
	err := query(ctx, s.conn.with(options{oldAnalyzer: true}), loc.projects, &scores, `SELECT `+columns+` FROM scores FINAL WHERE `+w.String()+`
		ORDER BY version DESC, score_id LIMIT ? BY span_id LIMIT ?`, append(w.args, maxReadScores, maxSpanScores)...)
	if !full {
		for i := range scores {
			cutScore(&scores[i], shortComment)
		}
	}
	return scores, err
}

// exportedScores reads the newest scores of a run as a whole, and those of each of its spans.
func (s *Service) exportedScores(ctx context.Context, loc location, runID uuid.UUID) (own, ofSpans []runmodel.Score, err error) {
	w := loc.scores(runID)
	var scores []runmodel.Score
	err = query(ctx, s.conn.with(options{oldAnalyzer: true}), loc.projects, &scores, `SELECT `+clickhouse.ScoreColumns+` FROM scores FINAL WHERE `+w.String()+`
		ORDER BY version DESC, score_id LIMIT ? BY span_id LIMIT ?`, append(w.args, maxReadScores, maxSpanScores)...)
	for i := range scores {
		if scores[i].SpanID == 0 {
			own = append(own, scores[i])
		} else {
			ofSpans = append(ofSpans, scores[i])
		}
	}
	return own, ofSpans, err
}

// addSpanScores gives the spans of a run their scores.
func addSpanScores(spans []Span, scores []runmodel.Score) {
	if len(scores) == 0 {
		return
	}
	at := make(map[uint64]*Span, len(spans))
	for i := range spans {
		at[spans[i].SpanID] = &spans[i]
	}
	for i := range scores {
		if span := at[scores[i].SpanID]; span != nil {
			span.Scores = append(span.Scores, scores[i])
		}
	}
}
