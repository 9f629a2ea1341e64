// Package browser runs scenarios in Chromium: LOOPTRACE_CHROMIUM, or else /usr/bin/chromium. The scenarios are the
// programs in this folder. They need Node.js.
package browser

import (
	"context"
	"embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/programs"
)

//go:embed *.mjs package.json package-lock.json .npmrc
var scenarios embed.FS

// Browser runs scenarios. Each is a program with a new Chromium.
type Browser struct {
	chromium, scripts, output string
}

// New installs what the scenarios need. It empties the folder output, which gets their screenshots and the traces of
// failures.
func New(t *testing.T, output string) *Browser {
	t.Helper()
	chromium := os.Getenv("LOOPTRACE_CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	_, err := os.Stat(chromium)
	require.NoError(t, err, "Chromium is required: install it with scripts/prerequisites, or set LOOPTRACE_CHROMIUM")
	output, err = filepath.Abs(output)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(output))
	require.NoError(t, os.MkdirAll(output, 0o755))
	return &Browser{chromium: chromium, scripts: programs.Node(t, "browser", scenarios), output: output}
}

// Secret is what the sessions of scenarios are bound to, in the header Looptrace-Session-Secret of the login.
const Secret = "a-secret-of-the-browser-in-tests-0123456789"

// scenarioTimeout bounds a whole scenario. Each wait in it has its own timeout.
const scenarioTimeout = 15 * time.Minute

// finding is a problem that did not stop the scenario.
type finding struct {
	What  string `json:"what"`
	Where string `json:"where"`
}

// Play runs one scenario with its input, and decodes its output into result unless that is nil. If the input has a
// "cookie" in the format of the Cookie header, of a session bound to [Secret], the page starts logged in. A non-zero exit code fails the test, and so
// does each finding.
func (b *Browser) Play(t *testing.T, scenario string, input map[string]any, result any) {
	t.Helper()
	text, err := json.Marshal(input)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTimeout)
	defer cancel()
	cmd := programs.Command(ctx, "node", filepath.Join(b.scripts, scenario+".mjs"))
	cmd.Env = append(cmd.Env,
		"SCENARIO="+scenario, "SESSION_OF_BROWSER="+Secret, "INPUT="+string(text), "CHROMIUM="+b.chromium, "OUTPUT="+b.output)
	stdout := programs.Output(t, cmd)
	var output struct {
		Findings []finding       `json:"findings"`
		Result   json.RawMessage `json:"result"`
	}
	require.NoError(t, json.Unmarshal(stdout, &output), "%s", stdout)
	locations := map[string][]string{}
	for _, f := range output.Findings {
		locations[f.What] = append(locations[f.What], f.Where)
	}
	for what, where := range locations {
		t.Errorf("%s: %s", strings.Join(where, "; "), what)
	}
	if result != nil {
		require.NoError(t, json.Unmarshal(output.Result, result))
	}
}
