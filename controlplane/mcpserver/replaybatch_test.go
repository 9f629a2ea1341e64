package mcpserver_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

type plannedBatch struct {
	plannedReplay

	BatchID     string   `json:"batch_id"`
	AttainableP *float64 `json:"attainable_p"`
	Batch       struct {
		MatchedRuns   int `json:"matched_runs"`
		ChosenRuns    int `json:"chosen_runs"`
		GoodRuns      int `json:"good_runs"`
		NotReplayable []struct {
			Code, Why string
			Runs      int
		} `json:"not_replayable"`
		Detectable *float64 `json:"detectable"`
	} `json:"batch"`
}

type shownPart struct {
	Verdict          string
	Edited, Unedited struct {
		Attempts int
		Sum      float64
	}
	Difference float64
	CI         []float64
	Runs       map[string]int
	Evidence   *struct{ Channels []struct{ Name string } }
}

type batchDiff struct {
	replayDiff

	BatchID string `json:"batch_id"`
	Advice  string `json:"advice"`
	Batch   *struct {
		Chosen shownPart
		Good   *shownPart
		Runs   []struct {
			RunID    string `json:"run_id"`
			Outcome  string
			ReplayID string `json:"replay_id"`
		}
	} `json:"batch"`
}

// batch waits for the result of a batch, and returns it with the texts of all results.
func (m *mcpReplays) batch(t *testing.T, next string) (ended batchDiff, texts []string) {
	t.Helper()
	for until := time.Now().Add(2 * apitest.ReplayTime); time.Now().Before(until); { // of many runs
		tool, of := apitest.NextCall(t, next)
		require.Equal(t, "replay.diff", tool)
		var text string
		ended, text = apitest.CallTool[batchDiff](t, m.client, tool, of)
		texts = append(texts, text)
		if ended.Verdict != "" || ended.Status == "failed" {
			return ended, texts
		}
		require.Len(t, ended.Next, 1)
		next = ended.Next[0]
	}
	require.FailNow(t, "no result", "%+v\n%s", ended, m.Log)
	return ended, nil
}

// isCancelled is a grader of the answers of the agent for orders.
var isCancelled = map[string]any{"name": "cancelled", "type": "string_check", "operation": "ilike", "reference": "is cancelled"}

