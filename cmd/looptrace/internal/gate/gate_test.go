package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	candidateID = "01985f6e-0000-7000-8000-000000000006"
	baselineID  = "01985f6e-0000-7000-8000-000000000007"
	extendedID  = "01985f6e-0000-7000-8000-000000000008"
)

func run(id, branch, metadata string) string {
	return fmt.Sprintf(`{"id": %q, "project_id": "p1", "name": "support|agent", "branch": %q, "commit": "abc", "metadata": {%s}, "dataset": {"id": "d1", "name": "faq"}}`,
		id, branch, metadata)
}

func decided(metric, decision string) string {
	return fmt.Sprintf(`{"decision": %q, "sentence": "A sentence on %s.", "metric": %q, "better": "higher", "margin": 0.02, "candidate": {"mean": 0.5, "ci": null, "n": 4},
		"baseline": {"mean": null, "ci": null, "n": 0}, "difference": {"estimate": 0.0625, "ci": [-0.125, 0.25]}, "paired": 4}`, decision, metric, metric)
}

// gateServer answers as a test says. The real one is in test/e2e.
type gateServer struct {
	decisions map[string]string
	// running is how many checks are refused before the summary is there.
	running  int
	baseline string
	queries  []url.Values
	checks   []map[string]any
}

func (s *gateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/eval-runs/" + candidateID:
		_, _ = io.WriteString(w, run(candidateID, "topic", `"extends": "`+extendedID+`"`))
	case "GET /v1/eval-runs/" + baselineID:
		_, _ = io.WriteString(w, run(baselineID, "main", ""))
	case "GET /v1/eval-runs":
		s.queries = append(s.queries, r.URL.Query())
		list := s.baseline
		if r.URL.Query().Get("commit") != "" {
			list = run(candidateID, "topic", "")
		}
		_, _ = io.WriteString(w, `{"data": [`+list+`], "has_more": false}`)
	case "POST /v1/gates/_actions/check":
		if s.running > 0 {
			s.running--
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"title": "Conflict", "detail": "It runs.", "code": "evaluation_running"}`)
			return
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.checks = append(s.checks, body)
		metric := body["metric"].(string)
		_, _ = io.WriteString(w, decided(metric, s.decisions[metric]))
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"title": "Not Found", "detail": "There is no such eval-run."}`)
	}
}

func serve(t *testing.T, decisions map[string]string) (*gateServer, string) {
	t.Helper()
	s := &gateServer{decisions: decisions, baseline: run(extendedID, "main", "") + "," + run(baselineID, "main", "")}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// execute runs the command, and returns what it prints and its exit status.
func execute(t *testing.T, address string, args ...string) (string, int, error) {
	t.Helper()
	t.Setenv("LOOPTRACE_ENDPOINT", address)
	t.Setenv("LOOPTRACE_API_KEY", "lt_k.s")
	t.Setenv("LOOPTRACE_PROJECT", "p1")
	for _, name := range []string{"GITHUB_SHA", "CI_COMMIT_SHA", "GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"} {
		if os.Getenv(name) == "" || !strings.HasPrefix(os.Getenv(name), "test-") {
			t.Setenv(name, "")
		}
	}
	c := New()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	if err == nil {
		return out.String(), 0, nil
	}
	var coded interface{ ExitCode() int }
	require.ErrorAs(t, err, &coded)
	return out.String(), coded.ExitCode(), err
}

func TestExitStatus(t *testing.T) {
	for _, test := range []struct {
		name      string
		decisions map[string]string
		args      []string
		status    int
		says      string
	}{
		{"pass", map[string]string{"a": pass, "b": pass}, nil, 0, ""},
		{"regression before all", map[string]string{"a": incomplete, "b": regression}, nil, 1, "regression: 1 of 2 metrics"},
		{"incomplete before inconclusive", map[string]string{"a": inconclusive, "b": incomplete}, nil, 2, "incomplete: 1 of 2 metrics"},
		{"inconclusive", map[string]string{"a": pass, "b": inconclusive}, nil, 3, "inconclusive: 1 of 2 metrics"},
		{"warning", map[string]string{"a": pass, "b": inconclusive}, []string{"--on-inconclusive", "warn"}, 0, ""},
		{"warning does not hide a regression", map[string]string{"a": regression, "b": inconclusive}, []string{"--on-inconclusive=warn"}, 1, "regression"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, address := serve(t, test.decisions)
			s.running = 1
			out, status, err := execute(t, address, append([]string{"--candidate", candidateID, "--metric", "a=0.1", "--metric", "b", "--margin", "0.02"}, test.args...)...)
			assert.Equal(t, test.status, status)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
			}
			assert.Contains(t, out, "candidate  support|agent topic abc  "+address+"/p/p1/eval-runs/"+candidateID+"\n"+
				"baseline   support|agent main abc  "+address+"/p/p1/eval-runs/"+baselineID+"\nA sentence on a.\nA sentence on b.\n")
			// What the candidate extends is no baseline.
			assert.Equal(t, []map[string]any{
				{"candidate": candidateID, "baseline": baselineID, "metric": "a", "margin": 0.1},
				{"candidate": candidateID, "baseline": baselineID, "metric": "b", "margin": 0.02},
			}, s.checks)
			assert.Equal(t, url.Values{
				"name": {"support|agent"}, "dataset_id": {"d1"}, "branch": {"main"}, "status": {"succeeded"}, "project_id": {"p1"}, "limit": {"50"}, "offset": {"0"},
			}, s.queries[0])
		})
	}
}

