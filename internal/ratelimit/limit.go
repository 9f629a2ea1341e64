package ratelimit

import "time"

// Measure is what a bucket counts.
type Measure uint8

// The measures of a bucket.
const (
	Requests Measure = iota
	Bytes
	Spans

	measures = 3
)

func (m Measure) String() string {
	return [measures]string{"requests", "bytes", "spans"}[m]
}

// Kind is whose bucket it is.
type Kind uint8

// The kinds of subjects.
const (
	Key Kind = iota
	Project
	User

	kinds = 3
)

func (k Kind) String() string {
	return [kinds]string{"key", "project", "user"}[k]
}

// Subject is who spends.
type Subject struct {
	Kind Kind
	ID   string
}

// Limit bounds one measure of a subject. A rate of 0 is no limit.
type Limit struct {
	// Rate is in units a second.
	Rate float64
	// Burst is how much may be spent at once after a rest.
	Burst float64
}

// Limits are a subject's, by measure.
type Limits [measures]Limit

// Cost is what a request takes, by measure.
type Cost [measures]uint64

// Claim is one subject that a request is charged to.
type Claim struct {
	Subject Subject
	Limits  Limits
}

func (c *Claim) unlimited() bool { return c.Limits == Limits{} }

// Decision is the answer to a request.
type Decision struct {
	Allowed bool
	// Limited is whether any limit applies. The fields below tell of the bucket that refuses for longest, or else
	// of the one that is nearest to empty.
	Limited bool
	Kind    Kind
	Measure Measure
	Limit   Limit
	// Remaining is what can be spent now; nothing where the request is refused.
	Remaining float64
	// Reset is when the bucket is full again if nothing is spent.
	Reset time.Duration
	// RetryAfter is how long a refused request should wait.
	RetryAfter time.Duration

	level, left float64 // of that bucket's tokens, without the request and with it
}
