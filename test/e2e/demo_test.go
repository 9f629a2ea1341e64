package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// TestDemo loads samples with the command, finds them in the lists, and removes them.
func TestDemo(t *testing.T) {
	t.Parallel()
	p := product.Start(t)
	web := p.Ports.URL(product.Web)
	binary, err := filepath.Abs(filepath.Join("..", "..", "_build", "looptrace"))
	require.NoError(t, err)
	demo := func(password string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "demo", "--email", "first@example.com")
		cmd.Env = []string{"LOOPTRACE_ENDPOINT=" + web, "LOOPTRACE_PASSWORD=" + password}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			require.ErrorAs(t, err, new(*exec.ExitError))
		}
		return out.String(), errs.String()
	}
	_, errs := demo("any")
	assert.Contains(t, errs, "looptrace: there is no user yet: open "+web)
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	_, errs = demo("wrong")
	assert.Equal(t, "looptrace: Email or password is wrong. (401 Unauthorized)\n", errs)
	_, errs = demo("")
	assert.Contains(t, errs, "give --email, and the password in LOOPTRACE_PASSWORD")

	out, errs := demo(account.Password)
	require.Empty(t, errs)
	address, found := strings.CutPrefix(strings.TrimSpace(out), "Loaded sample data. Open "+web+"/p/")
	require.True(t, found, out)
	id := strings.TrimSuffix(address, "/runs")
	_, errs = demo(account.Password)
	assert.Contains(t, errs, "This workspace already has a project with sample data.")

	get := func(path string, into any) int {
		t.Helper()
		answer, err := product.Do(t.Context(), http.MethodGet, web+path, http.Header{"Cookie": {account.Cookie}}, nil)
		require.NoError(t, err)
		if answer.Status == http.StatusOK {
			require.NoError(t, json.Unmarshal(answer.Body, into))
		}
		return answer.Status
	}
	var runs struct {
		Data []struct {
			Name, Source, Outcome string
			Prompts               []struct{ Version string }
			CostUSD               *float64 `json:"cost_usd"`
		}
	}
	require.Eventually(t, func() bool {
		return get("/v1/runs?limit=500&project_id="+id, &runs) == http.StatusOK && len(runs.Data) == 141
	}, time.Minute, 200*time.Millisecond, "the samples have 141 runs")
	outcomes, versions := map[string]int{}, map[string]int{}
	for _, run := range runs.Data {
		assert.Equal(t, "user", run.Source)
		assert.NotEqual(t, "running", run.Outcome)
		outcomes[run.Outcome]++
		for _, prompt := range run.Prompts {
			versions[prompt.Version]++
		}
		if run.Outcome == "succeeded" && run.Name == "support triage" {
			assert.NotNil(t, run.CostUSD, "the models have prices")
		}
	}
	assert.Len(t, outcomes, 3, "succeeded, recovered and failed")
	assert.Len(t, versions, 3, "all versions of the prompt were used")

	var list struct {
		Data []struct {
			ID       string
			Revision int
		}
	}
	get("/v1/agent/failed-runs?project_id="+id, &list)
	assert.Len(t, list.Data, 6, "ways to fail")
	get("/v1/threads?project_id="+id, &list)
	assert.Len(t, list.Data, 3)
	get("/v1/datasets?project_id="+id, &list)
	require.Len(t, list.Data, 2)
	assert.Equal(t, 2, list.Data[1].Revision, "support questions")
	var comparisons struct {
		Data []struct {
			Status     string
			Accounting struct{ Items, Scored, TargetFailed int }
			Summary    *struct{ Sentence string }
		}
	}
	require.Eventually(t, func() bool {
		return get("/v1/comparisons?project_id="+id, &comparisons) == http.StatusOK && len(comparisons.Data) == 1 && comparisons.Data[0].Summary != nil
	}, time.Minute, 200*time.Millisecond)
	compared := comparisons.Data[0]
	assert.Equal(t, "succeeded", compared.Status)
	assert.Equal(t, 80, compared.Accounting.Items)
	assert.Contains(t, compared.Summary.Sentence, "says the fact")
	get("/v1/eval-runs?project_id="+id, &list)
	assert.Len(t, list.Data, 2)

	answer, err := product.Do(t.Context(), http.MethodDelete, web+"/v1/projects/"+id+"?confirm=Samples", http.Header{"Cookie": {account.Cookie}, "Origin": {web}}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, answer.Status, string(answer.Body))
	assert.Equal(t, http.StatusNotFound, get("/v1/runs?project_id="+id, &runs))
	out, _ = demo(account.Password)
	assert.Contains(t, out, "Loaded sample data.", "again after the removal")
}
