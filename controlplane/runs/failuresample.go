package runs

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// FailureSample returns some runs of groups, the newest of each first. Runs of at most maxSpans spans have their spans.
func (s *Service) FailureSample(ctx context.Context, projects access.Projects, f FailureWindow, fingerprints []string, each, maxSpans int) ([]Outline, error) {
	projects = projects.Only(f.Filter.ProjectID)
	if len(fingerprints) == 0 {
		return nil, nil
	}
	f, err := s.define(ctx, f)
	if err != nil {
		return nil, err
	}
	w, joined := f.grouped(f.From)
	w.add(failedAs+" IN (?)", fingerprints)
	var newest []struct {
		RunID uuid.UUID `ch:"run_id"`
		As    string    `ch:"failed_as"`
		Start time.Time `ch:"start_time"`
	}
	err = query(ctx, s.conn, projects, &newest, `SELECT run_id, start_time, `+failedAs+` AS failed_as`+joined+w.String()+`
		ORDER BY start_time DESC, run_id DESC LIMIT ? BY failed_as`+f.Filter.settings(), append(w.args, each)...)
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	found := make([]uuid.UUID, len(newest))
	for i := range newest {
		found[i] = newest[i].RunID
	}
	of := inProjects()
	of.hours(newest[len(newest)-1].Start, newest[0].Start) // the newest come first
	of.add("run_id IN (?)", found)
	var rows []runmodel.Run
	err = readListed(ctx, s, projects, &rows, "", of, "ORDER BY start_time DESC, run_id DESC", Filter{}.settings)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if err := s.addFailedScores(ctx, projects, 0, pointers(rows)); err != nil {
		return nil, err
	}
	sample := make([]Outline, len(rows))
	index := map[uuid.UUID]int{}
	var ids []uuid.UUID
	first, last := rows[0].StartTime, rows[0].StartTime
	for i, row := range rows {
		cutRun(&row)
		sample[i] = Outline{Run: row}
		if row.SpanCount > uint64(maxSpans) {
			sample[i].Partial = true
			continue
		}
		index[row.RunID] = i
		ids = append(ids, row.RunID)
		first, last = earlier(first, row.StartTime), later(last, later(row.StartTime, row.EndTime))
	}
	if len(ids) == 0 {
		return sample, nil
	}
	spans := inProjects()
	spans.hours(first, last)
	spans.add("run_id IN (?)", ids)
	var versions []runmodel.Span
	err = query(ctx, s.conn, projects, &versions, `SELECT `+outlineColumns+` FROM spans WHERE `+spans.String(), spans.args...)
	if err != nil {
		return nil, err
	}
	ofRuns, err := s.locationsOf(ctx, projects, ids)
	if err != nil {
		return nil, err
	}
	for key, versions := range runmodel.ByRun(versions) {
		if i, ok := index[key.RunID]; ok {
			sample[i].Spans = runmodel.Fold(ofRuns[key.RunID].dropDeleted(versions))
		}
	}
	return sample, nil
}
