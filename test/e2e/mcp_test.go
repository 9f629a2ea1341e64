package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/programs"
)

// mcpAnswer is what a client prints for one transport.
type mcpAnswer struct {
	Tools        []string `json:"tools"`
	Instructions string   `json:"instructions"`
	Schemas      bool     `json:"schemas"`
	ReadOnly     []string `json:"read_only"`
	Same         bool     `json:"same"`
	Refused      any      `json:"refused"`
	Found        struct {
		Runs []struct {
			Name string `json:"name"`
		} `json:"runs"`
	} `json:"found"`
	View struct {
		TokensUsed int `json:"tokens_used"`
		Steps      []struct {
			SpanID string `json:"span_id"`
		} `json:"steps"`
	} `json:"view"`
	// Cause is why runs fail: their groups, a run of the first, and how it differs from one that ended well.
	Cause struct {
		Groups struct {
			TokensUsed int `json:"tokens_used"`
			Groups     []struct {
				Runs  int      `json:"runs"`
				Apart []string `json:"apart"`
			} `json:"groups"`
		} `json:"groups"`
		View struct {
			TokensUsed int    `json:"tokens_used"`
			Attributes string `json:"attributes"`
		} `json:"view"`
		Compared struct {
			TokensUsed int `json:"tokens_used"`
			Steps      []struct {
				Name     string `json:"name"`
				Recorded string `json:"recorded"`
			} `json:"steps"`
		} `json:"compared"`
	} `json:"cause"`
}

// TestMCPClients lists and calls the tools with both official clients, over HTTP and stdio, in both spellings. Each finds out why runs fail
// on one worker: its tool tells an amount in another unit.
func TestMCPClients(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.sendTrip(t)
	tenants, err := agent.Tenants(time.Now())
	require.NoError(t, err)
	for _, run := range tenants {
		body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(run.Traces)
		require.NoError(t, err)
		answer, err := product.Do(t.Context(), http.MethodPost, p.product.Ports.URL(product.Ingest)+"/v1/traces",
			http.Header{"Content-Type": {product.JSON}, "Authorization": {"Bearer " + p.ingestKey}}, body)
		require.NoError(t, err)
		require.Less(t, answer.Status, 300, "%s", answer.Body)
	}
	for _, run := range tenants {
		p.awaitRun(t, run.ID.String(), ofSpans(run.Traces.SpanCount()))
	}
	ports := p.product.Ports
	binary, err := filepath.Abs(filepath.Join("..", "..", "_build", "looptrace"))
	require.NoError(t, err)
	env := map[string]string{"LOOPTRACE_API_KEY": p.adminKey, "LOOPTRACE_ENDPOINT": ports.URL(product.Web), "PATH": os.Getenv("PATH")}
	transports := []map[string]any{
		{"url": ports.URL(product.API) + "/mcp"},
		{"url": ports.URL(product.Web) + "/mcp?tool_names=underscore"},
		{"command": []string{binary, "mcp"}, "env": env},
		{"command": []string{binary, "mcp", "--tool-names", "underscore"}, "env": env},
	}
	runName := readTrip(t).Name
	job, err := json.Marshal(map[string]any{"key": p.adminKey, "run_name": runName, "agent": "billing", "transports": transports})
	require.NoError(t, err)
	python, node := programs.Python(t, "e2e-python", "python/requirements.txt"), programs.Node(t, "e2e-node", os.DirFS("node"))
	for name, client := range map[string]*exec.Cmd{
		"python":     programs.Command(t.Context(), python, "python/mcp_client.py"),
		"typescript": programs.Command(t.Context(), "node", filepath.Join(node, "mcp.mjs")),
	} {
		t.Run(name, func(t *testing.T) {
			client.Stdin = bytes.NewReader(job)
			var answers []mcpAnswer
			require.NoError(t, json.Unmarshal(programs.Output(t, client), &answers))
			require.Len(t, answers, len(transports))
			for i, answer := range answers {
				tools := []string{"replay.diff", "replay.edit", "runs.diff", "runs.failures", "runs.read", "runs.search", "work.list"}
				if i%2 == 1 {
					tools = []string{"replay_diff", "replay_edit", "runs_diff", "runs_failures", "runs_read", "runs_search", "work_list"}
				}
				assert.Equal(t, tools, answer.Tools)
				assert.Contains(t, answer.Instructions, "`"+tools[0]+"`")
				assert.True(t, answer.Schemas)
				assert.Equal(t, slices.Delete(slices.Clone(tools), 1, 2), answer.ReadOnly, "all but the one that costs money")
				assert.True(t, answer.Same)
				require.Len(t, answer.Found.Runs, 1)
				assert.NotEmpty(t, answer.View.Steps)
				assert.Positive(t, answer.View.TokensUsed)
				assert.LessOrEqual(t, answer.View.TokensUsed, 3000)
				assert.Contains(t, answer.Refused, "run_id")
				why := answer.Cause
				require.Len(t, why.Groups.Groups, 1)
				assert.Equal(t, 6, why.Groups.Groups[0].Runs)
				assert.Equal(t, "metadata.worker=w2: 6 of 6, others 0 of 18", why.Groups.Groups[0].Apart[0])
				assert.Contains(t, why.View.Attributes, "\nmetadata.worker: w2")
				require.NotEmpty(t, why.Compared.Steps)
				assert.Equal(t, "find_invoice", why.Compared.Steps[0].Name)
				assert.Contains(t, why.Compared.Steps[0].Recorded, "- /unit: usd\n+ /unit: cent")
				assert.LessOrEqual(t, why.Groups.TokensUsed+why.View.TokensUsed+why.Compared.TokensUsed, 5_000)
			}
		})
	}
	t.Run("errors are on stderr", func(t *testing.T) {
		for want, env := range map[string][]string{
			"refuses the key in LOOPTRACE_API_KEY": {"LOOPTRACE_API_KEY=lt_no.key", "LOOPTRACE_ENDPOINT=" + ports.URL(product.Web)},
			"no Looptrace at http://127.0.0.1:1":   {"LOOPTRACE_API_KEY=lt_no.key", "LOOPTRACE_ENDPOINT=http://127.0.0.1:1"},
			"set LOOPTRACE_API_KEY":                {"LOOPTRACE_ENDPOINT=" + ports.URL(product.Web)},
		} {
			cmd := exec.CommandContext(t.Context(), binary, "mcp")
			cmd.Env = env
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.Error(t, cmd.Run())
			assert.Contains(t, stderr.String(), want)
			assert.Empty(t, stdout.String())
		}
	})
}
