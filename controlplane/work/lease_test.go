package work

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLeaseEndsBeforeOthersTakeTheJobs has databases that are slow or hang. The time of a stamp is that before it was asked for: what the
// database writes is never older.
func TestLeaseEndsBeforeOthersTakeTheJobs(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	slow := func(ctx context.Context) error {
		select {
		case <-time.After(4 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	works := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		stamp, rescue func(context.Context) error
		stampedBefore time.Duration
		ends          time.Duration // after the last stamp was asked for, 0 for not at all
	}{
		"works":                    {stamp: works, rescue: works},
		"each answer is late":      {stamp: slow, rescue: slow},
		"no answer":                {stamp: hang, rescue: works, ends: aloneAfter},
		"no answer, and was late":  {stamp: hang, rescue: works, stampedBefore: 4 * time.Second, ends: aloneAfter},
		"the rescue has no answer": {stamp: works, rescue: hang},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				stamped := time.Now().Add(-c.stampedBefore)
				err := keep(ctx, stamped, c.stamp, c.rescue)
				if c.ends == 0 {
					require.NoError(t, err)
					return
				}
				require.Error(t, err)
				assert.Equal(t, c.ends, time.Since(stamped))
				assert.Less(t, c.ends, goneAfter)
			})
		})
	}
}
