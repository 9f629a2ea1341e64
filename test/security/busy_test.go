package security

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/hostile"
	"github.com/looptrace/looptrace/test/product"
)

// mostMemory is what the control plane may take while members of a project send all that they can.
const mostMemory = 500 << 20

// testBusyMembers has ten keys of a project that preview a hostile file and grade hostile expressions, one request after the other. A member
// of another project reads runs and previews a file meanwhile.
func testBusyMembers(t *testing.T, p *product.Product, account *product.Account) {
	t.Helper()
	busy, err := account.NewProject(t.Context(), "busy")
	require.NoError(t, err)
	base := p.Ports.URL(product.Web)
	dataset := func(of *product.Account, key string) string {
		body, err := json.Marshal(map[string]any{"project_id": of.ProjectID, "name": "d"})
		require.NoError(t, err)
		answer, err := product.Post(t.Context(), base+"/v1/datasets", key, product.JSON, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
		var created struct{ ID string }
		require.NoError(t, json.Unmarshal(answer.Body, &created))
		return base + "/v1/datasets/" + created.ID + "/imports/_actions/preview"
	}
	attacker, err := busy.Key(t.Context(), "attacker", "datasets:read", "datasets:write", "evals:write")
	require.NoError(t, err)
	preview, file := dataset(busy, attacker), hostile.Parquet(t)
	graders := make([]any, 50)
	for i := range graders {
		graders[i] = map[string]any{
			"name": "slow " + string(rune('A'+i)), "type": "expression", "expression": "input.l.all(a, input.l.all(b, input.l.all(c, a+b+c >= 0)))",
		}
	}
	sample := map[string]any{"output": "1", "input": map[string]any{"l": make([]int, 300)}}
	grade, err := json.Marshal(map[string]any{"project_id": busy.ProjectID, "graders": graders, "sample": sample})
	require.NoError(t, err)

	stopWatching := p.WatchMemory()
	var (
		attacks         sync.WaitGroup
		refused, others atomic.Int32
		over            atomic.Bool
	)
	for n := range 10 {
		key, err := busy.Key(t.Context(), "attacker "+string(rune('a'+n)), "datasets:write", "evals:write")
		require.NoError(t, err)
		attacks.Go(func() {
			for i := n; !over.Load(); i++ {
				url, mediaType, body := preview, "application/vnd.apache.parquet", file
				if i%2 == 0 {
					url, mediaType, body = base+"/v1/graders/_actions/grade", product.JSON, grade
				}
				answer, err := product.Post(t.Context(), url, key, mediaType, body)
				if !assert.NoError(t, err) { //nolint:testifylint // require ends only its own goroutine
					return
				}
				if answer.Status == http.StatusTooManyRequests {
					refused.Add(1)
					continue
				}
				others.Add(1)
				assert.Less(t, answer.Status, http.StatusInternalServerError, "%s", answer.Body)
			}
		})
	}
	calm, err := account.Key(t.Context(), "calm", "runs:read", "datasets:read", "datasets:write")
	require.NoError(t, err)
	theirs := dataset(account, calm)
	for range 10 {
		answer, err := product.Do(t.Context(), http.MethodGet, base+"/v1/runs?project_id="+account.ProjectID, http.Header{"X-Api-Key": {calm}}, nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
		answer, err = product.Post(t.Context(), theirs, calm, "text/csv", []byte("input\n1\n"))
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	}
	over.Store(true)
	attacks.Wait()
	assert.Positive(t, refused.Load())
	assert.Positive(t, others.Load())
	assert.Less(t, stopWatching().Most[product.ControlPlaneProcess], int64(mostMemory))
}
