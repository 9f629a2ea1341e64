package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// replayedAtOnce is how many attempts a replay makes at once.
const replayedAtOnce = 16

type replayAnswer struct {
	Status  string
	Verdict *struct{}
	Cost    struct {
		USD              float64
		Calls            int64
		UnknownAtMostUSD float64 `json:"unknown_at_most_usd"`
	}
	Attempts []struct {
		RunID      string `json:"run_id"`
		Status     string
		StopReason string  `json:"stop_reason"`
		ModelCalls int64   `json:"model_calls"`
		CostUSD    float64 `json:"cost_usd"`
	}
}

// TestKillReplay kills the control plane in the middle of a replay. It finishes: calls whose answers are stored are not made again, each
// attempt is one run, and each cost is counted once.
func TestKillReplay(t *testing.T) {
	const calls = 20
	controls, treatments, kills := scaled(4, 20), scaled(4, 16), scaled(1, 5)
	attempts := controls + treatments
	total := int64(attempts * calls)
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "faults", apikey.ScopeAdmin, apikey.ScopeIngestWrite, apikey.ScopeRunsRead, apikey.ScopeReplaysRead, apikey.ScopeReplaysWrite)
	require.NoError(t, err)
	e := &evaluating{
		t: t, up: up, key: key, project: account.ProjectID, server: provider.Start(t, provider.Options{Answer: agent.Answer(calls, 100*time.Millisecond)}),
	}
	e.connection = e.post("/v1/providers", fmt.Sprintf(`{"project_id":%q,"name":"scripted","kind":"openai","base_url":"%s/v1","api_key":%q,"max_concurrency":%d}`,
		e.project, e.server.URL, e.server.Key, atOnce))
	e.post("/v1/projects/"+e.project+"/prices", fmt.Sprintf(`{"model":%q,"input":1,"output":10}`, agent.Model))
	run := e.record(calls)
	db, err := postgres.Open(t.Context(), fmt.Sprintf("postgres://looptrace:%s@%s/looptrace?sslmode=disable", up.Password(t, "postgres"), up.Ports.Addr(product.Postgres)))
	require.NoError(t, err)
	t.Cleanup(db.Close)

	begin := time.Now()
	id := e.post("/v1/replays", fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"controls":%d,"treatments":%d,"max_cost_usd":100,
		"edits":[{"target":"all","set":{"system_prompt":"You look up numbers quickly."}}]}`, run, e.connection, controls, treatments))
	var made, stored, lost int64
	for n := range kills {
		require.Eventually(t, func() bool { return e.requests() >= lost+total*int64(n+1)/int64(kills+2) }, 2*patience, 5*time.Millisecond)
		pid, err := up.PID(product.ControlPlaneProcess)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		// What the process sent has arrived, and nobody works on the replay yet.
		time.Sleep(time.Second)
		nowMade, nowStored := e.requests(), storedCalls(t, db, id)
		require.Greater(t, nowStored, stored, "the kill is in the middle")
		require.Less(t, nowStored, total, "the kill is in the middle")
		gone := (nowMade - made) - (nowStored - stored)
		require.GreaterOrEqual(t, gone, int64(0), "what is stored was asked for once")
		require.LessOrEqual(t, gone, int64(replayedAtOnce), "only calls under way are lost")
		made, stored, lost = nowMade, nowStored, lost+gone
		if kills == 1 { // that a process is gone is noticed after 20 s: in the short form at once
			_, err := db.Exec(t.Context(), "UPDATE job_workers SET seen_at = seen_at - interval '1 minute'")
			require.NoError(t, err)
		}
	}
	var ended replayAnswer
	require.Eventually(t, func() bool {
		ended = replayAnswer{}
		require.NoError(t, json.Unmarshal(e.do(http.MethodGet, "/v1/replays/"+id, ""), &ended))
		return ended.Verdict != nil
	}, 2*patience, 100*time.Millisecond)
	require.Equal(t, "succeeded", ended.Status)
	require.Equal(t, total, storedCalls(t, db, id))
	require.Equal(t, total+lost, e.requests(), "no stored step is made again")

	runs, sum, cost := map[string]bool{}, int64(0), 0.0
	for _, attempt := range ended.Attempts {
		require.Equal(t, "succeeded", attempt.Status)
		require.Equal(t, "completed", attempt.StopReason)
		runs[attempt.RunID] = true
		sum += attempt.ModelCalls
		cost += attempt.CostUSD
	}
	require.Len(t, runs, attempts)
	require.Equal(t, total, sum)
	// A call may be reserved, and its process killed before the request is sent.
	require.GreaterOrEqual(t, ended.Cost.Calls, total+lost)
	require.LessOrEqual(t, ended.Cost.Calls, total+lost+int64(kills*replayedAtOnce), "each request is counted once")
	require.Positive(t, cost)
	require.LessOrEqual(t, cost, ended.Cost.USD+ended.Cost.UnknownAtMostUSD+1e-9)
	require.LessOrEqual(t, ended.Cost.USD, cost*float64(total+lost)/float64(total)*1.5, "what a lost call cost is counted once")
	e.requireRuns(runs, 2*calls)
	t.Logf("%d attempts, %d kills: %d calls stored, %d lost, %d counted, %.1f s", attempts, kills, total, lost, ended.Cost.Calls, time.Since(begin).Seconds())
}

func (e *evaluating) requests() int64 { return int64(len(e.server.Requests())) }

// record sends a run of an agent, and waits until it can be replayed.
func (e *evaluating) record(calls int) uuid.UUID {
	e.t.Helper()
	run, body, err := agent.Run(calls)
	require.NoError(e.t, err)
	sent, err := product.Post(e.t.Context(), e.up.Ports.URL(product.Web)+"/v1/traces", e.key, product.JSON, body)
	require.NoError(e.t, err)
	require.Less(e.t, sent.Status, 300, string(sent.Body))
	header := http.Header{"Authorization": {"Bearer " + e.key}}
	var last product.Answer
	require.Eventually(e.t, func() bool {
		last, err = product.Do(e.t.Context(), http.MethodGet, e.up.Ports.URL(product.Web)+"/v1/runs/"+run.String()+"/replayability", header, nil)
		return err == nil && bytes.Contains(last.Body, []byte(`"level":"full"`)) && bytes.Contains(last.Body, fmt.Appendf(nil, `"model_calls":%d`, calls))
	}, patience, 100*time.Millisecond, "%s", last.Body)
	return run
}

// requireRuns requires that the replay made these runs and no others, with all of their spans once.
func (e *evaluating) requireRuns(runs map[string]bool, spans int64) {
	e.t.Helper()
	var page struct{ Data []product.Run }
	require.Eventually(e.t, func() bool {
		page.Data = nil
		require.NoError(e.t, json.Unmarshal(e.do(http.MethodGet, "/v1/runs?source=replay&limit=100&project_id="+e.project, ""), &page))
		return len(page.Data) >= len(runs)
	}, patience, 100*time.Millisecond)
	require.Len(e.t, page.Data, len(runs))
	for _, one := range page.Data {
		require.True(e.t, runs[one.RunID])
		require.Equal(e.t, spans, one.SpanCount, one.RunID)
	}
}

// storedCalls counts the calls of models that a replay has stored.
func storedCalls(t *testing.T, db *pgxpool.Pool, id string) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM replay_steps WHERE replay_id = $1 AND content::json->>'source' = 'reissued') +
		(SELECT coalesce(sum((result::json->'spent'->>'calls')::bigint), 0) FROM replay_attempts WHERE replay_id = $1)`, id).Scan(&n))
	return n
}
