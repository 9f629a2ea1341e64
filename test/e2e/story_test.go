// Package e2e tells the story of the product through its built binaries, stock OpenTelemetry SDKs and a real
// browser: the first run of `looptrace up`, a key, real traces, reading, refusals, a restart.
//
// It needs `make build`, npm and Python with venv; Chromium is looked for as LOOPTRACE_CHROMIUM, then
// /usr/bin/chromium. Screenshots of every page go to test/e2e/output.
package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// patience bounds the wait for one condition, on a machine that may do much else.
const patience = time.Minute

// story is what one step leaves to the next.
type story struct {
	product *product.Product
	browser *browser

	projectID string
	// ingestKey was minted in the browser; adminKey reads and manages.
	ingestKey, adminKey string
	// needle is the run with a name of its own, trips those that SDKs have sent.
	needle string
	trips  []string
	traces *traces
}

// TestStory is one story: each step stands on those before it.
func TestStory(t *testing.T) {
	s := &story{browser: newBrowser(t)}
	begin := time.Now()
	s.product = product.Start(t)
	t.Logf("first start: ready after %.1f s", time.Since(begin).Seconds())

	s.step(t, "first run", s.setUp)
	require.NotEmpty(t, s.adminKey, "without keys the story ends here")
	s.step(t, "first run arrives", s.firstRunArrives)
	s.step(t, "real traces", s.realTraces)
	s.step(t, "stock SDKs", s.stockSDKs)
	s.step(t, "native runs", s.nativeRuns)
	s.step(t, "refusals", s.refusals)
	s.step(t, "revocation", s.revocation)
	s.step(t, "list in the browser", s.listInBrowser)
	s.step(t, "run in the browser", s.runInBrowser)
	s.step(t, "hostile content", s.hostileContent)
	s.step(t, "sessions", s.sessions)
	s.step(t, "every page", s.everyPage)
	s.step(t, "restart", s.restart)
}

func (s *story) step(t *testing.T, name string, step func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		begin := time.Now()
		step(t)
		t.Logf("took %.1f s", time.Since(begin).Seconds())
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}
