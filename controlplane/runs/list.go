package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// runColumns are the columns of runmodel.Run, as the table runs has them.
const runColumns = `project_id, run_id, version, start_time, end_time, first_received, root_span_id,
	name, kind, status, error_type, error_message, input_preview, output_preview,
	session_id, conversation_id, user_id, agent_name, environment, release,
	prompt_id, prompt_name, prompt_version, tags, metadata, models,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
	cost_usd, cost_source, unpriced_call_count, span_count, error_count, llm_call_count, tool_call_count,
	tools, fingerprint, failure_class, failing_span_id, failing_kind, failing_name, failing_type, failing_template`

// steps are how far from where a list begins it looks at a time. Most lists are filled from the nearest hours; one that
// filters hard reads each period once.
var steps = []time.Duration{
	time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// searchSteps are those of a search, which looks through all that a period's runs said after it as well.
var searchSteps = []time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour}

// Bounds of a list: of all its statements, and of each.
const (
	listTime   = 10 * time.Second
	periodTime = 5 * time.Second
)

// Orders of a list. All but the first two are by a value that may be unknown: such runs come last, whichever way.
const (
	NewestFirst = "-start_time"
	OldestFirst = "start_time"
	descending  = "-"
	byDuration  = "duration_ms"
	byCost      = "cost_usd"
	byTokens    = "total_tokens"
)

// orderValues are the expressions over the table runs, whole numbers or null, that the orders by value go by. The bits
// of a cost, which is not negative, are in its order.
var orderValues = map[string]string{
	byDuration: "if(" + endKnown + ", " + duration + ", NULL)",
	byCost:     "reinterpretAsInt64(cost_usd)",
	byTokens:   "if(input_tokens IS NULL AND output_tokens IS NULL, NULL, coalesce(input_tokens, 0) + coalesce(output_tokens, 0))",
}

// List returns a page of a project's runs. What takes too long to search is left out, and said.
func (s *Service) List(ctx context.Context, projects access.Projects, q ListQuery) (Page, error) {
	projects = projects.Only(q.ProjectID)
	q.Order = cmp.Or(q.Order, NewestFirst)
	l := list{service: s, projects: projects, query: q, digest: q.Digest()}
	if q.Cursor != "" {
		after, err := parseCursor(q.Cursor, listRuns)
		if err != nil {
			return Page{}, err
		}
		if after.Order != q.Order || after.Filter != l.digest {
			return Page{}, ErrInvalidCursor
		}
		l.after = &after
	}
	l.query.Filter = q.at(s.now())
	var rows []listRow
	var page Page
	var err error
	switch {
	case q.Order != NewestFirst && q.Order != OldestFirst:
		rows, err = l.byValue(ctx, &page)
	case q.Offset > 0:
		rows, err = l.period(ctx, q.StartAfter, q.StartBefore, q.Limit+1)
		if errors.Is(err, ErrTooExpensive) {
			err = fmt.Errorf("%w: %w", ErrOffsetTooExpensive, err)
		}
	default:
		rows, err = l.byStart(ctx, &page)
	}
	if err != nil {
		return Page{}, err
	}
	if len(rows) > q.Limit {
		// What was not searched comes after what is not shown.
		rows, page.HasMore = rows[:q.Limit], true
		page.NextCursor = l.cursorAt(rows[len(rows)-1]).String()
		if q.Order == NewestFirst || q.Order == OldestFirst {
			page.Partial, page.SearchedTo = false, time.Time{}
		}
	}
	page.Runs = make([]Run, len(rows))
	for i := range rows {
		page.Runs[i] = listed(rows[i].Run)
		if !q.whole {
			page.Runs[i].Cut = cutRun(&page.Runs[i].Run)
		}
	}
	return page, s.addScores(ctx, projects, page.Runs, mostScoresListed)
}

// list is one page of a list as it is made.
type list struct {
	service  *Service
	projects access.Projects
	query    ListQuery
	digest   string
	after    *cursor
}

// listRow is a run with the value that it is ordered by.
type listRow struct {
	runmodel.Run
	Value *int64 `ch:"value"`
}

func (l *list) cursorAt(row listRow) cursor {
	c := cursor{List: listRuns, Order: l.query.Order, Filter: l.digest, Time: row.StartTime.UnixNano(), ID: row.RunID.String(), Value: row.Value}
	if l.after != nil {
		c.From = l.after.From
	}
	return c
}

