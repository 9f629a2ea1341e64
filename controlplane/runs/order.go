package runs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// orderValues are the expressions over the table runs that the orders by value sort by: integers, or null. Costs are not negative, so
// their bits sort as they do.
var orderValues = map[string]string{
	byDuration: "if(" + hasEnd + ", " + duration + ", NULL)",
	byCost:     "reinterpretAsInt64(cost_usd)",
	byTokens:   "if(input_tokens IS NULL AND output_tokens IS NULL AND other_tokens IS NULL, NULL, coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(other_tokens, 0))",
}

// byValue reads the page in the order of a value. It looks at all runs of the window, however deep the page, but reads in full only those
// of the page. If that takes too long, it looks only at those that started last, on later pages too.
func (l *list) byValue(ctx context.Context, page *Page) ([]listRow, error) {
	q := l.query
	start, end, err := l.service.startRange(ctx, l.projects, q.Filter)
	if err != nil {
		return nil, err
	}
	earlier := false
	if l.after != nil && l.after.From != 0 {
		start, earlier = time.Unix(0, l.after.From).UTC(), true
	}
	var rows []listRow
	partial, err := l.service.readNewest(&start, end, func(s *Service, start time.Time) error {
		var err error
		rows, err = l.valueRows(ctx, s, start, end)
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

func (l *list) valueRows(ctx context.Context, s *Service, start, end time.Time) ([]listRow, error) {
	q := l.query
	column, fromLargest := strings.CutPrefix(q.Order, descending)
	compare, direction := ">", "ASC"
	if fromLargest {
		compare, direction = "<", "DESC"
	}
	w := inProjects()
	w.startsIn(start, end)
	q.conditions(&w, start)
	order := " ORDER BY value " + direction + " NULLS LAST, start_time DESC, run_id DESC"
	later := "true"
	var args []any
	if l.after != nil && l.after.ID != "" {
		older := "(start_time, run_id) < (fromUnixTimestamp64Nano(?), toUUID(?))"
		if l.after.Value == nil {
			later = "value IS NULL AND " + older
			args = append(args, l.after.Time, l.after.ID)
		} else {
			later = "(value " + compare + " ? OR value IS NULL OR value = ? AND " + older + ")"
			args = append(args, *l.after.Value, *l.after.Value, l.after.Time, l.after.ID)
		}
	}
	type key struct {
		RunID     uuid.UUID `ch:"run_id"`
		StartTime time.Time `ch:"start_time"`
		Value     *int64    `ch:"value"`
	}
	var keys []key
	err := query(ctx, s.conn, l.projects, &keys, `SELECT run_id, start_time, value FROM (
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
	whole := inProjects()
	whole.add("run_id IN (?)", ids)
	whole.add("toUnixTimestamp(toStartOfHour(start_time)) IN (?)", hours)
	whole.add("toYYYYMMDD(start_time) IN (?)", days)
	err = readListed(ctx, s, l.projects, &found, "", whole, "", Filter{}.settings)
	if err != nil {
		return nil, err
	}
	rows := make([]listRow, len(keys))
	for _, run := range found {
		i := at[run.RunID]
		rows[i] = listRow{Run: run, Value: keys[i].Value}
	}
	// A run that moved to another hour in between is now on another page.
	return slices.DeleteFunc(rows, func(row listRow) bool { return row.RunID == uuid.Nil }), nil
}

// yearMonthDay formats t as ClickHouse's toYYYYMMDD does.
func yearMonthDay(t time.Time) int {
	year, month, day := t.UTC().Date()
	const hundred = 100
	return (year*hundred+int(month))*hundred + day
}
