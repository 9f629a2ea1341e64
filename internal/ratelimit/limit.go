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

// Kind is the kind of a subject.
type Kind uint8

// Kinds of subjects.
const (
	Key Kind = iota
	Project
	User

	kinds = 3
)

func (k Kind) String() string {
	return [kinds]string{"key", "project", "user"}[k]
}

// Subject is who a bucket belongs to.
type Subject struct {
	Kind Kind
	ID   string
}

// Limit is the limit of one measure. A rate of 0 means no limit.
type Limit struct {
	// Rate is in units per second.
	Rate float64
	// Burst is how much may be spent at once after a pause.
	Burst float64
}

// Limits are a subject's limits by measure.
type Limits [measures]Limit

// Cost is the cost of a request by measure.
type Cost [measures]uint64

// Claim is a subject that pays for a request.
type Claim struct {
	Subject Subject
	Limits  Limits
}

func (c *Claim) unlimited() bool { return c.Limits == Limits{} }

// Decision is the result of Admit.
type Decision struct {
	Allowed bool
	// Limited reports whether any limit applies. The fields below describe the bucket that refuses for the longest
	// time, or else the one that is closest to empty.
	Limited bool
	Kind    Kind
	Measure Measure
	Limit   Limit
	// Remaining is what can be spent now. It is 0 if the request is refused.
	Remaining float64
	// Reset is how long the bucket takes to fill if nothing is spent.
	Reset time.Duration
	// RetryAfter is how long a refused client should wait.
	RetryAfter time.Duration

	level, left float64 // that bucket's tokens without and with the request
}