// byStart reads one row more than the page takes, which tells whether there are more. It goes from period to period, so
// that it reads no more than it takes to fill the page.
func (l *list) byStart(ctx context.Context, page *Page) ([]listRow, error) {
	q := l.query
	first, last := q.StartAfter, q.StartBefore // what is not searched yet
	oldest := q.Order == OldestFirst
	if oldest && (first.IsZero() || last.IsZero()) {
		var err error
		if first, last, err = l.service.startsBetween(ctx, l.projects, q.Filter); err != nil {
			return nil, err
		}
	}
	begin := cmp.Or(last, l.service.now())
	if oldest {
		begin = first
	}
	if l.after != nil {
		begin = time.Unix(0, l.after.Time).UTC()
		if oldest {
			first = begin
		} else {
			last = begin.Add(1)
		}
	}
	var rows []listRow
	steps := steps
	if q.Search != "" {
		steps = searchSteps
	}
	ends := periods(begin, steps)
	if oldest {
		ends = periodsAfter(begin, steps)
	}
	deadline := time.Now().Add(listTime)
	for {
		end := first
		if oldest {
			end = last
		}
		if len(ends) > 0 && (oldest && ends[0].Before(last) || !oldest && ends[0].After(first)) {
			end = ends[0]
		}
		lower, upper := end, last
		if oldest {
			lower, upper = first, end
		}
		remaining := min(periodTime, time.Until(deadline))
		err := error(ErrTooExpensive)
		var found []listRow
		if remaining > listTime/100 {
			found, err = l.period(bounded(ctx, remaining), lower, upper, q.Limit+1-len(rows))
		}
		switch {
		case err == nil:
			rows = append(rows, found...)
			if len(ends) > 0 && end.Equal(ends[0]) {
				ends = ends[1:]
			}
			if len(rows) > q.Limit || end.Equal(first) && !oldest || end.Equal(last) && oldest {
				return rows, nil
			}
			if oldest {
				first = end
			} else {
				last = end
			}
		case !errors.Is(err, ErrTooExpensive):
			return nil, err
		default:
			nearer, ok := nearerEnd(begin, lower, upper, oldest)
			if ok && remaining > listTime/100 {
				ends = append([]time.Time{nearer}, ends...)
				continue
			}
			l.stopAt(page, first, last, begin, oldest)
			return rows, nil
		}
	}
}

// nearerEnd is where a period ends that is an eighth as long as one that took too long; ok is false where that is not
// worth a try.
func nearerEnd(begin, lower, upper time.Time, oldest bool) (end time.Time, ok bool) {
	const share = 8
	if upper.IsZero() {
		upper = begin
	}
	if lower.IsZero() {
		lower = upper.Add(-10 * 365 * 24 * time.Hour)
	}
	length := upper.Sub(lower) / share
	if length < time.Minute {
		return time.Time{}, false
	}
	if oldest {
		return lower.Add(length), true
	}
	return upper.Add(-length), true
}

// stopAt says how far a list has searched, and where it goes on.
func (l *list) stopAt(page *Page, first, last, begin time.Time, oldest bool) {
	at := last
	if oldest {
		at = first
	}
	if at.IsZero() {
		at = begin
	}
	page.Partial, page.SearchedTo, page.HasMore = true, at, true
	c := cursor{List: listRuns, Order: l.query.Order, Filter: l.digest, Time: at.UnixNano(), ID: uuid.Nil.String()}
	if oldest {
		c.Time, c.ID = at.UnixNano()-1, uuid.Max.String()
	}
	if l.after != nil && (oldest && at.Equal(begin) || !oldest && at.Equal(begin.Add(1))) { // nothing was searched
		c.Time, c.ID = l.after.Time, l.after.ID
	}
	page.NextCursor = c.String()
}

// periods are the times at which steps back end, on whole hours: the versions of a run's row share an hour.
func periods(newest time.Time, steps []time.Duration) []time.Time {
	times := make([]time.Time, len(steps))
	for i, step := range steps {
		times[i] = newest.Add(-step).Truncate(time.Hour)
	}
	return times
}

// periodsAfter are the times at which steps forward end.
func periodsAfter(oldest time.Time, steps []time.Duration) []time.Time {
	times := make([]time.Time, len(steps))
	for i, step := range steps {
		times[i] = oldest.Add(step + time.Hour).Truncate(time.Hour)
	}
	return times
}

// period reads runs that started in [lower, upper), either of which may be zero for no bound, in the order of start.
func (l *list) period(ctx context.Context, lower, upper time.Time, limit int) ([]listRow, error) {
	w := where{conditions: []string{projectsMark}}
	w.period("start_time", lower, upper)
	compare, direction := "<", "DESC"
	if l.query.Order == OldestFirst {
		compare, direction = ">", "ASC"
	}
	if l.after != nil {
		w.add("(start_time, run_id) "+compare+" (fromUnixTimestamp64Nano(?), toUUID(?))", l.after.Time, l.after.ID)
	}
	l.query.conditions(&w, lower)
	var rows []listRow
	const value = `NULL::Nullable(Int64) AS value, `
	order := `ORDER BY start_time ` + direction + `, run_id ` + direction + ` LIMIT ? OFFSET ?`
	if l.query.whole {
		err := query(ctx, l.service.conn, l.projects, &rows, `SELECT `+value+runColumns+` FROM runs FINAL WHERE `+w.String()+` `+order+l.query.settings(),
			append(w.args, limit, l.query.Offset)...)
		return rows, err
	}
	err := readListed(ctx, l.service, l.projects, &rows, value, w, order, l.query.settings, limit, l.query.Offset)
	return rows, err
}

