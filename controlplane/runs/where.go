package runs

import (
	"strings"
	"time"
)

// where collects conditions with their arguments.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// inProjects begins the conditions of a statement with that on the caller's projects.
func inProjects() where { return where{conditions: []string{projectsMark}} }

// hours selects rows that start in the hours from that of first to that of last.
func (w *where) hours(first, last time.Time) {
	w.startsIn(first.Truncate(time.Hour), last.Truncate(time.Hour).Add(time.Hour))
}

// startsIn bounds start_time in terms of the table's partition and sort key as well, so that no part or granule outside is read. A zero
// bound is none. Hours are those of UTC, as in the tables: a server may have a time zone whose hours begin at half past.
func (w *where) startsIn(lower, upper time.Time) {
	if !lower.IsZero() {
		ns := lower.UnixNano()
		w.add("start_time >= fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", ns)
	}
	if !upper.IsZero() {
		ns := upper.UnixNano()
		w.add("start_time < fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", ns-1) // the bound is exclusive
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// duration is how long a run took, in nanoseconds. It is valid where hasEnd: the end of a run is unknown while the run is running, and
// when it was reported as failed without a time.
const (
	hasEnd   = "toUnixTimestamp64Nano(end_time) != 0"
	duration = "toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time)"
)