func TestGroupsArePassed(t *testing.T) {
	s, address := serve(t, map[string]string{"a": pass})
	_, status, err := execute(t, address, "--candidate", candidateID, "--baseline", baselineID, "--metric", "a=0.1", "--group-by", "metadata.customer")
	require.NoError(t, err)
	assert.Zero(t, status)
	assert.Equal(t, "metadata.customer", s.checks[0]["group_by"])
}

func TestEvalRunsAreFoundByTheJob(t *testing.T) {
	s, address := serve(t, map[string]string{"a": pass})
	t.Setenv("GITHUB_SHA", "test-commit")
	t.Setenv("GITHUB_BASE_REF", "test-next")
	_, status, err := execute(t, address, "--name", "support|agent", "--metric", "a=0")
	require.NoError(t, err)
	assert.Zero(t, status)
	assert.Equal(t, "test-commit", s.queries[0].Get("commit"))
	assert.Equal(t, "support|agent", s.queries[0].Get("name"))
	assert.Equal(t, "test-next", s.queries[1].Get("branch"))

	s.baseline = ""
	_, status, err = execute(t, address, "--name", "support|agent", "--metric", "a=0", "--commit", "test-commit", "--baseline-branch", "old")
	require.ErrorContains(t, err, "no other eval-run of support|agent succeeded on the branch old with the dataset faq")
	assert.Equal(t, exitIncomplete, status)
}

func TestFormats(t *testing.T) {
	_, address := serve(t, map[string]string{"a|b": regression, "c": inconclusive, "d": incomplete, "e": pass})
	args := []string{"--candidate", candidateID, "--baseline", baselineID, "--margin", "0.02", "--metric", "a|b", "--metric", "c", "--metric", "d", "--metric", "e"}
	file := filepath.Join(t.TempDir(), "report")
	out, status, _ := execute(t, address, append(args, "--format", "json", "--output", file)...)
	assert.Equal(t, exitRegression, status)
	assert.Contains(t, out, "A sentence on c.")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var got struct {
		Decision   string
		ExitStatus int `json:"exit_status"`
		Candidate  side
		Metrics    []map[string]any
	}
	require.NoError(t, json.Unmarshal(content, &got))
	assert.Equal(t, []any{"regression", 1, candidateID, 4, float64(4)}, []any{got.Decision, got.ExitStatus, got.Candidate.ID, len(got.Metrics), got.Metrics[0]["paired"]})

	out, _, _ = execute(t, address, append(args, "--format", "markdown")...)
	assert.Contains(t, out, "<!-- looptrace-gate support\\|agent -->\n### support\\|agent: regression\n")
	assert.Contains(t, out, "| a\\|b | unknown | 0.5 | +0.0625 | -0.125 to +0.25 | 0.02 | regression |\n")

	out, _, _ = execute(t, address, append(args, "--format", "junit")...)
	var suite junitSuite
	require.NoError(t, xml.Unmarshal([]byte(out), &suite))
	assert.Equal(t, []int{4, 2, 1, 0}, []int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped})
	assert.Equal(t, "A sentence on a|b.", suite.Cases[0].Failure.Message)
	out, _, _ = execute(t, address, append(args, "--format", "junit", "--on-inconclusive", "warn")...)
	suite = junitSuite{}
	require.NoError(t, xml.Unmarshal([]byte(out), &suite))
	assert.Equal(t, []int{1, 1, 1}, []int{suite.Failures, suite.Errors, suite.Skipped})
}

