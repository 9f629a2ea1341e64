package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	key := bearer(e.mint(t, session, project.Id, contract.ScopeRunsRead).Key)

	t.Run("columns", func(t *testing.T) {
		path := "/v1/runs/" + storeRun(t, address, project.Id).String() + "/outline"
		w := e.do(t, http.MethodGet, path, nil, key)
		got := must[contract.Outline](t, w, http.StatusOK)
		assert.Empty(t, w.Header().Get("Content-Encoding"))
		text := func(column []int, i int) string { return got.Strings[column[i]] }
		spans := got.Spans
		assert.Equal(t, rootSpan, spans.SpanId[0])
		assert.Equal(t, []int{-1, 0}, spans.Parent[:2])
		assert.Equal(t, []contract.Status{"error", "ok", "running"}, spans.Status)
		assert.Equal(t, "Timeout", text(spans.Error, 0))
		assert.Equal(t, []string{"llm", "gpt-5"}, []string{text(spans.Kind, 1), text(spans.Model, 1)})
		assert.Equal(t, "multiply", text(spans.Tool, 2))
		assert.Empty(t, text(spans.Tool, 0), "the empty string")
		assert.InDelta(t, unknownNumber, spans.DurationMs[2], 0, "not ended")
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
		path := "/v1/runs/" + storeLongRun(t, address, project.Id).String() + "/outline"
		w := e.do(t, http.MethodGet, path, nil, key, header("Accept-Encoding", "br, gzip"))
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
		path := "/v1/runs/" + noSuchID + "/outline"
		golden(t, "not_found", e.do(t, http.MethodGet, path, nil, key))
		w := e.do(t, http.MethodGet, path, nil, key, header("Accept-Encoding", "gzip"))
		assert.Equal(t, http.StatusNotFound, w.Code)
	})
}
