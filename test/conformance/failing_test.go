package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

var update = flag.Bool("update", false, "rewrite the table of docs/failed-runs.md")

// failingModes are the ways to fail of each program in testdata/failing: the title of each is a column of the table.
var failingModes = []struct{ name, title string }{
	{"raise", "a tool raises"},
	{"recover", "it raises, then succeeds"},
	{"status400", "the provider answers 400"},
	{"status429", "429"},
	{"timeout", "no answer in time"},
	{"interrupt", "waits for a person"},
}

// failingProgram is a member of failing.json.
type failingProgram struct {
	Framework string `json:"framework"`
	// Lacks has the modes that the framework does not have, and why.
	Lacks map[string]string `json:"lacks"`
	// Notes says of a mode what the table does not show.
	Notes map[string]string `json:"notes"`
	// Absent has the modes whose telemetry does not carry the failure.
	Absent map[string]struct {
		// Why is what the table says.
		Why string `json:"why"`
		// Kind is that of the deepest step that the telemetry says failed, empty for none.
		Kind string `json:"kind"`
		// Outcome is that of the run by its telemetry.
		Outcome string `json:"outcome"`
		// NoMessage is set where the telemetry says which step failed, but not why.
		NoMessage bool `json:"no_message"`
	} `json:"absent"`
}

// failingTruth is what happened in a run, written while it ran.
type failingTruth struct {
	Outcome  string `json:"outcome"`
	Failures []struct {
		Kind    string `json:"kind"`
		Name    string `json:"name"`
		Message string `json:"message"`
		Timeout bool   `json:"timeout"`
	} `json:"failures"`
}

// TestFailingRuns holds that each recorded run of a failing program has the outcome that it had, and opens at the step
// that failed. docs/failed-runs.md has its table; -update rewrites it.
func TestFailingRuns(t *testing.T) {
	t.Parallel()
	var programs map[string]failingProgram
	readJSON(t, "failing.json", &programs)
	table := []string{"| framework |", "|---|"}
	for _, mode := range failingModes {
		table[0] += " " + mode.title + " |"
		table[1] += "---|"
	}
	var notes []string
	names := slices.SortedFunc(func(yield func(string) bool) {
		for name := range programs {
			if !yield(name) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Compare(programs[a].Framework, programs[b].Framework) })
	for _, name := range names {
		program := programs[name]
		var truths map[string]failingTruth
		readJSON(t, filepath.Join("testdata", "failing", name, "truth.json"), &truths)
		row := fmt.Sprintf("| %s, `%s` |", program.Framework, name)
		for _, mode := range failingModes {
			cell, note := "none", program.Lacks[mode.name]
			if note == "" {
				truth, ok := truths[mode.name]
				require.True(t, ok, "%s/%s is not recorded", name, mode.name)
				t.Run(name+"/"+mode.name, func(t *testing.T) { cell = checkFailing(t, program, name, mode.name, &truth) })
				note = cmp.Or(program.Absent[mode.name].Why, program.Notes[mode.name])
			}
			if note != "" {
				at := slices.Index(notes, note)
				if at < 0 {
					at = len(notes)
					notes = append(notes, note)
				}
				cell += fmt.Sprintf(" (%d)", at+1)
			}
			row += " " + cell + " |"
		}
		table = append(table, row)
	}
	table = append(table, "")
	for i, note := range notes {
		table = append(table, fmt.Sprintf("%d. %s", i+1, note))
	}
	checkSection(t, filepath.Join("..", "..", "docs", "failed-runs.md"), strings.TrimSpace(strings.Join(table, "\n")))
}

// checkFailing holds the run of a mode to the truth and returns its cell of the table.
func checkFailing(t *testing.T, program failingProgram, name, mode string, truth *failingTruth) string {
	t.Helper()
	received, _ := receive(t, readPayload(t, filepath.Join("testdata", "failing", name, mode+".json"), ""))
	require.NotEmpty(t, received)
	var r *run
	for _, other := range received {
		// The making of an agent is a run of its own in AutoGen.
		if r == nil || len(other.spans) > len(r.spans) {
			r = other
		}
	}
	for _, other := range received {
		require.True(t, other == r || len(other.spans) == 1 && other.spans[0].Operation == "create_agent", "one run")
	}
	absent, isAbsent := program.Absent[mode]
	outcome := r.totals.Outcome()
	assert.Equal(t, cmp.Or(absent.Outcome, truth.Outcome), outcome)
	chain := runmodel.ErrorChain(r.spans, r.totals.FailingSpanID)
	if len(truth.Failures) == 0 || isAbsent && absent.Kind == "" && !absent.NoMessage {
		assert.Empty(t, chain)
		return outcome
	}
	require.NotEmpty(t, chain)
	step := &r.spans[chain[0]]
	failure := truth.Failures[len(truth.Failures)-1]
	assert.Equal(t, cmp.Or(absent.Kind, failure.Kind), step.EffectiveKind())
	if absent.Kind == "" && failure.Name != "" {
		assert.Equal(t, failure.Name, step.ToolName)
	}
	if !absent.NoMessage {
		assert.Contains(t, step.ErrorMessage, failure.Message)
	}
	if outcome == runmodel.OutcomeFailed {
		class := runmodel.FailureError
		switch {
		case r.totals.Status == runmodel.StatusOK: // its root does not say that it failed
			class = runmodel.FailureUnrecovered
		case failure.Timeout:
			class = runmodel.FailureTimeout
		}
		assert.Equal(t, class, r.totals.Class)
		assert.Equal(t, step.SpanID, r.totals.FailingSpanID)
		assert.NotEmpty(t, r.totals.FailingName)
	}
	return fmt.Sprintf("%s, %s `%s`", outcome, step.EffectiveKind(), cmp.Or(step.ToolName, step.Name))
}

// checkSection holds that a document has this text between the marks of the table of failing runs.
func checkSection(t *testing.T, file, text string) {
	t.Helper()
	const begin, end = "<!-- failing runs -->\n", "\n<!-- end -->"
	document, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(document), begin)
	require.True(t, found, "%s has no %s", file, begin)
	have, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no %s", file, end)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+text+end+after), 0o644))
		return
	}
	assert.Equal(t, text, have, "go test ./test/conformance -run TestFailingRuns -update rewrites the table")
}
