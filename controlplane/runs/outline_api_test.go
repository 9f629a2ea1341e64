package runs_test

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)

	t.Run("columns", func(t *testing.T) {
		path := "/v1/runs/" + apitest.StoreRun(t, address, project.Id).String() + "/outline"
		w := e.Do(t, http.MethodGet, path, nil, key)
		got := apitest.Must[contract.Outline](t, w, http.StatusOK)
		assert.Empty(t, w.Header().Get("Content-Encoding"))
		text := func(column []int, i int) string { return got.Strings[column[i]] }
		spans := got.Spans
		assert.Equal(t, apitest.RootSpan, spans.SpanId[0])
		assert.Equal(t, []int{-1, 0}, spans.Parent[:2])
		assert.Equal(t, []contract.Status{"error", "ok", "running"}, spans.Status)
		assert.Equal(t, "Timeout", text(spans.Error, 0))
		assert.Equal(t, []string{"llm", "gpt-5"}, []string{text(spans.Kind, 1), text(spans.Model, 1)})
		assert.Equal(t, "multiply", text(spans.Tool, 2))
		assert.Empty(t, text(spans.Tool, 0), "the empty string")
		assert.InDelta(t, -1, spans.DurationMs[2], 0, "not ended")
		assert.Equal(t, []int64{-1, 150, -1}, spans.Tokens)
		assert.InDelta(t, 0.002, spans.StartMs[2], 1e-9)
		assert.Equal(t, []int{0}, got.ErrorChain)
		assert.False(t, got.Partial)
		sum := 0.0
		for _, ms := range got.CriticalPath.DurationMs {
			sum += ms
		}
		assert.InDelta(t, spans.DurationMs[0], sum, 1e-9)
	})
	t.Run("compressed", func(t *testing.T) {
		path := "/v1/runs/" + apitest.StoreLongRun(t, address, project.Id).String() + "/outline"
		w := e.Do(t, http.MethodGet, path, nil, key, apitest.Header("Accept-Encoding", "br, gzip"))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
		body, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		var got contract.Outline
		require.NoError(t, json.NewDecoder(body).Decode(&got))
		assert.Len(t, got.Spans.SpanId, 2000)
		assert.Len(t, got.Spans.Tokens, 2000)
	})
	t.Run("no such run", func(t *testing.T) {
		path := "/v1/runs/" + apitest.NoSuchID + "/outline"
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path, nil, key))
		w := e.Do(t, http.MethodGet, path, nil, key, apitest.Header("Accept-Encoding", "gzip"))
		assert.Equal(t, http.StatusNotFound, w.Code)
	})
}
