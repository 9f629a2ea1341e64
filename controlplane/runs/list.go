package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// ListQuery selects a page of runs.
type ListQuery struct {
	Filter
	// Order is start_time, duration_ms, cost_usd or total_tokens, descending with a leading -. Empty is NewestFirst.
	Order  string
	Limit  int
	Offset int
	Cursor string // not together with Offset
	// ScoreNames are the names of scores whose summaries the runs get.
	ScoreNames []string

	full bool // nothing is cut, for exports
}

// Page is a page of runs. NextCursor is empty on the last page.
type Page struct {
	Runs       []Run
	HasMore    bool
	NextCursor string
	// Partial reports that the search took too long. Runs beyond SearchedTo, in the list's direction of time, were not searched; in an
	// order by value, runs that started before it. In an order by start, NextCursor continues there.
	Partial    bool
	SearchedTo time.Time
}

// Orders of a list. All but the first two are by a value that may be unknown. Runs without it always come last.
const (
	NewestFirst = "-start_time"
	OldestFirst = "start_time"
	descending  = "-"
	byDuration  = "duration_ms"
	byCost      = "cost_usd"
	byTokens    = "total_tokens"
)

// listWindows are the lengths of the windows that a list searches one after the other. Most lists fill up from the nearest hours. One
// with a selective filter reads each window once.
var listWindows = []time.Duration{
	time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// searchWindows are those of a search, which also reads what was recorded after each window.
var searchWindows = []time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour}

// Timeouts of a list and of each of its statements.
const (
	listTimeout   = 10 * time.Second
	windowTimeout = 5 * time.Second
)

// List returns a page of a project's runs. A search that takes too long returns what it has found, and the page is partial.
func (s *Service) List(ctx context.Context, projects access.Projects, q ListQuery) (Page, error) {
	projects = projects.Only(q.ProjectID)
	q.Order = cmp.Or(q.Order, NewestFirst)
	digest := q.Digest()
	after, err := readCursor(q.Cursor, listRuns, digest)
	if err != nil {
		return Page{}, err
	}
	if after != nil && after.Order != q.Order {
		return Page{}, ErrInvalidCursor
	}
	l := list{service: s, projects: projects, query: q, digest: digest, after: after}
	if l.query.Filter, err = s.resolve(ctx, projects, q.Filter); err != nil {
		return Page{}, err
	}
	var rows []listRow
	var page Page
	switch {
	case q.Order != NewestFirst && q.Order != OldestFirst:
		rows, err = l.byValue(ctx, &page)
	case q.Offset > 0:
		rows, err = l.window(ctx, s, q.StartAfter, q.StartBefore, q.Limit+1)
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
		// The rows that are cut off come before what was not searched.
		rows, page.HasMore = rows[:q.Limit], true
		page.NextCursor = l.cursorAt(rows[len(rows)-1]).String()
		if q.Order == NewestFirst || q.Order == OldestFirst {
			page.Partial, page.SearchedTo = false, time.Time{}
		}
	}
	found := make([]*runmodel.Run, len(rows))
	for i := range rows {
		found[i] = &rows[i].Run
	}
	if err := s.addFailedScores(ctx, projects, 0, found); err != nil {
		return Page{}, err
	}
	page.Runs = make([]Run, len(rows))
	for i := range rows {
		page.Runs[i] = listed(rows[i].Run)
		if !q.full {
			page.Runs[i].Cut = cutRun(&page.Runs[i].Run)
		}
	}
	if err := s.addScores(ctx, projects, page.Runs, maxListedScores); err != nil {
		return Page{}, err
	}
	return page, s.addScoreSummaries(ctx, projects, page.Runs, q.ScoreNames)
}

// list is a page of a list while it is read.
type list struct {
	service  *Service
	projects access.Projects
	query    ListQuery
	digest   string
	after    *cursor
}

// listRow is a run with the value that the list is ordered by.
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

// byStart reads one row more than the page takes, which shows whether there are more. It searches window after window, so that it reads
// no more than it needs.
func (l *list) byStart(ctx context.Context, page *Page) ([]listRow, error) {
	q := l.query
	first, last := q.StartAfter, q.StartBefore // not searched yet
	oldest := q.Order == OldestFirst
	if oldest && (first.IsZero() || last.IsZero()) {
		var err error
		if first, last, err = l.service.startRange(ctx, l.projects, q.Filter); err != nil {
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
	windows := listWindows
	if q.Search != "" {
		windows = searchWindows
	}
	ends := windowEnds(begin, windows, oldest)
	near, far := &last, &first // the list goes from near to far
	if oldest {
		near, far = far, near
	}
	deadline := time.Now().Add(listTimeout)
	for {
		end := *far
		if len(ends) > 0 && (oldest && ends[0].Before(last) || !oldest && ends[0].After(first)) {
			end = ends[0]
		}
		lower, upper := end, last
		if oldest {
			lower, upper = first, end
		}
		remaining := min(windowTimeout, time.Until(deadline))
		err := error(ErrTooExpensive)
		var found []listRow
		if remaining > listTimeout/100 {
			found, err = l.window(ctx, l.service.with(options{timeout: remaining}), lower, upper, q.Limit+1-len(rows))
		}
		switch {
		case err == nil:
			rows = append(rows, found...)
			if len(ends) > 0 && end.Equal(ends[0]) {
				ends = ends[1:]
			}
			if len(rows) > q.Limit || end.Equal(*far) {
				return rows, nil
			}
			*near = end
		case !errors.Is(err, ErrTooExpensive):
			return nil, err
		default:
			nearer, ok := smallerWindow(begin, lower, upper, oldest)
			if ok && remaining > listTimeout/100 {
				ends = append([]time.Time{nearer}, ends...)
				continue
			}
			l.markPartial(page, first, last, begin, oldest)
			return rows, nil
		}
	}
}

// smallerWindow returns the end of a window an eighth as long as one that took too long. ok is false if that is too short to try.
func smallerWindow(begin, lower, upper time.Time, oldest bool) (end time.Time, ok bool) {
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

// markPartial notes in the page how far the list has searched, and where it continues.
func (l *list) markPartial(page *Page, first, last, begin time.Time, oldest bool) {
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

// windowEnds returns where windows of these lengths end, going back or forward from begin. They end on whole hours, because the versions
// of a run's row share an hour.
func windowEnds(begin time.Time, windows []time.Duration, forward bool) []time.Time {
	ends := make([]time.Time, len(windows))
	for i, length := range windows {
		if forward {
			ends[i] = begin.Add(length + time.Hour).Truncate(time.Hour)
		} else {
			ends[i] = begin.Add(-length).Truncate(time.Hour)
		}
	}
	return ends
}

// window reads runs that started in [lower, upper) in the order of start. A zero bound is none.
func (l *list) window(ctx context.Context, s *Service, lower, upper time.Time, limit int) ([]listRow, error) {
	w := inProjects()
	w.startsIn(lower, upper)
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
	if l.query.full {
		err := query(ctx, s.conn, l.projects, &rows, `SELECT `+value+runColumns+` FROM runs FINAL WHERE `+w.String()+` `+order+l.query.settings(),
			append(w.args, limit, l.query.Offset)...)
		return rows, err
	}
	err := readListed(ctx, s, l.projects, &rows, value, w, order, l.query.settings, limit, l.query.Offset)
	return rows, err
}
