package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// batchCalls are the calls of a model in each attempt of TestReplayBatch, attempts those of each run.
const batchCalls, batchAttempts = 3, 4

// batchAnswer is what the bench reads of a batch of replays.
type batchAnswer struct {
	Status     string
	StopReason *string  `json:"stop_reason"`
	ChosenRuns int      `json:"chosen_runs"`
	MaxCostUSD *float64 `json:"max_cost_usd"`
	Cost       struct {
		USD              float64
		Calls            int
		UnknownAtMostUSD float64 `json:"unknown_at_most_usd"`
	}
	Result *struct {
		Sentence string
		Chosen   struct {
			Edited, Unedited struct{ Attempts int }
		}
	}
}

// TestReplayBatch replays BENCH_BATCH_RUNS runs with an edit, two times with and two times without it, over a connection of 16 and of 50 places.
// The limit beside it is the time in which the provider can answer as many calls at once as the connection has places. Then it kills the
// control plane five times in the middle of a batch: what was under way is asked for again, and each attempt is there once. Then a batch has a cap that is less than the maximum of a call.
func TestReplayBatch(t *testing.T) {
	runs, _ := strconv.Atoi(os.Getenv("BENCH_BATCH_RUNS"))
	if runs == 0 {
		t.Skip("see make bench-replay-batch")
	}
	each, err := time.ParseDuration(os.Getenv("BENCH_BATCH_CALL"))
	require.NoError(t, err)
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeIngestWrite, apikey.ScopeRunsRead, apikey.ScopeReplaysRead, apikey.ScopeReplaysWrite)
	require.NoError(t, err)
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{Answer: agent.Answer(batchCalls, each)}), key: key, project: account.ProjectID}
	b.connect()
	b.price()
	ids := b.recordAgents(runs)
	fmt.Printf("%d cores of %s, load before the start %s; %d runs, %d attempts of each, %d calls of %s in each attempt\n",
		runtime.NumCPU(), runtime.GOARCH, load, runs, batchAttempts, batchCalls, each)
	calls := runs * batchAttempts * batchCalls
	for _, places := range []int{16, 50} {
		b.places(places)
		before := len(b.server.Requests())
		cpu, begin := b.cpu(), time.Now()
		b.await(b.batch(ids, fmt.Sprintf("with %d places", places), 0))
		took, ideal := time.Since(begin), time.Duration(calls)*each/time.Duration(places)
		sent := b.server.Requests()[before:]
		require.Len(t, sent, calls)
		first, last := sent[0].At.Sub(begin), took-sent[calls-1].Ended.Sub(begin)
		fmt.Printf("%d places: %d calls took %.1f s, ideal %.1f s (%.2f); %.1f s before the first call, %.1f s after the last; %.1f s of CPU of the control plane\n",
			places, calls, took.Seconds(), ideal.Seconds(), took.Seconds()/ideal.Seconds(), first.Seconds(), last.Seconds(), (b.cpu() - cpu).Seconds())
	}

	const kills, places = 5, 50
	before := len(b.server.Requests())
	requests := func() int { return len(b.server.Requests()) - before }
	pool := openPostgres(t, up)
	begin := time.Now()
	const most = 100 // each call reserves its maximum first, which is far more than it costs
	url := b.batch(ids, "and is killed", most)
	made, stored, lost := 0, 0, 0
	for n := range kills {
		require.Eventually(t, func() bool { return requests() >= lost+calls*(n+1)/(kills+2) }, 10*time.Minute, 5*time.Millisecond)
		require.Eventually(t, func() bool { // it may not be back from the kill before
			pid, err := up.PID(product.ControlPlaneProcess)
			return err == nil && pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
		}, time.Minute, 100*time.Millisecond)
		time.Sleep(time.Second) // what the process sent has arrived, and nobody works on the batch yet
		nowMade, nowStored := requests(), storedCalls(t, pool, path.Base(url))
		gone := (nowMade - made) - (nowStored - stored)
		require.GreaterOrEqual(t, gone, 0, "what is stored was asked for once")
		require.LessOrEqual(t, gone, places, "only calls under way are lost")
		made, stored, lost = nowMade, nowStored, lost+gone
	}
	ended := b.await(url)
	require.Equal(t, calls, storedCalls(t, pool, path.Base(url)))
	require.Equal(t, calls+lost, requests(), "no stored step is made again")
	require.LessOrEqual(t, ended.Cost.USD+ended.Cost.UnknownAtMostUSD, *ended.MaxCostUSD)
	fmt.Printf("%d kills: took %.1f s, %d requests for %d calls: %d were under way and lost, no stored one made again; cost $%.6f and at most $%.6f of $%.6f\n",
		kills, time.Since(begin).Seconds(), requests(), calls, lost, ended.Cost.USD, ended.Cost.UnknownAtMostUSD, *ended.MaxCostUSD)

	const few = .005 // less than the maximum of a call
	before = len(b.server.Requests())
	capped := b.awaitEnd(b.batch(ids, "within a cap", few))
	require.NotNil(t, capped.StopReason)
	require.Equal(t, "max_cost", *capped.StopReason)
	require.LessOrEqual(t, capped.Cost.USD+capped.Cost.UnknownAtMostUSD, *capped.MaxCostUSD)
	require.Equal(t, len(b.server.Requests())-before, capped.Cost.Calls)
	fmt.Printf("a small cap: %d calls, $%.6f of $%.6f\n", capped.Cost.Calls, capped.Cost.USD, *capped.MaxCostUSD)
}

