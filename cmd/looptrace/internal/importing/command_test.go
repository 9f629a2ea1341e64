package importing

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// execute runs the command against an address.
func execute(t *testing.T, address, stdin string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("LOOPTRACE_ENDPOINT", address)
	t.Setenv("LOOPTRACE_API_KEY", "lt_k.s")
	c := New()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetIn(strings.NewReader(stdin))
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{"prompts"}, args...))
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// answer serves one answer to imports, and keeps the last request.
func answer(t *testing.T, status int, body string) (string, *request) {
	t.Helper()
	var last request
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer lt_k.s", r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"user": null, "projects": [{"id": "p1"}]}`)
	})
	mux.HandleFunc("POST /v1/prompts/_actions/import", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer lt_k.s", r.Header.Get("Authorization"))
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&last))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, &last
}

const reportJSON = `{"format": "langfuse", "dry_run": true, "imported": [
	{"name": "support/triage", "source_name": "support/triage", "prompt_id": null, "change": "created", "version": 2, "aliases": ["production", "staging"],
	 "conversions": [{"path": "messages[0].content", "line": 3, "from": "{# a #}", "to": "{{! a }}"}], "left_out": ["config: is no object"]},
	{"name": "a-b", "source_name": "a\u001b[31mb", "prompt_id": null, "change": "unchanged", "version": 1, "aliases": [], "conversions": [], "left_out": []}],
	"rejected": [{"source_name": "vip", "path": "messages[0].content", "line": 2, "reason": "is no variable"}, {"source_name": "x", "path": null, "line": null, "reason": "has no messages"}]}`

func TestPromptsArePrinted(t *testing.T) {
	address, last := answer(t, http.StatusOK, reportJSON)
	file := filepath.Join(t.TempDir(), "export.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"ä": 1}]`), 0o600))
	out, err := execute(t, address, "", file, "--dry-run", "--format", "langfuse")
	require.EqualError(t, err, "rejected: 2")
	assert.Equal(t, request{"p1", `[{"ä": 1}]`, "export.json", "langfuse", true}, *last)
	assert.Equal(t, `created      support/triage, version 2, aliases production, staging
  messages[0].content, line 3: {# a #} → {{! a }}
  left out: config: is no object
unchanged    a-b, version 1, from a\x1b[31mb
rejected     vip
  messages[0].content, line 2: is no variable
rejected     x
  has no messages
Nothing was saved. An import without --dry-run would report:
langfuse: 1 created, 0 with a new version, 1 unchanged, 2 rejected
`, out)

	address, last = answer(t, http.StatusOK, `{"format": "openai", "dry_run": false, "imported": [{"name": "n", "source_name": "n", "change": "new_version", "version": 4}], "rejected": []}`)
	out, err = execute(t, address, "prompts: []", "-", "--project", "p2")
	require.NoError(t, err)
	assert.Equal(t, request{ProjectID: "p2", Content: "prompts: []"}, *last)
	assert.Equal(t, "new version  n, version 4\nopenai: 0 created, 1 with a new version, 0 unchanged, 0 rejected\n", out)
}

func TestPromptsSayWhatIsWrong(t *testing.T) {
	empty, latin := filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "latin")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(latin, []byte{'a', 0xe4}, 0o600))
	address, _ := answer(t, http.StatusUnprocessableEntity, `{"title": "Unprocessable", "detail": "line 3, column 1: the file is no JSON", "errors": [{"location": "body.content", "message": "is wrong"}]}`)
	for want, args := range map[string][]string{
		"is empty":                           {address, empty},
		"is not UTF-8":                       {address, latin},
		"no such file":                       {address, "absent"},
		"no Looptrace at http://127.0.0.1:1": {"http://127.0.0.1:1", "-"},
		"LOOPTRACE_ENDPOINT is \"here\"":     {"here", "-"},
		"line 3, column 1: the file is no JSON; body.content: is wrong (422 Unprocessable Entity)": {address, "-"},
	} {
		_, err := execute(t, args[0], "x", args[1:]...)
		require.ErrorContains(t, err, want)
	}
	refused, _ := answer(t, http.StatusUnauthorized, `{"title": "Unauthorized", "detail": "The key is revoked."}`)
	_, err := execute(t, refused, "x", "-")
	require.ErrorContains(t, err, "refuses the key in LOOPTRACE_API_KEY: The key is revoked.")
	other, _ := answer(t, http.StatusOK, "<html>")
	_, err = execute(t, other, "x", "-")
	require.ErrorContains(t, err, "does not answer as Looptrace does")

	t.Setenv("LOOPTRACE_API_KEY", "")
	c := New()
	c.SetArgs([]string{"prompts", "-"})
	c.SilenceErrors, c.SilenceUsage = true, true
	require.ErrorContains(t, c.ExecuteContext(t.Context()), "set LOOPTRACE_API_KEY")
}
