package ratelimit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Field is a header field of an answer.
type Field struct{ Name, Value string }

// Fields returns the header fields about the bucket that refused the request, or else is closest to empty. They have
// the names of the first drafts of draft-ietf-httpapi-ratelimit-headers, which clients know.
func (d *Decision) Fields() [3]Field {
	return [3]Field{
		{"RateLimit-Limit", strconv.FormatFloat(d.Limit.Burst, 'f', 0, 64)},
		{"RateLimit-Remaining", strconv.FormatFloat(math.Floor(d.Remaining), 'f', 0, 64)},
		{"RateLimit-Reset", strconv.FormatInt(Seconds(d.Reset), 10)},
	}
}

// Detail describes the limit that refused the request.
func (d *Decision) Detail() string {
	return fmt.Sprintf("The %s's limit of %s %s a second is used up. Nothing was accepted.",
		d.Kind, strconv.FormatFloat(d.Limit.Rate, 'f', -1, 64), d.Measure)
}

// Delay returns how long a refused client should wait, in whole seconds: until the debt is repaid, plus up to a
// quarter more from jitter, so that refused clients do not come back all at once.
func (d *Decision) Delay(jitter func(limit int64) int64) time.Duration {
	whole := max(1, Seconds(d.RetryAfter))
	return time.Duration(whole+jitter(max(1, whole/4))) * time.Second
}

// Jitter returns a random number from 0 to limit.
func Jitter(limit int64) int64 { return rand.Int64N(limit + 1) } //nolint:gosec // no secret

// maxSeconds limits how long a client is asked to wait.
const maxSeconds = 24 * 3600

// Seconds rounds d up, to a day at most.
func Seconds(d time.Duration) int64 {
	return min(maxSeconds, int64(math.Ceil(d.Seconds())))
}