// TestWhatIsWrongIsNeverARegression checks that CI can tell a regression from whatever else fails.
func TestWhatIsWrongIsNeverARegression(t *testing.T) {
	_, address := serve(t, map[string]string{"a": pass})
	for want, args := range map[string][]string{
		"name at least one metric":                       {},
		`the margin "x" is no number`:                    {"--metric", "a=x", "--candidate", candidateID},
		"must be a number from 0 on":                     {"--metric", "a=-1", "--candidate", candidateID},
		"--metric a is given twice":                      {"--metric", "a=1", "--metric", "a=2", "--candidate", candidateID},
		"must be METRIC or METRIC=MARGIN":                {"--metric", "=1", "--candidate", candidateID},
		"looptrace.gate(…, on_inconclusive=\"extend\")":  {"--metric", "a=1", "--candidate", candidateID, "--on-inconclusive", "extend"},
		"must be fail or warn":                           {"--metric", "a=1", "--candidate", candidateID, "--on-inconclusive", "pass"},
		"must be text, json, markdown or junit":          {"--metric", "a=1", "--candidate", candidateID, "--format", "html"},
		`--candidate is "x" and must be`:                 {"--metric", "a=1", "--candidate", "x"},
		"say what is evaluated":                          {"--metric", "a=1"},
		"leave out --name":                               {"--metric", "a=1", "--candidate", candidateID, "--name", "n"},
		"leave out --baseline-branch":                    {"--metric", "a=1", "--candidate", candidateID, "--baseline", baselineID, "--baseline-branch", "m"},
		"There is no such eval-run":                      {"--metric", "a=1", "--candidate", "01985f6e-0000-7000-8000-000000000009"},
		"unknown flag: --nothing":                        {"--nothing"},
		"unknown command \"more\"":                       {"more"},
		"invalid argument \"x\" for \"--margin\"":        {"--margin", "x"},
		"write the report: open /nowhere/at/all/report:": {"--metric", "a=1", "--candidate", candidateID, "--output", "/nowhere/at/all/report"},
	} {
		_, status, err := execute(t, address, args...)
		require.ErrorContains(t, err, want)
		assert.Equal(t, exitIncomplete, status, want)
	}
	_, status, err := execute(t, "http://127.0.0.1:1", "--metric", "a=1", "--candidate", candidateID)
	require.ErrorContains(t, err, "no Looptrace at http://127.0.0.1:1")
	assert.Equal(t, exitIncomplete, status)
}

func TestInterrupted(t *testing.T) {
	s, address := serve(t, map[string]string{"a": pass})
	s.running = 1 << 30
	t.Setenv("LOOPTRACE_ENDPOINT", address)
	t.Setenv("LOOPTRACE_API_KEY", "lt_k.s")
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	c := New()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs([]string{"--candidate", candidateID, "--baseline", baselineID, "--metric", "a=1"})
	err := c.ExecuteContext(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var coded interface{ ExitCode() int }
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, exitIncomplete, coded.ExitCode())
}
