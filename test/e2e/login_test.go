package e2e

import "testing"

// TestLogin logs in and out in the browser.
func TestLogin(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.play(t, "sessions", map[string]any{"cookie": "", "runId": p.sendRuns(t, 1), "email": p.Email, "password": p.Password}, nil)
}