// byValue reads the page in the order of a value: all runs of the window are looked at, however deep the page, but only
// those of the page are read whole. Where that takes too long, those that started last count, for later pages too.
func (l *list) byValue(ctx context.Context, page *Page) ([]listRow, error) {
	q := l.query
	start, end, err := l.service.startsBetween(ctx, l.projects, q.Filter)
	if err != nil {
		return nil, err
	}
	earlier := false
	if l.after != nil && l.after.From != 0 {
		start, earlier = time.Unix(0, l.after.From).UTC(), true
	}
	var rows []listRow
	partial, err := l.service.newestWithin(ctx, &start, end, func(ctx context.Context, start time.Time) error {
		var err error
		rows, err = l.valueRows(ctx, start, end)
		return err
	})
	if err != nil {
		return nil, err
	}
	if page.Partial = partial || earlier; page.Partial {
		page.SearchedTo = start
		if l.after == nil {
			l.after = &cursor{}
		}
		l.after.From = start.UnixNano()
	}
	return rows, nil
}

func (l *list) valueRows(ctx context.Context, start, end time.Time) ([]listRow, error) {
	q := l.query
	column, fromLargest := strings.CutPrefix(q.Order, descending)
	compare, direction := ">", "ASC"
	if fromLargest {
		compare, direction = "<", "DESC"
	}
	w := where{conditions: []string{projectsMark}}
	w.period("start_time", start, end)
	q.conditions(&w, start)
	order := " ORDER BY value " + direction + " NULLS LAST, start_time DESC, run_id DESC"
	later := "true"
	var args []any
	if l.after != nil && l.after.ID != "" {
		place := "(start_time, run_id) < (fromUnixTimestamp64Nano(?), toUUID(?))"
		if l.after.Value == nil {
			later = "value IS NULL AND " + place
			args = append(args, l.after.Time, l.after.ID)
		} else {
			later = "(value " + compare + " ? OR value IS NULL OR value = ? AND " + place + ")"
			args = append(args, *l.after.Value, *l.after.Value, l.after.Time, l.after.ID)
		}
	}
	type key struct {
		RunID     uuid.UUID `ch:"run_id"`
		StartTime time.Time `ch:"start_time"`
		Value     *int64    `ch:"value"`
	}
	var keys []key
	err := query(ctx, l.service.conn, l.projects, &keys, `SELECT run_id, start_time, value FROM (
			SELECT run_id, start_time, `+orderValues[column]+` AS value FROM runs FINAL WHERE `+w.String()+`
		) WHERE `+later+order+` LIMIT ? OFFSET ?`+q.settings(), append(append(slices.Clone(w.args), args...), q.Limit+1, q.Offset)...)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	ids, hours, days := make([]uuid.UUID, len(keys)), make([]int64, len(keys)), make([]int, len(keys))
	at := make(map[uuid.UUID]int, len(keys))
	for i, k := range keys {
		ids[i], hours[i] = k.RunID, k.StartTime.Truncate(time.Hour).Unix()
		days[i] = yearMonthDay(k.StartTime)
		at[k.RunID] = i
	}
	var found []runmodel.Run
	var whole where
	whole.add(projectsMark)
	whole.add("run_id IN (?)", ids)
	whole.add("toUnixTimestamp(toStartOfHour(start_time)) IN (?)", hours)
	whole.add("toYYYYMMDD(start_time) IN (?)", days)
	err = readListed(ctx, l.service, l.projects, &found, "", whole, "", Filter{}.settings)
	if err != nil {
		return nil, err
	}
	rows := make([]listRow, len(keys))
	for _, run := range found {
		i := at[run.RunID]
		rows[i] = listRow{Run: run, Value: keys[i].Value}
	}
	// A run that changed its hour in between is on another page by now.
	return slices.DeleteFunc(rows, func(row listRow) bool { return row.RunID == uuid.Nil }), nil
}

// yearMonthDay writes t as ClickHouse's toYYYYMMDD does.
func yearMonthDay(t time.Time) int {
	year, month, day := t.UTC().Date()
	const hundred = 100
	return (year*hundred+int(month))*hundred + day
}

// selectRuns reads the runs that conditions select, as lists show them.
func (s *Service) selectRuns(ctx context.Context, projects access.Projects, w where, order string, args ...any) ([]Run, error) {
	var rows []runmodel.Run
	err := readListed(ctx, s, projects, &rows, "", w, order, Filter{}.settings, args...)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(rows))
	for i := range rows {
		runs[i] = listed(rows[i])
		runs[i].Cut = cutRun(&runs[i].Run)
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
