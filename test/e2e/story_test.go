// Package e2e tells the story of the product through its built binaries, stock OpenTelemetry SDKs and a real
// browser: the first run of `looptrace up`, a key, reading, refusals, a restart.
//
// It needs `make build`, npm and Python with venv; Chromium is looked for as LOOPTRACE_CHROMIUM, then
// /usr/bin/chromium. Screenshots of every page go to test/e2e/output.
package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
)

// patience bounds the wait for one condition, on a machine that may do much else.
const patience = time.Minute

// story is what one step leaves to the next.
type story struct {
	product *product.Product
	browser *browser.Browser

	projectID string
	// ingestKey was minted in the browser; adminKey reads and manages.
	ingestKey, adminKey string
	// needle is the run with a name of its own, trips those that SDKs have sent.
	needle string
	trips  []string
	// long is a run of 10,000 spans.
	long string
}

// TestStory is one story: each step stands on those before it.
func TestStory(t *testing.T) {
	s := &story{browser: browser.New(t, "output")}
	begin := time.Now()
	s.product = product.Start(t)
	t.Logf("first start: ready after %.1f s", time.Since(begin).Seconds())

	t.Run("first run", s.setUp)
	require.NotEmpty(t, s.adminKey, "without keys the story ends here")
	t.Run("first run arrives", s.firstRunArrives)
	t.Run("stock SDKs", s.stockSDKs)
	t.Run("MCP clients", s.mcpClients)
	t.Run("self-test of the guide", s.selfTest)
	t.Run("native runs", s.nativeRuns)
	t.Run("refusals", s.refusals)
	t.Run("revocation", s.revocation)
	t.Run("costs", s.costs)
	t.Run("limits", s.limits)
	t.Run("list in the browser", s.listInBrowser)
	t.Run("live in the browser", s.liveInBrowser)
	t.Run("run in the browser", s.runInBrowser)
	t.Run("views of a run in the browser", s.viewsInBrowser)
	t.Run("long run in the browser", s.longRunInBrowser)
	t.Run("hostile content", s.hostileContent)
	t.Run("sessions", s.sessions)
	t.Run("every page", s.everyPage)
	t.Run("restart", s.restart)
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}
