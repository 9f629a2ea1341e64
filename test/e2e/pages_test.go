package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages takes screenshots of every page and checks its accessibility. Then it visits each in an
// empty browser, which must send no request twice.
func TestPages(t *testing.T) {
	p := newProject(t)
	for range 6 {
		newProject(t) // the palette scrolls
	}
	revoked := p.mint(t, bearer(p.adminKey), "e2e revoked", "runs:read")
	require.Equal(t, http.StatusNoContent, p.do(t, http.MethodDelete, "/v1/keys/"+revoked.ID, bearer(p.adminKey), nil).Status)
	p.sendRuns(t, 20)
	p.sendHostileRuns(t)
	native, _ := p.sendNativeRun(t)
	p.play(t, "pages", map[string]any{"needle": native.RunID, "trip": p.sendTrip(t), "largest": p.sendLongRun(t, 10_000)}, nil)
	p.play(t, "visits", nil, nil)
}
