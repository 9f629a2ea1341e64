package runmodel

import "time"

// Interval is the time from Start to End.
type Interval struct{ Start, End time.Time }

// Clients round times: to milliseconds and microseconds, or to what a floating-point number of seconds holds. Of two calls
// the second of which waited for the first, it then began up to a unit before the first ended. Intervals that share more than a
// quarter of the shorter one are not of that kind, however short they are.
const (
	maxRounding   = time.Millisecond
	roundingShare = 4
)

// Precedes reports whether i was over when other began, as far as clocks can tell: they share no more than a millisecond,
// and no more than a quarter of the shorter of them.
func (i Interval) Precedes(other Interval) bool {
	shared := i.End.Sub(other.Start)
	if shared <= 0 {
		return true
	}
	return shared <= min(maxRounding, i.End.Sub(i.Start)/roundingShare, other.End.Sub(other.Start)/roundingShare)
}
