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
	w.add(memberOf+" IN (?)", fingerprints)
	var newest []struct {
		RunID uuid.UUID `ch:"run_id"`
		As    string    `ch:"failed_as"`
		Start time.Time `ch:"start_time"`
	}
	err = query(ctx, s.conn, projects, &newest, `SELECT run_id, start_time, `+memberOf+` AS failed_as`+joined+w.String()+`
		ORDER BY start_time DESC, run_id DESC LIMIT ? BY failed_as`+f.Filter.settings(), append(w.args, each)...)
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	found := make([]uuid.UUID, len(newest))
	groups := map[uuid.UUID][]string{} // those that a run is in, of the groups asked for
	for i := range newest {
		found[i] = newest[i].RunID
		groups[found[i]] = append(groups[found[i]], newest[i].As)
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
	sample := make([]Outline, 0, len(newest))
	index := map[uuid.UUID][]int{}
	var ids []uuid.UUID
	first, last := rows[0].StartTime, rows[0].StartTime
	for _, row := range rows {
		cutRun(&row)
		partial := row.SpanCount > uint64(maxSpans)
		for _, as := range groups[row.RunID] {
			of := row
			of.FailAs(as)
			index[row.RunID] = append(index[row.RunID], len(sample))
			sample = append(sample, Outline{Run: of, Partial: partial})
		}
		if partial {
			continue
		}
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
		if at := index[key.RunID]; len(at) > 0 {
			spans := runmodel.Fold(ofRuns[key.RunID].dropDeleted(versions))
			for _, i := range at {
				sample[i].Spans = spans
			}
		}
	}
	return sample, nil
}