// price sets that of the agent's model.
func (b *providerBench) price() {
	answer := b.post(b.up.Ports.URL(product.Web)+"/v1/projects/"+b.project+"/prices", b.key, fmt.Sprintf(`{"model":%q,"input":1,"output":10}`, agent.Model))
	require.NoError(b.t, answer.Body.Close())
}

// recordAgents records runs of an agent, and returns their ids once all of them can be read.
func (b *providerBench) recordAgents(runs int) []string {
	ids := make([]string, runs)
	web := b.up.Ports.URL(product.Web)
	for i := range ids {
		run, body, err := agent.Run(batchCalls)
		require.NoError(b.t, err)
		sent, err := product.Post(b.t.Context(), web+"/v1/traces", b.key, product.JSON, body)
		require.NoError(b.t, err)
		require.Less(b.t, sent.Status, 300, string(sent.Body))
		ids[i] = run.String()
	}
	reader := product.Reader{Base: web, Key: b.key}
	for _, id := range ids {
		require.Eventually(b.t, func() bool {
			stored, found, err := reader.Run(b.t.Context(), id)
			return err == nil && found && stored.SpanCount == 2*batchCalls
		}, time.Minute, 100*time.Millisecond)
	}
	return ids
}

// places sets how many calls the connection has at once.
func (b *providerBench) places(n int) {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPatch, b.up.Ports.URL(product.Web)+"/v1/providers/"+b.connection,
		strings.NewReader(fmt.Sprintf(`{"max_concurrency":%d}`, n)))
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+b.key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Body.Close())
	require.Equal(b.t, http.StatusOK, answer.StatusCode)
}

// batch starts a batch of replays, and returns its address. A cap of 0 is none.
func (b *providerBench) batch(runs []string, how string, limit float64) (url string) {
	body := map[string]any{
		"project_id": b.project, "provider_id": b.connection, "run_ids": runs,
		"edits":   []any{map[string]any{"target": "all", "set": map[string]any{"system_prompt": "You look up numbers " + how + "."}}},
		"outcome": map[string]any{"name": "all", "type": "string_check", "operation": "ilike", "input": "{{sample.output_text}}", "reference": "all"},
	}
	if limit > 0 {
		body["max_cost_usd"] = limit
	}
	text, err := json.Marshal(body)
	require.NoError(b.t, err)
	return b.up.Ports.URL(product.Web) + "/v1/replay-batches/" + b.create("/v1/replay-batches", string(text))
}

// storedCalls counts the calls of models in the steps of a batch.
func storedCalls(t *testing.T, pool *pgxpool.Pool, batch string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM replay_steps JOIN replays ON id = replay_id WHERE batch_id = $1 AND content::json->>'source' = 'reissued') +
		(SELECT coalesce(sum((a.result::json->'spent'->>'calls')::bigint), 0) FROM replay_attempts a JOIN replays r ON r.id = a.replay_id WHERE batch_id = $1)`,
		batch).Scan(&n))
	return n
}

// await waits for the result of a batch that makes all attempts.
func (b *providerBench) await(url string) batchAnswer {
	ended := b.awaitEnd(url)
	require.Nil(b.t, ended.StopReason)
	require.Equal(b.t, ended.ChosenRuns*batchAttempts/2, ended.Result.Chosen.Edited.Attempts)
	require.Equal(b.t, ended.ChosenRuns*batchAttempts/2, ended.Result.Chosen.Unedited.Attempts)
	return ended
}

// awaitEnd waits for the result of a batch. The server may have been killed.
func (b *providerBench) awaitEnd(url string) (now batchAnswer) {
	require.Eventually(b.t, func() bool {
		now = batchAnswer{}
		status, body := b.get(url)
		return status == http.StatusOK && json.Unmarshal(body, &now) == nil && now.Result != nil
	}, 20*time.Minute, 100*time.Millisecond)
	require.Equal(b.t, "succeeded", now.Status)
	return now
}
