package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages takes screenshots of pages that TestAccessibility doesn't open, and checks their accessibility. Then it
// visits every page in an empty browser, which must send no request twice.
func TestPages(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	revoked := p.mint(t, bearer(p.adminKey), "e2e revoked", "runs:read")
	require.Equal(t, http.StatusNoContent, p.do(t, http.MethodDelete, "/v1/keys/"+revoked.ID, bearer(p.adminKey), nil).Status)
	p.sendRuns(t, 20)
	p.sendHostileRuns(t)
	p.sendTrip(t) // it fails
	p.play(t, "pages", map[string]any{"largest": p.sendLongRun(t, 10_000)}, nil)
	p.play(t, "visits", nil, nil)
}
