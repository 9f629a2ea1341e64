package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// comparing is a comparison of the product under test.
type comparing struct {
	t      *testing.T
	up     *product.Product
	key    string
	path   string
	repeat int
}

// TestKillComparison kills the control plane in the middle of a comparison. It finishes: every output is there once, each cost is counted once,
// and only calls that were under way are made again.
func TestKillComparison(t *testing.T) {
	items, repeats, kills := scaled(60, 1000), scaled(2, 3), scaled(2, 5)
	const atOnce = 20
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "faults", apikey.ScopeAdmin, apikey.ScopeDatasetsWrite, apikey.ScopeDatasetsRead, apikey.ScopeEvalsWrite, apikey.ScopeEvalsRead, apikey.ScopeRunsRead)
	require.NoError(t, err)
	c := &comparing{t: t, up: up, key: key, repeat: repeats}
	server := provider.Start(t, provider.Options{})
	connection := c.post("/v1/providers", fmt.Sprintf(`{"project_id":%q,"name":"scripted","kind":"openai","base_url":"%s/v1","api_key":%q,"max_concurrency":%d}`,
		account.ProjectID, server.URL, server.Key, atOnce))
	for _, model := range []string{"echo@100ms", "text@100ms"} {
		c.post("/v1/projects/"+account.ProjectID+"/prices", fmt.Sprintf(`{"model":%q,"input":1,"output":10}`, model))
	}
	dataset := c.post("/v1/datasets", fmt.Sprintf(`{"project_id":%q,"name":"numbers"}`, account.ProjectID))
	var list []string
	for i := range items {
		list = append(list, fmt.Sprintf(`{"key":"q%d","input":{"question":"number %d"},"reference_output":"number %d"}`, i, i, i))
	}
	c.post("/v1/datasets/"+dataset+"/items", `{"items":[`+strings.Join(list, ",")+`]}`)
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":%q,"max_output_tokens":50}}`, connection, model)
	}
	id := c.post("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":%s,"b":%s,"repeats":%d,"max_cost_usd":100,
		"graders":[{"name":"same","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"}]}`,
		account.ProjectID, dataset, side("text@100ms"), side("echo@100ms"), repeats))
	c.path = "/v1/comparisons/" + id
	total := int64(items * 2 * repeats)
	begin := time.Now()
	for n := range kills {
		c.await(total * int64(n+1) / int64(kills+2))
		pid, err := up.PID(product.ControlPlaneProcess)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	ended := c.await(total)
	require.Eventually(t, func() bool { ended = c.get(); return ended.Summary != nil }, patience, 100*time.Millisecond)
	require.Equal(t, "succeeded", ended.Status)
	require.EqualValues(t, items, ended.Accounting.Scored)
	require.Equal(t, total, ended.Accounting.Outputs)
	made := int64(len(server.Requests()))
	require.GreaterOrEqual(t, made, total)
	// Outputs that were answered and not yet stored are those of a few moments.
	require.LessOrEqual(t, made, total+int64(kills*3*atOnce))
	// A call may be reserved, and its process killed before the request is sent.
	require.LessOrEqual(t, ended.Cost.Calls, made+int64(kills*atOnce), "each request is counted once")
	require.GreaterOrEqual(t, ended.Cost.Calls, total)

	lines := bytes.Split(bytes.TrimSpace(c.do(http.MethodGet, c.path+"/export", "")), []byte("\n"))
	seen, cost := map[string]bool{}, 0.0
	for _, line := range lines {
		var one struct {
			ItemID string `json:"item_id"`
			Side   string
			Repeat int
			Output struct {
				CostUSD float64 `json:"cost_usd"`
			}
		}
		require.NoError(t, json.Unmarshal(line, &one))
		at := fmt.Sprint(one.ItemID, one.Side, one.Repeat)
		require.False(t, seen[at], "an output is there twice")
		seen[at] = true
		cost += one.Output.CostUSD
	}
	require.Len(t, seen, int(total))
	require.LessOrEqual(t, cost, ended.Cost.USD+ended.Cost.UnknownAtMostUSD+1e-9)
	t.Logf("%d outputs, %d kills: %d calls, %d repeated, %.1f s", total, kills, made, made-total, time.Since(begin).Seconds())
}

type comparisonAnswer struct {
	ID       string
	Status   string
	Progress struct{ Done int64 }
	Cost     struct {
		USD              float64
		Calls            int64
		UnknownAtMostUSD float64 `json:"unknown_at_most_usd"`
	}
	Accounting struct{ Scored, Outputs int64 }
	Summary    *struct{ Sentence string }
}

func (c *comparing) get() (answer comparisonAnswer) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal(c.do(http.MethodGet, c.path, ""), &answer))
	return answer
}

// await waits until a number of outputs are done.
func (c *comparing) await(done int64) (answer comparisonAnswer) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		answer = c.get()
		return answer.Progress.Done >= done
	}, 2*patience, 50*time.Millisecond, "%+v", answer)
	return answer
}

// post creates something, and returns its id.
func (c *comparing) post(path, body string) string {
	c.t.Helper()
	var made struct{ ID string }
	require.NoError(c.t, json.Unmarshal(c.do(http.MethodPost, path, body), &made))
	return made.ID
}

// do sends a request, again while the API is away.
func (c *comparing) do(method, path, body string) (answer []byte) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		request, err := http.NewRequestWithContext(c.t.Context(), method, c.up.Ports.URL(product.Web)+path, strings.NewReader(body))
		require.NoError(c.t, err)
		request.Header.Set("Authorization", "Bearer "+c.key)
		request.Header.Set("Content-Type", "application/json")
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer func() { _ = got.Body.Close() }()
		var text bytes.Buffer
		if _, err := text.ReadFrom(got.Body); err != nil || got.StatusCode >= 500 {
			return false
		}
		require.Less(c.t, got.StatusCode, 300, text.String())
		answer = text.Bytes()
		return true
	}, patience, 100*time.Millisecond, path)
	return answer
}
