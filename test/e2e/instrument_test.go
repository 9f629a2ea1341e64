package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/programs"
)

// TestSelfTest runs the self-test of the instrument guide in a shell, and reads llms.txt.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	web := p.web()
	var guide struct {
		Endpoint string `json:"endpoint"`
		SelfTest struct {
			RunID string `json:"run_id"`
			Send  string `json:"send"`
			Check string `json:"check"`
		} `json:"self_test"`
	}
	status, err := p.get(t.Context(), "/v1/agent/instrument-guide?project_id="+p.ProjectID, &guide)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, web, guide.Endpoint)
	shell := func(script, key string) string {
		cmd := programs.Command(t.Context(), "sh", "-c", script)
		cmd.Env = append(os.Environ(), "LOOPTRACE_API_KEY="+key)
		return string(programs.Output(t, cmd))
	}
	assert.Contains(t, shell(guide.SelfTest.Send, p.ingestKey), `"status":"queued"`)
	assert.Contains(t, shell(guide.SelfTest.Check, p.adminKey), `"name":"looptrace self-test"`)

	text := string(p.do(t, http.MethodGet, "/llms.txt", nil, nil).Body)
	assert.True(t, strings.HasPrefix(text, "# Looptrace\n"))
	assert.Contains(t, text, web+"/mcp")
}
