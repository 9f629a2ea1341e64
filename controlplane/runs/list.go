package runs

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/clickhouse"
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
	if !slices.Contains(scope.ProjectIDs, q.ProjectID) {
		return Page{}, ErrNotFound
	}
	scope = Scope{ProjectIDs: []uuid.UUID{q.ProjectID}}
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
	return page, nil
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
	q.filter(&w, lower)
	var rows []runmodel.Run
	err := query(ctx, s.conn, scope, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+`
		ORDER BY start_time DESC, run_id DESC LIMIT ? OFFSET ?`, append(w.args, limit, q.Offset)...)
	return rows, err
}

// where collects conditions with their arguments.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

// period bounds a time column in the terms of the table's partition and sort key as well, so that neither
// parts nor granules outside it are read.
func (w *where) period(column string, lower, upper time.Time) {
	if !lower.IsZero() {
		ns := lower.UnixNano()
		w.add(column+" >= fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour("+column+") >= toStartOfHour(fromUnixTimestamp64Nano(?))", ns)
	}
	if !upper.IsZero() {
		ns := upper.UnixNano()
		w.add(column+" < fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour("+column+") <= toStartOfHour(fromUnixTimestamp64Nano(?))", ns)
	}
}

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// filter adds the query's own conditions. lower bounds where the search looks for spans.
func (q ListQuery) filter(w *where, lower time.Time) {
	equal := func(column, value string) {
		if value != "" {
			w.add(column+" = ?", value)
		}
	}
	equal("name", q.Name)
	equal("session_id", q.SessionID)
	equal("user_id", q.UserID)
	equal("environment", q.Environment)
	equal("error_type", q.ErrorType)
	if len(q.Statuses) > 0 {
		w.add("status IN (?)", q.Statuses)
	}
	if len(q.Kinds) > 0 {
		w.add("kind IN (?)", q.Kinds)
	}
	if q.Model != "" {
		w.add("has(models, ?)", q.Model)
	}
	if q.Tag != "" {
		w.add("has(tags, ?)", q.Tag)
	}
	if q.MinDuration > 0 {
		w.add("status != 'running' AND toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time) >= ?", q.MinDuration.Nanoseconds())
	}
	if q.MinCostUSD != nil {
		w.add("cost_usd >= ?", *q.MinCostUSD)
	}
	if q.MinTokens != nil {
		w.add("coalesce(input_tokens, 0) + coalesce(output_tokens, 0) >= ?", *q.MinTokens)
	}
	if q.Search != "" {
		q.search(w, lower)
	}
}

// search keeps the runs that have all the words in one span or in one message of it.
func (q ListQuery) search(w *where, lower time.Time) {
	if !hasWord(q.Search) {
		w.add("false")
		return
	}
	var spans, contents, shared where
	spans.add(scopeMark)
	contents.add(scopeMark)
	shared.add(scopeMark)
	if !lower.IsZero() {
		// A native run may state a start that is later than its first span's.
		earliest := lower.Add(-24 * time.Hour)
		early := earliest.UnixNano()
		spans.add("toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?))", early)
		contents.add("hour >= toStartOfHour(fromUnixTimestamp64Nano(?))", early)
		shared.add("day >= toDate(?)", dayNumber(earliest))
	}
	spans.add("hasAllTokens("+clickhouse.SpansText+", lowerUTF8(?))", q.Search)
	sharing := where{slices.Clone(contents.conditions), slices.Clone(contents.args)}
	shared.add("hasAllTokens("+clickhouse.ContentsText+", lowerUTF8(?))", q.Search)
	sharing.add("(content_id, shared_tail) IN (SELECT content_id, shared_tail FROM shared_contents WHERE "+shared.String()+")", shared.args...)
	contents.add("hasAllTokens("+clickhouse.ContentsText+", lowerUTF8(?))", q.Search)
	w.add("run_id IN (SELECT run_id FROM spans WHERE "+spans.String()+
		" UNION DISTINCT SELECT run_id FROM contents WHERE "+contents.String()+
		" UNION DISTINCT SELECT run_id FROM contents WHERE "+sharing.String()+")",
		slices.Concat(spans.args, contents.args, sharing.args)...)
}

// hasWord reports whether ClickHouse's splitByNonAlpha finds a token in text.
func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}
