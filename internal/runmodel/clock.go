package runmodel

// MetadataClock is the metadata of a span, and of its run, that says what is wrong with its times. A filter by metadata
// finds such runs.
const MetadataClock = "looptrace.clock"

// MetadataEnd is the metadata of a span that ended before it started: the end that was sent.
const MetadataEnd = "looptrace.clock.end_time"

// What WrongClock finds.
const (
	ClockEndBeforeStart = "end before start"
	ClockMilliseconds   = "milliseconds instead of nanoseconds"
	ClockMicroseconds   = "microseconds instead of nanoseconds"
	ClockBefore2000     = "before 2000"
)

// minPlausible is the beginning of the year 2000, in Unix nanoseconds. Nobody traced agents before.
const minPlausible = 946_684_800_000_000_000

// WrongClock returns what is wrong with the times of a span in Unix nanoseconds, "" if nothing is. 0 is an absent time.
func WrongClock(start, end uint64) string {
	const milli, micro = 1_000_000, 1_000
	switch {
	case start >= minPlausible/milli && start <= MaxTimestamp/milli:
		return ClockMilliseconds
	case start >= minPlausible/micro && start <= MaxTimestamp/micro:
		return ClockMicroseconds
	case start > 0 && start < minPlausible:
		return ClockBefore2000
	case end > 0 && end < start:
		return ClockEndBeforeStart
	}
	return ""
}
