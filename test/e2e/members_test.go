package e2e

import (
	"testing"

	"github.com/google/uuid"
)

// TestMembers invites a colleague in the browser. The colleague joins in another one, reads a run, and leaves.
func TestMembers(t *testing.T) {
	p := newProject(t)
	p.play(t, "members", map[string]any{
		"runId": p.sendTrip(t), "email": p.Email,
		"colleague": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
	}, nil)
}
