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

// Fields tell a client where it stands: of the bucket that is nearest to empty, or that refused. The names are those
// of the first drafts of draft-ietf-httpapi-ratelimit-headers, which clients know.
func (d *Decision) Fields() [3]Field {
	return [3]Field{
		{"RateLimit-Limit", strconv.FormatFloat(d.Limit.Burst, 'f', 0, 64)},
		{"RateLimit-Remaining", strconv.FormatFloat(math.Floor(d.Remaining), 'f', 0, 64)},
		{"RateLimit-Reset", strconv.FormatInt(Seconds(d.Reset), 10)},
	}
}

// Detail says in words which limit refused.
func (d *Decision) Detail() string {
	return fmt.Sprintf("The %s's limit of %s %s a second is used up. Nothing was accepted.",
		d.Kind, strconv.FormatFloat(d.Limit.Rate, 'f', -1, 64), d.Measure)
}

// Delay is how long a refused client is told to wait, in whole seconds: until the debt is repaid, and what jitter
// makes of up to a quarter more, so that those refused together do not come back together.
func (d *Decision) Delay(jitter func(most int64) int64) time.Duration {
	whole := max(1, Seconds(d.RetryAfter))
	return time.Duration(whole+jitter(max(1, whole/4))) * time.Second
}

// Jitter is a random number from 0 to most.
func Jitter(most int64) int64 { return rand.Int64N(most + 1) } //nolint:gosec // no secret

// maxSeconds bounds what a client is told to wait.
const maxSeconds = 24 * 3600

// Seconds rounds up to what a client is told: a day at most.
func Seconds(d time.Duration) int64 {
	return min(maxSeconds, int64(math.Ceil(d.Seconds())))
}
