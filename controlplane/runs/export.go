package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Limits of what an export holds in memory.
const (
	exportRuns = 500
	// exportSpans is how many spans are held in full.
	exportSpans = 250
)

// Export calls run with every run that the filter selects, newest first and in full. If span is not nil, it is called with each of the
// run's spans after that. An error that run or span returns ends the export. Runs that start during the export are not in it. A run that
// is deleted during the export is left out or, if its spans were being handed over, ends with those read before.
func (s *Service) Export(ctx context.Context, projects access.Projects, filter Filter, run func(*Run) error, span func(*Span) error) error {
	projects = projects.Only(filter.ProjectID)
	// The window stays where it was when the export began.
	filter, err := s.resolve(ctx, projects, filter)
	if err != nil {
		return err
	}
	q := ListQuery{Filter: filter, Limit: exportRuns, full: true}
	for {
		page, err := s.List(ctx, projects, q)
		if err != nil {
			return err
		}
		rows := make([]runmodel.Run, len(page.Runs))
		for i := range page.Runs {
			rows[i] = page.Runs[i].Run
		}
		for from := 0; from < len(rows); {
			to := from + batchOf(rows[from:], span != nil)
			if err := s.exportBatch(ctx, projects, rows[from:to], run, span); err != nil {
				return err
			}
			from = to
		}
		if page.NextCursor == "" {
			return nil
		}
		if page.NextCursor == q.Cursor {
			return fmt.Errorf("%w: what comes after a run takes too long to search", ErrTooExpensive)
		}
		q.Cursor = page.NextCursor
	}
}

// batchOf returns how many of the runs to read together, at least one.
func batchOf(rows []runmodel.Run, withSpans bool) int {
	held := 0
	for i := range rows {
		spans := 1 // the root
		if withSpans {
			spans = int(rows[i].SpanCount)
		}
		if held += spans; i > 0 && held > exportSpans {
			return i
		}
	}
	return len(rows)
}

