package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// TestReplay replays a run of BENCH_REPLAY_STEPS calls of a model, of 200 ms each, with another system prompt: 5 controls and 4 treatments, 50
// calls at once. The limit beside it is the time of one attempt, since all are made at once. Then it makes 40 and 40.
func TestReplay(t *testing.T) {
	calls, _ := strconv.Atoi(os.Getenv("BENCH_REPLAY_STEPS"))
	if calls == 0 {
		t.Skip("see make bench-replay")
	}
	const each = 200 * time.Millisecond
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeIngestWrite, apikey.ScopeRunsRead, apikey.ScopeReplaysRead, apikey.ScopeReplaysWrite)
	require.NoError(t, err)
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{Answer: agent.Answer(calls, each)}), key: key, project: account.ProjectID}
	b.connect()
	run := b.recordAgent(calls)
	fmt.Printf("%d cores of %s, load before the start %s; %d calls of %s in each attempt\n", runtime.NumCPU(), runtime.GOARCH, load, calls, each)
	b.replay(run, "quickly", 5, 4, calls, each)
	b.replay(run, "slowly", 40, 40, calls, each)
}

// recordAgent records a run of an agent, and returns its id once all of it can be read.
func (b *providerBench) recordAgent(calls int) string {
	run, body, err := agent.Run(calls)
	require.NoError(b.t, err)
	web := b.up.Ports.URL(product.Web)
	sent, err := product.Post(b.t.Context(), web+"/v1/traces", b.key, product.JSON, body)
	require.NoError(b.t, err)
	require.Less(b.t, sent.Status, 300, string(sent.Body))
	reader := product.Reader{Base: web, Key: b.key}
	require.Eventually(b.t, func() bool {
		stored, found, err := reader.Run(b.t.Context(), run.String())
		return err == nil && found && stored.SpanCount == int64(2*calls)
	}, time.Minute, 100*time.Millisecond)
	return run.String()
}

// replaysAtOnce is how many attempts a replay makes at once.
const replaysAtOnce = 16

// replay prints how long a replay takes until the verdict, and the memory that it takes.
func (b *providerBench) replay(run, how string, controls, treatments, calls int, each time.Duration) {
	time.Sleep(5 * time.Second)
	idle := b.rss()
	peak := idle
	var done sync.WaitGroup
	stop := watchRSS(b, &peak, &done)
	begin := time.Now()
	url := b.up.Ports.URL(product.Web) + "/v1/replays/" + b.create("/v1/replays", fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"controls":%d,"treatments":%d,
		"edits":[{"target":"all","set":{"system_prompt":"You look up numbers %s."}}]}`, run, b.connection, controls, treatments, how))
	fmt.Printf("%d controls, %d treatments\nstarted after          %.2f s\n", controls, treatments, time.Since(begin).Seconds())
	var ended struct {
		Status   string
		Verdict  *struct{ Sentence string }
		Attempts []struct {
			Reused     bool
			ModelCalls int `json:"model_calls"`
		}
	}
	for ended.Verdict == nil {
		time.Sleep(50 * time.Millisecond)
		ended.Attempts = nil
		require.NoError(b.t, json.Unmarshal(b.read(url), &ended))
	}
	took := time.Since(begin)
	close(stop)
	done.Wait()
	require.Equal(b.t, "succeeded", ended.Status)
	attempts := 0
	for _, attempt := range ended.Attempts {
		require.Equal(b.t, calls, attempt.ModelCalls)
		if !attempt.Reused {
			attempts++
		}
	}
	rounds := (attempts + replaysAtOnce - 1) / replaysAtOnce
	ideal := time.Duration(rounds*calls) * each
	fmt.Println(ended.Verdict.Sentence)
	fmt.Printf("%d attempts made        took %.1f s, ideal %.1f s (%.2f)\n", attempts, took.Seconds(), ideal.Seconds(), took.Seconds()/ideal.Seconds())
	fmt.Printf("control plane RSS      idle %d MB, peak %d MB, +%d MB\n", idle/1e6, peak/1e6, (peak-idle)/1e6)
	require.Eventually(b.t, func() bool { // the run of the last attempt is stored
		status, _ := b.get(url + "/diff")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	b.reads(url, "", "/diff")
}
