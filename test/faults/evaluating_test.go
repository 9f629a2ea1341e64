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

// atOnce is how many calls of a model evaluations make at once.
const atOnce = 20

// evaluating is a comparison or an eval-run of the product under test.
type evaluating struct {
	t      *testing.T
	up     *product.Product
	server *provider.Server
	key    string

	project, connection, dataset string
	// path is that of the evaluation.
	path string
}

// newEvaluating starts the product with a connection to a scripted provider, prices of models, and a dataset.
func newEvaluating(t *testing.T, items int, models ...string) *evaluating {
	t.Helper()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "faults", apikey.ScopeAdmin, apikey.ScopeDatasetsWrite, apikey.ScopeDatasetsRead, apikey.ScopeEvalsWrite, apikey.ScopeEvalsRead, apikey.ScopeRunsRead)
	require.NoError(t, err)
	e := &evaluating{t: t, up: up, server: provider.Start(t, provider.Options{}), key: key, project: account.ProjectID}
	e.connection = e.post("/v1/providers", fmt.Sprintf(`{"project_id":%q,"name":"scripted","kind":"openai","base_url":"%s/v1","api_key":%q,"max_concurrency":%d}`,
		e.project, e.server.URL, e.server.Key, atOnce))
	for _, model := range models {
		e.post("/v1/projects/"+e.project+"/prices", fmt.Sprintf(`{"model":%q,"input":1,"output":10}`, model))
	}
	e.dataset = e.post("/v1/datasets", fmt.Sprintf(`{"project_id":%q,"name":"numbers"}`, e.project))
	var list []string
	for i := range items {
		list = append(list, fmt.Sprintf(`{"key":"q%d","input":{"question":"number %d"},"reference_output":"number %d"}`, i, i, i))
	}
	e.post("/v1/datasets/"+e.dataset+"/items", `{"items":[`+strings.Join(list, ",")+`]}`)
	return e
}

// kill kills the control plane several times until total outputs or votes are done, and waits for the summary. calls is how many requests that
// takes without a kill.
func (e *evaluating) kill(total, calls int64, kills int) (ended evaluationAnswer) {
	e.t.Helper()
	begin := time.Now()
	for n := range kills {
		e.await(total * int64(n+1) / int64(kills+2))
		pid, err := e.up.PID(product.ControlPlaneProcess)
		require.NoError(e.t, err)
		require.NoError(e.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	e.await(total)
	require.Eventually(e.t, func() bool { ended = e.get(); return ended.Summary != nil }, patience, 100*time.Millisecond)
	require.Equal(e.t, "succeeded", ended.Status)
	made := int64(len(e.server.Requests()))
	require.GreaterOrEqual(e.t, made, calls)
	// What was answered and not yet stored is that of a few moments.
	require.LessOrEqual(e.t, made, calls+int64(kills*3*atOnce))
	// A call may be reserved, and its process killed before the request is sent.
	require.LessOrEqual(e.t, ended.Cost.Calls, made+int64(kills*atOnce), "each request is counted once")
	require.GreaterOrEqual(e.t, ended.Cost.Calls, calls)
	e.t.Logf("%d outputs or votes, %d kills: %d calls, %d repeated, %.1f s", total, kills, made, made-calls, time.Since(begin).Seconds())
	return ended
}

// requireCost requires that the costs of what is stored are in that of the evaluation.
func (e *evaluating) requireCost(ended *evaluationAnswer, stored float64) {
	e.t.Helper()
	require.Positive(e.t, stored)
	require.LessOrEqual(e.t, stored, ended.Cost.USD+ended.Cost.UnknownAtMostUSD+1e-9)
}

type evaluationAnswer struct {
	ID       string
	Status   string
	Progress struct{ Done int64 }
	Cost     struct {
		USD              float64
		Calls            int64
		UnknownAtMostUSD float64 `json:"unknown_at_most_usd"`
	}
	Accounting struct {
		Scored, Outputs int64
		Votes           struct{ Total, OK int64 }
	}
	Summary *struct{}
	// VoteProgress is that of an evaluation with judges.
	VoteProgress *struct{ Done int64 } `json:"vote_progress"`
}

// done counts the votes, or the outputs if there are no judges.
func (a *evaluationAnswer) done() int64 {
	if a.VoteProgress != nil {
		return a.VoteProgress.Done
	}
	return a.Progress.Done
}

func (e *evaluating) get() (answer evaluationAnswer) {
	e.t.Helper()
	require.NoError(e.t, json.Unmarshal(e.do(http.MethodGet, e.path, ""), &answer))
	return answer
}

// await waits until a number of outputs or votes are done.
func (e *evaluating) await(done int64) (answer evaluationAnswer) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		answer = e.get()
		return answer.done() >= done
	}, 2*patience, 50*time.Millisecond, "%+v", answer)
	return answer
}

// post creates something, and returns its id.
func (e *evaluating) post(path, body string) string {
	e.t.Helper()
	var made struct{ ID string }
	require.NoError(e.t, json.Unmarshal(e.do(http.MethodPost, path, body), &made))
	return made.ID
}

// do sends a request, again while the API is away.
func (e *evaluating) do(method, path, body string) (answer []byte) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		request, err := http.NewRequestWithContext(e.t.Context(), method, e.up.Ports.URL(product.Web)+path, strings.NewReader(body))
		require.NoError(e.t, err)
		request.Header.Set("Authorization", "Bearer "+e.key)
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
		require.Less(e.t, got.StatusCode, 300, text.String())
		answer = text.Bytes()
		return true
	}, patience, 100*time.Millisecond, path)
	return answer
}
