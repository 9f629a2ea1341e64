package runs

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// runColumns are the columns of runmodel.Run, as the table runs has them.
const runColumns = `project_id, run_id, version, start_time, end_time, first_received, root_span_id,
	name, kind, status, error_type, error_message, input_preview, output_preview,
	session_id, conversation_id, user_id, agent_name, environment, release,
	prompt_id, prompt_name, prompt_version, tags, metadata, models,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
	cost_usd, cost_source, span_count, error_count, llm_call_count, tool_call_count`

// steps are how far back from the newest wanted run a list looks at a time. Most lists are filled from the
// newest hours; one that filters hard reads each period once.
var steps = []time.Duration{
	time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// List returns a page of a project's runs, newest first.
func (s *Service) List(ctx context.Context, scope Scope, q ListQuery) (Page, error) {
	scope, err := scope.narrow(q.ProjectID)
	if err != nil {
		return Page{}, err
	}
	q.Filter = q.at(s.now())
	var after *cursor
	if q.Cursor != "" {
		c, err := parseCursor(q.Cursor, listRuns)
		if err != nil {
			return Page{}, err
		}
		after = &c
	}
	rows, err := s.listRows(ctx, scope, q, after)
	if err != nil {
		return Page{}, err
	}
	page := Page{HasMore: len(rows) > q.Limit}
	rows = rows[:min(len(rows), q.Limit)]
	if page.HasMore {
		last := rows[len(rows)-1]
		page.NextCursor = cursor{List: listRuns, Time: last.StartTime.UnixNano(), ID: last.RunID.String()}.String()
	}
	page.Runs = make([]Run, len(rows))
	for i := range rows {
		page.Runs[i] = listed(rows[i])
	}
	return page, s.addScores(ctx, scope, page.Runs, mostScoresListed)
}

// selectRuns reads the runs that conditions select, as lists show them.
func (s *Service) selectRuns(ctx context.Context, scope Scope, w where, order string, args ...any) ([]Run, error) {
	var rows []runmodel.Run
	err := query(ctx, s.conn, scope, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+` `+order, append(w.args, args...)...)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(rows))
	for i := range rows {
		runs[i] = listed(rows[i])
	}
	return runs, nil
}

func listed(row runmodel.Run) Run {
	return Run{
		Run: row, Inputs: nonEmpty(row.InputPreview), Outputs: nonEmpty(row.OutputPreview),
		Truncated: row.InputPreview != "" || row.OutputPreview != "",
	}
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// listRows reads one row more than the page takes, which tells whether there are more.
func (s *Service) listRows(ctx context.Context, scope Scope, q ListQuery, after *cursor) ([]runmodel.Run, error) {
	wanted := q.Limit + 1
	if q.Offset > 0 {
		return s.listPeriod(ctx, scope, q, after, q.StartAfter, q.StartBefore, wanted)
	}
	upper := q.StartBefore
	newest := s.now()
	if after != nil {
		newest = time.Unix(0, after.Time).UTC()
		upper = newest.Add(1)
	} else if !upper.IsZero() {
		newest = upper
	}
	var rows []runmodel.Run
	for _, lower := range append(periods(newest), q.StartAfter) {
		if lower.Before(q.StartAfter) {
			lower = q.StartAfter
		}
		found, err := s.listPeriod(ctx, scope, q, after, lower, upper, wanted-len(rows))
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
		if len(rows) >= wanted || !lower.After(q.StartAfter) {
			break
		}
		upper = lower
	}
	return rows, nil
}

// periods are the times at which steps end, on whole hours: the versions of a run's row share an hour.
func periods(newest time.Time) []time.Time {
	times := make([]time.Time, len(steps))
	for i, step := range steps {
		times[i] = newest.Add(-step).Truncate(time.Hour)
	}
	return times
}

// listPeriod reads runs that started in [lower, upper), either of which may be zero for no bound.
func (s *Service) listPeriod(ctx context.Context, scope Scope, q ListQuery, after *cursor, lower, upper time.Time, limit int) ([]runmodel.Run, error) {
	w := where{conditions: []string{scopeMark}}
	w.period("start_time", lower, upper)
	if after != nil {
		w.add("(start_time, run_id) < (fromUnixTimestamp64Nano(?), toUUID(?))", after.Time, after.ID)
	}
	q.conditions(&w, lower)
	var rows []runmodel.Run
	err := query(ctx, s.conn, scope, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+`
		ORDER BY start_time DESC, run_id DESC LIMIT ? OFFSET ?`, append(w.args, limit, q.Offset)...)
	return rows, err
}