// exportBatch hands over a few runs. Runs that are too expensive to read together are read one by one.
func (s *Service) exportBatch(ctx context.Context, projects access.Projects, rows []runmodel.Run, run func(*Run) error, span func(*Span) error) error {
	if span != nil && rows[0].SpanCount > exportSpans {
		return s.exportLarge(ctx, projects, rows[0], run, span)
	}
	list, spans, err := s.fullRuns(ctx, projects, rows, span == nil)
	if errors.Is(err, ErrTooExpensive) && len(rows) > 1 {
		for i := range rows {
			if err := s.exportBatch(ctx, projects, rows[i:i+1], run, span); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	for i := range list {
		if err := run(&list[i]); err != nil {
			return err
		}
		if span == nil {
			continue
		}
		own := spans[list[i].RunID]
		for j := range own {
			if err := span(&own[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fullRuns reads runs and their spans in full, with their scores. It leaves out runs that were deleted after rows were read.
func (s *Service) fullRuns(ctx context.Context, projects access.Projects, rows []runmodel.Run, rootsOnly bool) ([]Run, map[uuid.UUID][]Span, error) {
	ids := idsOf(rows)
	locations, err := s.locationsOf(ctx, projects, ids)
	if err != nil {
		return nil, nil, err
	}
	spans, err := s.fullSpans(ctx, projects, rows, locations, rootsOnly)
	if err != nil {
		return nil, nil, err
	}
	list := make([]Run, len(rows))
	for i, row := range rows {
		list[i] = listed(row)
		list[i].setPayloads(spans[row.RunID])
	}
	if err := s.addScores(ctx, projects, list, maxReadScores); err != nil {
		return nil, nil, err
	}
	for i := range list {
		loc := locations[list[i].RunID]
		if loc.DeletedAt > 0 { // the scores of a deleted run with the same id may still be there
			list[i].Scores, list[i].ScoreCount = nil, 0
			if err := s.addScoresAfter(ctx, projects, loc.DeletedAt, list[i:i+1], maxReadScores); err != nil {
				return nil, nil, err
			}
		}
		if list[i].ScoreCount == 0 || rootsOnly {
			continue
		}
		own, ofSpans, err := s.exportedScores(ctx, loc, list[i].RunID)
		if err != nil {
			return nil, nil, err
		}
		list[i].OwnScores = own
		addSpanScores(spans[list[i].RunID], ofSpans)
	}
	// A deletion that began meanwhile may have removed a part of what was read.
	if locations, err = s.locationsOf(ctx, projects, ids); err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(list, func(r Run) bool { return r.Version <= locations[r.RunID].DeletedAt }), spans, nil
}

// setPayloads takes over a run's inputs and outputs from its root. If the root lacks one of them, the preview stays.
func (r *Run) setPayloads(spans []Span) {
	for i := range spans {
		if spans[i].SpanID != r.RootSpanID {
			continue
		}
		r.Truncated = false
		for _, side := range []struct {
			text *string
			to   **string
		}{{spans[i].Inputs, &r.Inputs}, {spans[i].Outputs, &r.Outputs}} {
			if side.text != nil {
				*side.to = side.text
			} else if *side.to != nil {
				r.Truncated = true
			}
		}
	}
}

// exportLarge hands over a run that has too many spans to be held at once.
func (s *Service) exportLarge(ctx context.Context, projects access.Projects, row runmodel.Run, run func(*Run) error, span func(*Span) error) error {
	loc, err := s.find(ctx, projects, row.RunID)
	if err == nil {
		err = s.exportPages(ctx, loc, row.RunID, run, span)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (s *Service) exportPages(ctx context.Context, loc location, runID uuid.UUID, run func(*Run) error, span func(*Span) error) error {
	whole, err := s.getAt(ctx, loc, runID)
	if err != nil {
		return err
	}
	all, err := s.listSpans(ctx, loc, runID, treeColumns, 0)
	if err != nil {
		return err
	}
	own, ofSpans, err := s.exportedScores(ctx, loc, runID)
	if err != nil {
		return err
	}
	whole.OwnScores = own
	for from := 0; from < len(all); from += exportSpans {
		page := all[from:min(from+exportSpans, len(all))]
		if err := s.addPayloads(ctx, loc, runID, page); err != nil {
			return err
		}
		addSpanScores(page, ofSpans)
		if from == 0 {
			if err := run(&whole); err != nil {
				return err
			}
		}
		for i := range page {
			if err := span(&page[i]); err != nil {
				return err
			}
			page[i] = Span{}
		}
	}
	return nil
}

// fullSpans reads the spans of runs in full and in start order, or only the roots.
func (s *Service) fullSpans(
	ctx context.Context, projects access.Projects, rows []runmodel.Run, locations map[uuid.UUID]location, rootsOnly bool,
) (map[uuid.UUID][]Span, error) {
	rootIDs := make([]uint64, len(rows))
	for i := range rows {
		rootIDs[i] = rows[i].RootSpanID
	}
	loc := location{projects: projects.Only(rows[0].ProjectID), ProjectID: rows[0].ProjectID, FirstStart: rows[0].StartTime, LastStart: rows[0].StartTime}
	for _, of := range locations {
		loc.FirstStart, loc.LastStart = earlier(loc.FirstStart, of.FirstStart), later(loc.LastStart, of.LastStart)
	}
	w := inProjects()
	w.hours(loc.FirstStart, loc.LastStart)
	w.add("run_id IN (?)", idsOf(rows))
	if rootsOnly {
		w.add("span_id IN (?)", rootIDs)
	}
	var versions []runmodel.Span
	if err := query(ctx, s.conn, projects, &versions, `SELECT * EXCEPT escaped_words FROM spans WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	spans := make(map[uuid.UUID][]Span, len(rows))
	for key, versions := range runmodel.ByRun(versions) {
		if versions = locations[key.RunID].dropDeleted(versions); len(versions) == 0 {
			continue
		}
		folded := runmodel.Fold(versions)
		if rootsOnly {
			for i := range folded {
				keepPayloadIDs(&folded[i])
			}
		}
		contents, err := s.contents(ctx, loc, key.RunID, folded)
		if err != nil {
			return nil, err
		}
		counted, depths := runmodel.CountsUsage(folded), runmodel.Depths(folded)
		list := make([]Span, len(folded))
		for i := range folded {
			if list[i], err = contents.join(folded[i]); err != nil {
				return nil, err
			}
			list[i].Depth, list[i].UsageCounted = depths[i], counted[i]
		}
		spans[key.RunID] = list
	}
	return spans, nil
}

// keepPayloadIDs drops the ids of contents that a span's inputs and outputs do not need.
func keepPayloadIDs(span *runmodel.Span) {
	span.InstructionsID, span.ToolDefinitionsID, span.ResourceID = 0, 0, 0
	if span.Inputs != "" || span.ToolArguments != "" {
		span.InputMessageIDs = nil
	}
	if span.Outputs != "" || span.ToolResult != "" {
		span.OutputMessageIDs = nil
	}
}
