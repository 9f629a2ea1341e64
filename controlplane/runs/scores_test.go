package runs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestScores(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	id := apitest.StoreRun(t, address, project.Id)
	other := apitest.StoreRun(t, address, project.Id)
	path := "/v1/runs/" + id.String() + "/scores"
	scorer := e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite)
	reader := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	key := apitest.Bearer(scorer.Key)
	put := func(t *testing.T, body string, as apitest.Option, status int) contract.Score {
		t.Helper()
		return apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, path, body, as), status)
	}
	scores := func(t *testing.T, query string) []contract.Score {
		t.Helper()
		return apitest.Must[contract.ScorePage](t, e.Do(t, http.MethodGet, path+query, nil, reader), http.StatusOK).Data
	}

	t.Run("by a program", func(t *testing.T) {
		w := e.Do(t, http.MethodPost, path, `{"name":"relevance","value":0.5,"comment":" half of it ","span_id":"00000000000000b2"}`, key)
		score := apitest.Must[contract.Score](t, w, http.StatusCreated)
		assert.Equal(t, path+"/"+score.Id.String(), w.Header().Get("Location"))
		assert.InDelta(t, 0.5, score.Value, 0)
		assert.Equal(t, "half of it", *score.Comment)
		assert.Equal(t, "00000000000000b2", *score.SpanId)
		assert.Equal(t, contract.ScoreSource("program"), score.Source)
		assert.Equal(t, &contract.ScoreAuthor{Kind: "key", Id: scorer.Id, Name: "test"}, score.Author)
		assert.Equal(t, score, scores(t, "?span_id=00000000000000b2")[0], "it is read as it was answered")
		assert.Empty(t, scores(t, "?span_id="+apitest.RootSpan))
	})
	t.Run("a retry updates", func(t *testing.T) {
		chosen := uuid.NewString()
		first := put(t, `{"id":"`+chosen+`","name":"solved","value":false}`, key, http.StatusCreated)
		assert.Equal(t, false, first.Value)
		again := put(t, `{"id":"`+chosen+`","name":"solved","value":true}`, apitest.Cookie(session), http.StatusOK)
		assert.Equal(t, first.CreatedAt, again.CreatedAt)
		assert.True(t, again.UpdatedAt.After(first.UpdatedAt))
		assert.Equal(t, true, again.Value)
		assert.Equal(t, contract.ScoreSource("human"), again.Source, "a person took it over")
		assert.Equal(t, apitest.Email, again.Author.Name)
		found := 0
		for _, score := range scores(t, "") {
			if score.Name == "solved" {
				found++
				assert.Equal(t, again, score)
			}
		}
		assert.Equal(t, 1, found)
		w := e.Do(t, http.MethodPost, "/v1/runs/"+other.String()+"/scores", `{"id":"`+chosen+`","comment":"of another run"}`, key)
		assert.Equal(t, http.StatusCreated, w.Code, "an id is of one run")
	})
	t.Run("a comment, then gone", func(t *testing.T) {
		comment := put(t, `{"comment":"odd"}`, apitest.Cookie(session), http.StatusCreated)
		assert.Equal(t, "comment", comment.Name)
		assert.Nil(t, comment.Value)
		at := path + "/" + comment.Id.String()
		apitest.WantProblem(t, e.Do(t, http.MethodDelete, at, nil, reader), http.StatusForbidden)
		assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, at, nil, key).Code)
		apitest.WantProblem(t, e.Do(t, http.MethodDelete, at, nil, key), http.StatusNotFound)
		for _, score := range scores(t, "") {
			assert.NotEqual(t, comment.Id, score.Id)
		}
		put(t, `{"id":"`+comment.Id.String()+`","comment":"even"}`, apitest.Cookie(session), http.StatusCreated)
	})
	t.Run("a category of a run, by a program for a person", func(t *testing.T) {
		score := put(t, `{"name":"tone","value":"friendly","source":"human"}`, key, http.StatusCreated)
		assert.Equal(t, "friendly", score.Value)
		assert.Nil(t, score.Label)
		assert.Nil(t, score.SpanId)
		assert.Equal(t, contract.ScoreSource("human"), score.Source)
	})
	t.Run("on runs and spans as they are read", func(t *testing.T) {
		all := scores(t, "")
		run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String(), nil, reader), http.StatusOK)
		assert.Equal(t, all, run.Scores)
		assert.Equal(t, int64(len(all)), run.ScoreCount)
		list := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, reader), http.StatusOK)
		for _, listed := range list.Data {
			if listed.RunId == id {
				assert.Equal(t, all, listed.Scores)
			} else {
				assert.Len(t, listed.Scores, 1)
			}
		}
		for _, query := range []string{"", "?full=true"} {
			spans := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String()+"/spans"+query, nil, reader), http.StatusOK)
			require.Len(t, spans.Data, 3)
			assert.Empty(t, spans.Data[0].Scores)
			require.Len(t, spans.Data[1].Scores, 1)
			assert.Equal(t, "relevance", spans.Data[1].Scores[0].Name)
		}
		span := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, "/v1/runs/"+id.String()+"/spans/00000000000000b2", nil, reader), http.StatusOK)
		require.Len(t, span.Scores, 1)
		page := apitest.Must[contract.ScorePage](t, e.Do(t, http.MethodGet, path+"?limit=1&offset=1", nil, reader), http.StatusOK)
		assert.Equal(t, all[1:2], page.Data)
		assert.True(t, page.HasMore)
	})
	t.Run("many", func(t *testing.T) {
		conn, err := clickhouse.Open(address)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		run := apitest.StoreRun(t, address, project.Id)
		rows := make([]runmodel.Score, 150)
		for i := range rows {
			rows[i] = runmodel.Score{
				ProjectID: project.Id, RunID: run, ScoreID: uuid.New(), Version: uint64(i) + 1, Name: "n", Source: "program", CreatedAt: time.Unix(0, 1),
			}
		}
		require.NoError(t, clickhouse.InsertScores(t.Context(), conn, rows))
		read := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String(), nil, reader), http.StatusOK)
		assert.Len(t, read.Scores, 100)
		assert.Equal(t, int64(150), read.ScoreCount)
		assert.Equal(t, rows[149].ScoreID, read.Scores[0].Id, "the newest")
	})
	t.Run("refused", func(t *testing.T) {
		for body, at := range map[string]string{
			`{}`:                                           "body.value",
			`{"comment":"  "}`:                             "body.value",
			`{"name":"x","value":" "}`:                     "body.value",
			`{"value":1}`:                                  "body.name",
			`{"name":"x","value":[1]}`:                     "body.value",
			`{"name":"x","value":1,"author":"me"}`:         "body.author",
			`{"comment":"c","source":"oracle"}`:            "body.source",
			`{"comment":"c","span_id":"b2"}`:               "body.span_id",
			`{"comment":"c","span_id":"00000000000000ff"}`: "body.span_id",
			`{"comment":"c","id":"mine"}`:                  "body.id",
		} {
			got := apitest.WantProblem(t, e.Do(t, http.MethodPost, path, body, key), http.StatusUnprocessableEntity)
			require.NotEmpty(t, *got.Errors, body)
			assert.Equal(t, at, (*got.Errors)[0].Location, body)
		}
		apitest.WantProblem(t, e.Do(t, http.MethodPost, path, `{"comment":"c"}`, reader), http.StatusForbidden)
		apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/runs/"+apitest.NoSuchID+"/scores", `{"comment":"c"}`, key), http.StatusNotFound)
	})
}
