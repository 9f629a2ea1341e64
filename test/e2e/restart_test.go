package e2e

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRestart stops a product and starts it on the same data: runs, account and session are as before. Then it
// plays what a reader sees while parts are away.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.sendNativeRun(t)
	p.sendTrip(t)
	p.sendHostileRuns(t)
	p.sendRuns(t, 20)
	before := p.runs(t, url.Values{})
	require.NotEmpty(t, before)
	require.NoError(t, p.product.Down(), "it stops in order")
	begin := time.Now()
	require.NoError(t, p.product.Up(t.Context()))
	t.Logf("ready %.1f s after the restart", time.Since(begin).Seconds())

	assert.True(t, p.bootstrapped(t), "setup is still done")
	assert.Equal(t, before, p.runs(t, url.Values{}), "the same runs")
	p.play(t, "again", nil, nil)

	id := uuid.NewString()
	p.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{"run_id": id, "name": "after the restart", "start_time": time.Now()}}})
	p.awaitRun(t, id, ofSpans(1))

	p.playOutage(t)
}
