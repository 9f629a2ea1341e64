package ratelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestJitterIsOnTop(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]time.Duration{
		0:                       2 * time.Second,
		time.Millisecond:        2 * time.Second,
		1500 * time.Millisecond: 3 * time.Second,
		40 * time.Second:        50 * time.Second,
		1000 * time.Hour:        30 * time.Hour,
	} {
		d := Decision{RetryAfter: wait}
		assert.Equal(t, want, d.Delay(func(most int64) int64 { return most }), "%s", wait)
	}
	for range 100 {
		assert.LessOrEqual(t, Jitter(1), int64(1))
		assert.GreaterOrEqual(t, Jitter(1), int64(0))
	}
}
