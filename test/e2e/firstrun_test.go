package e2e

import (
	"testing"

	"github.com/looptrace/looptrace/test/programs"
)

// TestFirstRun follows the page "Connect" and runs the code that it shows.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	newProject(t).play(t, "firstrun", map[string]any{
		"python": programs.Python(t, "e2e-python", "python/requirements.txt"), "scratch": t.TempDir(),
	}, nil)
}
