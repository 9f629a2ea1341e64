package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/test/agent"
)

type failureGroups struct {
	Runs       int `json:"runs"`
	FailedRuns int `json:"failed_runs"`
	GroupCount int `json:"group_count"`
	Resolved   int `json:"resolved_left_out"`
	Muted      int `json:"muted_left_out"`
	Groups     []struct {
		Fingerprint string   `json:"fingerprint"`
		RegressedBy string   `json:"regressed_by"`
		Step        string   `json:"step"`
		Runs        int      `json:"runs"`
		AgentRuns   int      `json:"agent_runs"`
		FirstSeen   string   `json:"first_seen"`
		LastSeen    string   `json:"last_seen"`
		Apart       []string `json:"apart"`
		RunIDs      []string `json:"run_ids"`
		Recorded    string   `json:"recorded"`
	} `json:"groups"`
	Next     []string `json:"next"`
	NextPage string   `json:"next_page"`
}

type comparedRuns struct {
	Run        struct{ Outcome string } `json:"run"`
	Other      struct{ Outcome string } `json:"other"`
	Attributes string                   `json:"attributes"`
	Same       int                      `json:"same"`
	Steps      []struct {
		N        int      `json:"n"`
		State    string   `json:"state"`
		Name     string   `json:"name"`
		SpanID   string   `json:"span_id"`
		Other    string   `json:"other_span_id"`
		Same     int      `json:"same_before"`
		AsAbove  []string `json:"as_above"`
		Recorded string   `json:"recorded"`
	} `json:"steps"`
	LeftOut  int      `json:"left_out"`
	Next     []string `json:"next"`
	NextPage string   `json:"next_page"`
}

// TestMCPFindsTheCause finds with six tools, within 8,000 tokens, why the runs of one worker fail: its tool tells amounts in another unit.
func TestMCPFindsTheCause(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, agent.AnswerTenant)
	m.Price(t, m.as, m.project.Id, agent.Model)
	tenants, err := agent.Tenants(time.Now())
	require.NoError(t, err)
	failed := map[string]bool{}
	for _, run := range tenants {
		m.send(run.Traces)
		failed[run.ID.String()] = run.Failed
	}
	const most = 8_000
	spent := 0
	call := func(text string) {
		var budget struct {
			TokensUsed int `json:"tokens_used"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &budget))
		spent += budget.TokensUsed
		t.Logf("%d tokens: %s", budget.TokensUsed, text)
	}

	// What fails, and what sets it apart.
	groups, text := apitest.CallTool[failureGroups](t, m.client, "runs.failures", map[string]any{"window_seconds": 86400, "token_budget": 1500})
	call(text)
	assert.Equal(t, 24, groups.Runs)
	assert.Equal(t, 6, groups.FailedRuns, "the others recovered")
	require.Len(t, groups.Groups, 1)
	group := groups.Groups[0]
	assert.Equal(t, "tool charge", group.Step)
	assert.Equal(t, 6, group.Runs)
	assert.Equal(t, 24, group.AgentRuns)
	assert.Equal(t, "metadata.worker=w2: 6 of 6, others 0 of 18", group.Apart[0])
	assert.Contains(t, group.Recorded, "exceeds the limit of 5000 usd")
	require.Len(t, group.RunIDs, 3)
	for _, id := range group.RunIDs {
		assert.True(t, failed[id])
	}

	// No run of this worker does well.
	found, text := apitest.CallTool[apitest.FoundRuns](t, m.client, "runs.search", map[string]any{
		"metadata": map[string]string{"worker": agent.BadWorker}, "outcome": []string{"succeeded", "recovered"}, "limit": 1, "token_budget": 1024,
	})
	call(text)
	assert.Empty(t, found.Runs)

	// How it failed.
	require.Len(t, groups.Next, 2)
	tool, arguments := apitest.NextCall(t, groups.Next[0])
	require.Equal(t, "runs.read", tool)
	arguments["token_budget"] = 3000
	_, text = apitest.CallTool[apitest.AgentView](t, m.client, tool, arguments)
	call(text)
	for _, want := range []string{`metadata.worker: w2`, `metadata.tenant: `, `release: 2.`, `user_id: user-`, `"outcome":"failed"`, group.Fingerprint, ` frames left out>`, "/app/billing/account.py"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "site-packages")
	assert.NotContains(t, text, "^^^^")
	assert.Equal(t, 1, strings.Count(text, "2. An account that has no agreement on credit"), "each text once")

	// Where it first went otherwise than a run that ended well.
	tool, arguments = apitest.NextCall(t, groups.Next[1])
	require.Equal(t, "runs.diff", tool)
	arguments["token_budget"] = 2000
	compared, text := apitest.CallTool[comparedRuns](t, m.client, tool, arguments)
	call(text)
	assert.Contains(t, []string{"succeeded", "recovered"}, compared.Run.Outcome)
	assert.Equal(t, "failed", compared.Other.Outcome)
	require.NotEmpty(t, compared.Steps)
	first := compared.Steps[0]
	assert.Equal(t, "find_invoice", first.Name)
	assert.Contains(t, first.Recorded, "- /unit: usd\n+ /unit: cent")
	require.Greater(t, len(compared.Steps), 1)
	assert.Equal(t, []string{"input"}, compared.Steps[1].AsAbove, "the prompt has the tool's result")
	assert.Contains(t, compared.Attributes, "+ metadata.worker: w2")

	// The other unit would have helped.
	edit := map[string]any{
		"run_id": group.RunIDs[0], "max_cost_usd": 1, "plan": true, "token_budget": 1200,
		"edits": []any{map[string]any{"target": map[string]any{"kind": "tool", "name": "find_invoice"}, "set": map[string]any{"tool_result": agent.GoodAmount}}},
		"tools": map[string]any{
			"find_invoice": map[string]any{"side_effects": "read"},
			"charge":       map[string]any{"side_effects": "write", "on_miss": "fixed", "result": `{"ok":true}`},
		},
	}
	plan, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	call(text)
	assert.Equal(t, "planned", plan.Status)
	delete(edit, "plan")
	created, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	call(text)
	tool, arguments = apitest.NextCall(t, created.Next[0])
	arguments["token_budget"] = 2000
	var ended replayDiff
	for until := time.Now().Add(apitest.ReplayTime); time.Now().Before(until) && ended.Verdict == ""; {
		ended, text = apitest.CallTool[replayDiff](t, m.client, tool, arguments)
	}
	call(text)
	assert.Equal(t, "effect_attributable", ended.Verdict, text)
	assert.LessOrEqual(t, spent, most)
	t.Logf("%d of %d tokens", spent, most)
}
