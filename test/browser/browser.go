// Package browser plays scenarios in Chromium, which is looked for as LOOPTRACE_CHROMIUM, then /usr/bin/chromium. The
// scenarios are the programs of this folder; they need Node.js.
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

// Browser plays scenarios, each a program of its own in a fresh Chromium that remembers no more than the session's
// cookie.
type Browser struct {
	chromium, scripts, output, state string
}

// New installs what the scenarios need. Their screenshots, and what is left of one that failed, go to output, a folder
// that is emptied.
func New(t *testing.T, output string) *Browser {
	t.Helper()
	chromium := os.Getenv("LOOPTRACE_CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	_, err := os.Stat(chromium)
	require.NoError(t, err, "Chromium is needed: scripts/prerequisites installs it, LOOPTRACE_CHROMIUM names another")
	output, err = filepath.Abs(output)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(output))
	require.NoError(t, os.MkdirAll(output, 0o755))
	return &Browser{
		chromium: chromium, scripts: programs.Node(t, "browser", scenarios), output: output,
		state: filepath.Join(t.TempDir(), "session.json"),
	}
}

// scenarioTime bounds a scenario as a whole; what it waits for has bounds of its own.
const scenarioTime = 3 * time.Minute

// finding is something that a scenario saw and that did not stop it.
type finding struct {
	// What is the rule broken and Where the place, in words.
	What  string `json:"what"`
	Where string `json:"where"`
}

// Play runs one scenario with its input and reads its result, if one is asked for. A scenario fails by its exit code; each of its
// findings fails the test too, all of them told.
func (b *Browser) Play(t *testing.T, scenario string, input map[string]any, result any) {
	t.Helper()
	text, err := json.Marshal(input)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTime)
	defer cancel()
	cmd := programs.Command(ctx, "node", filepath.Join(b.scripts, scenario+".mjs"))
	cmd.Env = append(cmd.Env,
		"SCENARIO="+scenario, "INPUT="+string(text), "CHROMIUM="+b.chromium, "OUTPUT="+b.output, "STATE="+b.state)
	output := programs.Output(t, cmd)
	var told struct {
		Findings []finding       `json:"findings"`
		Result   json.RawMessage `json:"result"`
	}
	require.NoError(t, json.Unmarshal(output, &told), "%s", output)
	places := map[string][]string{}
	for _, f := range told.Findings {
		places[f.What] = append(places[f.What], f.Where)
	}
	for what, where := range places {
		t.Errorf("%s: %s", strings.Join(where, "; "), what)
	}
	if result != nil {
		require.NoError(t, json.Unmarshal(told.Result, result))
	}
}
