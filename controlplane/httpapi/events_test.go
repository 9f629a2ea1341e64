package httpapi

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// TestStreamEndsSoon takes the access away right after it was checked: the stream ends within 5 seconds.
func TestStreamEndsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken time.Time
		request := &call{operation: &operation{writeTimeout: defaultWriteTimeout}, recheck: func(context.Context, access.Target) error {
			if taken.IsZero() {
				taken = time.Now()
				return nil
			}
			return problem.Missing()
		}}
		w := httptest.NewRecorder()
		events := newEventStream(context.WithValue(t.Context(), callKey{}, request), w)
		silent := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		require.NoError(t, follow(events, access.Target{}, silent, func(error) (bool, error) { return true, nil }))
		assert.LessOrEqual(t, time.Since(taken), 5*time.Second)
		assert.Contains(t, w.Body.String(), "event: end\n")
	})
}
