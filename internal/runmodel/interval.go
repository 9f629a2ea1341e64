package runmodel

import "time"

// Interval is the time from Start to End.
type Interval struct{ Start, End time.Time }

// Clients round times: to milliseconds, microseconds or the precision of floating-point seconds. So a call may seem
// to start slightly before the one that it waited for ended. An overlap of more than a quarter of the shorter
// interval is no rounding.
const (
	maxRounding   = time.Millisecond
	roundingShare = 4
)

// Precedes reports whether i ended before other started, as far as clocks can tell: they overlap by at most a
// millisecond and at most a quarter of the shorter one.
func (i Interval) Precedes(other Interval) bool {
	shared := i.End.Sub(other.Start)
	if shared <= 0 {
		return true
	}
	return shared <= min(maxRounding, i.End.Sub(i.Start)/roundingShare, other.End.Sub(other.Start)/roundingShare)
}
