package e2e

import (
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
)

// TestMembers manages people, accounts and organizations in the browser. Each scenario has a colleague of its own.
func TestMembers(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	runID := p.sendTrip(t)
	empty, err := p.NewProject(t.Context(), t.Name()+" empty")
	require.NoError(t, err)
	for _, scenario := range []string{"members", "memberships", "account", "organizations"} {
		t.Run(scenario, func(t *testing.T) {
			name := "ann-" + uuid.NewString()[:8]
			p.play(t, scenario, map[string]any{
				"runId": runID, "emptyProjectId": empty.ProjectID, "email": p.Email, "organization": name,
				"colleague": name + "@example.com", "password": "plum gravel otter kiln",
			}, nil)
		})
	}
}