// TestMCPTestsACause goes from the groups of failures to a tested cause within 12,000 tokens, those of its calls included.
func TestMCPTestsACause(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerHelpfully)
	m.Price(t, m.as, m.project.Id, apitest.AgentModel)
	for range 8 {
		_, td := apitest.RefusedTrace(t)
		m.send(failed(td, "The customer was not helped."))
	}
	for range 5 {
		_, td := apitest.AgentTrace(apitest.OrderAgent)
		m.send(td)
	}
	const most = 12_000
	spent := 0
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	call := func(arguments any, text string) {
		asked, err := json.Marshal(arguments)
		require.NoError(t, err)
		ids, _, err := codec.Encode(string(asked))
		require.NoError(t, err)
		var budget struct {
			TokensUsed int `json:"tokens_used"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &budget))
		spent += len(ids) + budget.TokensUsed
		t.Logf("%d and %d tokens: %s\n%s", len(ids), budget.TokensUsed, asked, text)
	}

	arguments := map[string]any{"window_seconds": 86400}
	groups, text := apitest.CallTool[failureGroups](t, m.client, "runs.failures", arguments)
	call(arguments, text)
	require.Len(t, groups.Groups, 1)
	require.Equal(t, 8, groups.Groups[0].Runs)
	arguments["fingerprint"] = groups.Groups[0].Fingerprint
	groups, text = apitest.CallTool[failureGroups](t, m.client, "runs.failures", arguments)
	call(arguments, text)
	require.Len(t, groups.Groups, 1)

	edit := map[string]any{
		"run_filter": "fingerprint=" + groups.Groups[0].Fingerprint, "good_runs": 4, "max_cost_usd": 1, "outcome": isCancelled, "plan": true,
		"edits": systemPrompt("Always help customers with their orders."),
		"tools": map[string]any{"find_order": map[string]any{"side_effects": "read"}, "cancel_order": map[string]any{"side_effects": "write"}},
	}
	plan, text := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", edit)
	call(edit, text)
	assert.Equal(t, "planned", plan.Status)
	assert.Contains(t, plan.Edits, "in all model calls<")
	assert.Equal(t, 2, plan.Controls)
	assert.Equal(t, 2, plan.Treatments)
	assert.Equal(t, (8*1+4*3)*4, plan.Calls)
	assert.Equal(t, 8, plan.Batch.MatchedRuns)
	assert.Equal(t, 8, plan.Batch.ChosenRuns)
	assert.Equal(t, 4, plan.Batch.GoodRuns)
	assert.Empty(t, plan.Batch.NotReplayable)
	require.NotNil(t, plan.Batch.Detectable)
	assert.InDelta(t, 0.604, *plan.Batch.Detectable, 0.001)
	require.NotNil(t, plan.CostHigh)
	assert.Equal(t, "Call replay.edit with the same arguments, but without plan.", plan.ToStart)
	assert.Empty(t, m.server.Requests(), "a plan calls nothing")

	delete(edit, "plan")
	created, text := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", edit)
	call(edit, text)
	require.Len(t, created.Next, 1)
	ended, texts := m.batch(t, created.Next[0])
	for _, text := range texts {
		call(created.Next[0], text)
	}
	assert.Equal(t, created.BatchID, ended.BatchID)
	assert.Equal(t, "better", ended.Verdict)
	assert.Contains(t, ended.Sentence, "with the edit 16 of 16 attempts end well, unedited 0 of 16")
	assert.Contains(t, ended.Sentence, "Of good runs with the edit 8 of 8 attempts end well")
	assert.Equal(t, map[string]int{"repaired": 8}, ended.Batch.Chosen.Runs)
	assert.Equal(t, map[string]int{"kept": 4}, ended.Batch.Good.Runs)
	require.Len(t, ended.Batch.Runs, 4, "some of each outcome")
	assert.Equal(t, "repaired", ended.Batch.Runs[0].Outcome)
	assert.NotEmpty(t, ended.Advice)
	assert.Positive(t, ended.CostUSD)
	assert.Equal(t, 48, ended.Done)
	require.NotNil(t, ended.Batch.Chosen.Evidence)
	assert.LessOrEqual(t, spent, most)
	t.Logf("%d of %d tokens", spent, most)

	require.Len(t, ended.Next, 1)
	tool, arguments := apitest.NextCall(t, ended.Next[0])
	one, _ := apitest.CallTool[replayDiff](t, m.client, tool, arguments)
	assert.Len(t, one.Attempts, 4)
	for _, budget := range []int{1024, 1200, 1600, 30000} {
		small, _ := apitest.CallTool[batchDiff](t, m.client, "replay.diff", map[string]any{"batch_id": created.BatchID, "token_budget": budget})
		assert.Equal(t, ended.Sentence, small.Sentence)
	}
}

// TestMCPBatchErrors: an error says what to do, and what cannot be replayed is counted with the reason.
func TestMCPBatchErrors(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerHelpfully)
	run, td := apitest.RefusedTrace(t)
	m.send(td)
	with := func(more map[string]any) map[string]any {
		arguments := map[string]any{"edits": systemPrompt("Always help.")}
		maps.Copy(arguments, more)
		return arguments
	}
	many := map[string]any{"run_ids": []any{run.String(), uuid.NewString(), run.String()}}
	for name, one := range map[string]struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		"no run":            {"replay.edit", with(nil), "Give one of run_id, run_filter and run_ids."},
		"run and runs":      {"replay.edit", with(map[string]any{"run_id": run.String(), "run_ids": many["run_ids"]}), "Give one of run_id, run_filter and run_ids."},
		"filter and ids":    {"replay.edit", with(map[string]any{"run_filter": "name=x", "run_ids": many["run_ids"]}), "Give one of run_id, run_filter and run_ids."},
		"good runs of one":  {"replay.edit", with(map[string]any{"run_id": run.String(), "good_runs": 3}), "good_runs stands beside run_filter or run_ids."},
		"not an id":         {"replay.edit", with(map[string]any{"run_ids": []any{"x"}}), "run_ids must be UUIDs."},
		"unknown filter":    {"replay.edit", with(map[string]any{"run_filter": "colour=red"}), "run_filter has the parameter colour, which is no filter of runs"},
		"finds nothing":     {"replay.edit", with(map[string]any{"run_filter": "agent_name=nobody"}), "run_filter finds no run"},
		"too many controls": {"replay.edit", with(map[string]any{"run_ids": many["run_ids"], "controls": 21}), "At most 20"},
		"nothing fits":      {"replay.edit", map[string]any{"run_ids": many["run_ids"], "edits": []any{map[string]any{"target": map[string]any{"kind": "tool", "name": "x"}, "set": map[string]any{"timeout_ms": 5}}}}, "edits[0].target fits no step"},
		"no id":             {"replay.diff", map[string]any{}, "Give one of replay_id and batch_id."},
		"unknown batch":     {"replay.diff", map[string]any{"batch_id": apitest.NoSuchID}, "There is no such batch. Use the batch_id that replay.edit returned."},
	} {
		t.Run(name, func(t *testing.T) {
			text := toolError(t, m.client, one.tool, one.arguments)
			assert.Contains(t, text, one.want)
			assert.NotContains(t, text, "body.")
		})
	}
	many["plan"] = true
	plan, _ := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", with(many))
	assert.Equal(t, 2, plan.Batch.ChosenRuns, "each run once")
	require.Len(t, plan.Batch.NotReplayable, 1)
	assert.Equal(t, "run_deleted", plan.Batch.NotReplayable[0].Code)
	assert.Equal(t, 1, plan.Batch.NotReplayable[0].Runs)
	many["plan"] = false
	created, _ := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", with(many))
	ended, _ := m.batch(t, created.Next[0])
	assert.Equal(t, "unknown", ended.Verdict)
	assert.Contains(t, ended.Advice, "Call it again with outcome.")
	other := m.CreateProject(t, m.session, m.project.WorkspaceId, "other")
	stranger := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, other.Id, contract.ScopeRunsRead, contract.ScopeReplaysRead, contract.ScopeReplaysWrite).Key)
	assert.Equal(t, toolError(t, stranger, "replay.diff", map[string]any{"batch_id": apitest.NoSuchID}), toolError(t, stranger, "replay.diff", map[string]any{"batch_id": created.BatchID}))
}

// TestMCPBatchKeepsTextInItsFence tests a cause over runs of hostile names.
func TestMCPBatchKeepsTextInItsFence(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerHelpfully)
	var texts []string
	var ids []any
	hostile := []string{}
	for _, text := range injections {
		if len(text) < 500 && len(hostile) < 12 {
			hostile = append(hostile, order+" "+strings.ToValidUTF8(text, "\ufffd")+" "+order)
		}
	}
	for i := range hostile {
		run, td := apitest.RefusedTrace(t)
		rename(td, hostile[i])
		m.send(failed(td, hostile[i]))
		ids = append(ids, run.String())
	}
	arguments := map[string]any{"run_ids": ids, "outcome": isCancelled, "plan": true, "controls": 1, "treatments": 1, "edits": systemPrompt("Always help. " + hostile[0])}
	_, text := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", arguments)
	texts = append(texts, text)
	arguments["edits"] = []any{map[string]any{"target": map[string]any{"kind": "tool", "name": hostile[1]}, "set": map[string]any{"timeout_ms": 1}}}
	_, text = apitest.CallTool[plannedBatch](t, m.client, "replay.edit", arguments)
	texts = append(texts, text)
	delete(arguments, "plan")
	arguments["edits"] = systemPrompt("Always help. " + hostile[0])
	created, text := apitest.CallTool[plannedBatch](t, m.client, "replay.edit", arguments)
	texts = append(texts, text)
	_, seen := m.batch(t, created.Next[0])
	for _, text := range append(texts, seen...) {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		requireNoOrders(t, "", value)
		require.Empty(t, hidden.FindString(text))
	}
	require.Contains(t, strings.Join(texts, ""), order, "it is shown")
}

// rename names all spans of a trace and its agent.
func rename(td ptrace.Traces, name string) {
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i := range spans.Len() {
		spans.At(i).SetName(name)
	}
	spans.At(0).Attributes().PutStr("gen_ai.agent.name", name)
}
