package runs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestScoreSummaries(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	key := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite)
	id, unscored := apitest.StoreRun(t, address, project.Id), apitest.StoreRun(t, address, project.Id)
	put := func(t *testing.T, run uuid.UUID, body string, as apitest.Option) {
		t.Helper()
		apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, "/v1/runs/"+run.String()+"/scores", body, as), http.StatusCreated)
	}
	list := func(t *testing.T, query string) map[uuid.UUID]contract.Run {
		t.Helper()
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+query, nil, apitest.Bearer(key.Key)), http.StatusOK)
		byID := map[uuid.UUID]contract.Run{}
		for _, run := range page.Data {
			byID[run.RunId] = run
		}
		return byID
	}
	put(t, id, `{"name":"relevance","value":0.25}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"relevance","value":0.75,"span_id":"00000000000000b2"}`, apitest.Cookie(session))
	put(t, id, `{"name":"relevance","comment":"alone"}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"solved","value":true}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"solved","value":false}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"tone","value":"kind"}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"tone","value":"rude"}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"mixed","value":1}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"mixed","value":true}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"unasked","value":1}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"huge","value":1.7e308}`, apitest.Bearer(key.Key))
	put(t, id, `{"name":"huge","value":1.6e308}`, apitest.Bearer(key.Key))
	foreign := apitest.StoreRun(t, address, sibling.Id)
	put(t, foreign, `{"name":"secret","value":1}`, apitest.Cookie(session))

	t.Run("only of the names that are asked for", func(t *testing.T) {
		assert.Nil(t, list(t, "")[id].ScoreSummaries)
		runs := list(t, "&score_name=tone&score_name=relevance&score_name=solved&score_name=mixed&score_name=huge&score_name=secret")
		require.NotNil(t, runs[unscored].ScoreSummaries)
		assert.Empty(t, *runs[unscored].ScoreSummaries, "no score is not a score of 0")
		got := *runs[id].ScoreSummaries
		for i := range got {
			assert.WithinDuration(t, time.Now(), got[i].UpdatedAt, time.Minute)
			got[i].UpdatedAt = time.Time{}
			slices.Sort(got[i].Authors)
		}
		authors := []string{"test", apitest.Email}
		slices.Sort(authors)
		half := 0.5
		assert.Equal(t, []contract.ScoreSummary{
			{Name: "huge", Count: 2, Value: 1.6e308, Authors: []string{"test"}, AuthorCount: 1},
			{Name: "mixed", Count: 2, Value: true, Authors: []string{"test"}, AuthorCount: 1},
			{Name: "relevance", Count: 2, SpanCount: 1, Mean: &half, Value: 0.75, Authors: authors, AuthorCount: 2},
			{Name: "solved", Count: 2, Mean: &half, Value: false, Authors: []string{"test"}, AuthorCount: 1},
			{Name: "tone", Count: 2, Value: "rude", Authors: []string{"test"}, AuthorCount: 1},
		}, got)
	})
	t.Run("more than a list shows of a run's scores", func(t *testing.T) {
		conn, err := clickhouse.Open(address)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		run := apitest.StoreRun(t, address, project.Id)
		rows := make([]runmodel.Score, 60)
		for i := range rows {
			value := float64(i)
			rows[i] = runmodel.Score{
				ProjectID: project.Id, RunID: run, ScoreID: uuid.New(), Version: uint64(i) + 1, Name: "n", ValueKind: runmodel.ScoreNumber, Number: &value, Label: fmt.Sprint("l", i),
				Source: runmodel.ScoreProgram, CreatedAt: time.Unix(0, 1),
			}
			if i%3 > 0 {
				rows[i].AuthorKind, rows[i].AuthorID, rows[i].AuthorName = runmodel.ScoreByKey, uuid.New(), fmt.Sprint("key ", i)
			}
		}
		rows[0].Number = nil // what is no number in JSON is left out
		require.NoError(t, clickhouse.InsertScores(t.Context(), conn, rows))
		got := *list(t, "&score_name=n")[run].ScoreSummaries
		require.Len(t, got, 1)
		assert.Equal(t, int64(59), got[0].Count)
		assert.InDelta(t, 30, *got[0].Mean, 1e-9)
		assert.InDelta(t, 59, got[0].Value, 0)
		assert.Equal(t, "l59", *got[0].Label)
		assert.Len(t, got[0].Authors, 5)
		assert.Equal(t, int64(40), got[0].AuthorCount)
	})
	t.Run("names are listed as the values of a field", func(t *testing.T) {
		names := func(query string, as apitest.Option) []contract.RunFieldValue {
			return apitest.Must[contract.RunFieldValues](t, e.Do(t, http.MethodGet, "/v1/runs/fields/score_name/values?project_id="+project.Id.String()+query, nil, as), http.StatusOK).Data
		}
		put(t, unscored, `{"name":"tone","value":"kind"}`, apitest.Bearer(key.Key))
		put(t, unscored, `{"comment":"a comment is not a score to show"}`, apitest.Bearer(key.Key))
		all := names("", apitest.Cookie(session))
		assert.Equal(t, contract.RunFieldValue{Value: "tone", Count: 2}, all[0], "the most used first, in runs")
		values := make([]string, len(all))
		for i, value := range all {
			values[i] = value.Value
		}
		assert.ElementsMatch(t, []string{"huge", "tone", "mixed", "n", "relevance", "solved", "unasked"}, values)
		assert.Equal(t, []contract.RunFieldValue{{Value: "relevance", Count: 1}}, names("&prefix=REL", apitest.Bearer(key.Key)))
		assert.Empty(t, names("&name=no+such+run", apitest.Bearer(key.Key)), "of the runs that the filter selects")
		fields := apitest.Must[contract.RunFields](t, e.Do(t, http.MethodGet, "/v1/runs/fields?project_id="+project.Id.String(), nil, apitest.Bearer(key.Key)), http.StatusOK)
		for _, field := range fields.Data {
			assert.NotEqual(t, "score_name", field.Name, "it is no filter")
		}
	})
	t.Run("in a stream", func(t *testing.T) {
		server := httptest.NewServer(e.API)
		t.Cleanup(server.Close)
		s := apitest.OpenStream(t, server.URL+"/v1/runs/stream?score_name=tone&project_id="+project.Id.String(), apitest.Bearer(key.Key))
		require.Equal(t, http.StatusOK, s.Status)
		assert.Equal(t, "ready", s.Next(t).Name)
		run := apitest.StoreRun(t, address, project.Id)
		for {
			next := s.Next(t)
			var sent contract.Run
			require.NoError(t, json.Unmarshal([]byte(next.Data), &sent))
			require.NotNil(t, sent.ScoreSummaries)
			if sent.RunId == run {
				break
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		many := strings.Repeat("&score_name=a", 11)
		for query, want := range map[string]problem.Field{
			many:           {Location: "query.score_name", Message: "must have at most 10 items"},
			"&score_name=": {Location: "query.score_name", Message: "must not be empty"},
			"&score_name=" + strings.Repeat("x", 201): {Location: "query.score_name", Message: "must have at most 200 characters"},
		} {
			got := apitest.Refusal(t, e, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+query, nil, apitest.Bearer(key.Key))
			got[0].Value = nil
			assert.Equal(t, []problem.Field{want}, got, query)
		}
	})
}
