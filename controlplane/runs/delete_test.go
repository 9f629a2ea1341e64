package runs_test

import (
	"fmt"
	"net/http"
	"strings"
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

func TestDeleteRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	now := time.Now().UTC()
	store := func(project uuid.UUID, name string, received time.Time) uuid.UUID {
		id := uuid.New()
		apitest.StoreSpans(t, address, []runmodel.Span{{
			ProjectID: project, RunID: id, SpanID: 1, Version: uint64(received.UnixNano()), StartTime: received, EndTime: received.Add(time.Second),
			Name: name, Kind: "agent", SessionID: "s", Inputs: "secret of " + name, InputPreview: "secret of " + name,
		}})
		return id
	}
	var old []uuid.UUID
	for range 3 {
		old = append(old, store(project.Id, "old", now.Add(-50*time.Hour)))
	}
	store(project.Id, "new", now.Add(-time.Minute))
	theirs := store(sibling.Id, "old", now.Add(-50*time.Hour))
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key)
	reader := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	remove := func(t *testing.T, body string) contract.RunDeletion {
		t.Helper()
		return apitest.Must[contract.RunDeletion](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, key), http.StatusOK)
	}
	left := func(t *testing.T, query string) int {
		t.Helper()
		return len(apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+query, nil, reader), http.StatusOK).Data)
	}
	of := func(rest string) string { return `{"filter":{"project_id":"` + project.Id.String() + `"` + rest }

	t.Run("counted first", func(t *testing.T) {
		counted := remove(t, of(`,"name":"old"},"dry_run":true}`))
		assert.Equal(t, int64(3), counted.Matched)
		assert.Zero(t, counted.Deleted)
		assert.False(t, counted.HasMore)
		assert.Equal(t, 4, left(t, ""))
		late := store(project.Id, "old", counted.AsOf.Add(time.Millisecond))
		asCounted := remove(t, of(fmt.Sprintf(`,"name":"old"},"dry_run":true,"received_before":%q}`, counted.AsOf.Format(time.RFC3339Nano))))
		assert.Equal(t, int64(3), asCounted.Matched, "what came since is not in it")
		assert.Equal(t, int64(1), remove(t, `{"project_id":"`+project.Id.String()+`","run_ids":["`+late.String()+`"]}`).Deleted)
	})
	t.Run("by id", func(t *testing.T) {
		path := "/v1/runs/" + old[0].String()
		apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, path+"/scores", `{"comment":"odd"}`, key), http.StatusCreated)
		gone := remove(t, `{"project_id":"`+project.Id.String()+`","run_ids":["`+old[0].String()+`","`+theirs.String()+`","`+apitest.NoSuchID+`"]}`)
		assert.Equal(t, int64(1), gone.Matched, "another project's run is none")
		assert.Equal(t, int64(1), gone.Deleted)
		for _, p := range []string{"", "/spans", "/spans/0000000000000001", "/scores", "/agent-view", "/outline"} {
			apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path+p, nil, key))
		}
		apitest.Golden(t, "not_found", e.Do(t, http.MethodPost, path+"/scores", `{"comment":"even"}`, key))
		assert.Zero(t, remove(t, `{"project_id":"`+project.Id.String()+`","run_ids":["`+old[0].String()+`"]}`).Matched, "again")
		assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/runs/"+theirs.String(), nil, apitest.Cookie(session)).Code)
	})
	t.Run("by filter", func(t *testing.T) {
		assert.Equal(t, 2, left(t, "&search=old"))
		gone := remove(t, of(`,"search":"old"}}`))
		assert.Equal(t, int64(2), gone.Deleted)
		assert.False(t, gone.HasMore)
		assert.Equal(t, 1, left(t, ""))
		assert.Zero(t, left(t, "&search=old"))
		thread := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, "/v1/threads/s?project_id="+project.Id.String(), nil, reader), http.StatusOK)
		assert.Equal(t, int64(1), thread.Thread.RunCount)
		conn, err := clickhouse.Open(address)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			for _, table := range []string{"spans", "runs", "scores"} {
				var n uint64
				require.NoError(c, conn.QueryRow(t.Context(), "SELECT countIf(name = 'old' OR name = 'comment') FROM "+table+" WHERE project_id = ?", project.Id).Scan(&n))
				assert.Zero(c, n, table)
			}
		}, 20*time.Second, 50*time.Millisecond)
	})
	t.Run("begins anew before it is masked", func(t *testing.T) {
		conn, err := clickhouse.Open(address)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		for _, table := range []string{"spans", "scores"} {
			require.NoError(t, conn.Exec(t.Context(), "SYSTEM STOP MERGES "+table)) // nor mutations
			defer func() { assert.NoError(t, conn.Exec(t.Context(), "SYSTEM START MERGES "+table)) }()
		}
		run := runmodel.Span{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: uint64(now.UnixNano()), StartTime: now, EndTime: now.Add(time.Second),
			Name: "again", Kind: "agent", SessionID: "again", Inputs: "secret of again", InputPreview: "secret of again",
		}
		apitest.StoreSpans(t, address, []runmodel.Span{run})
		path := "/v1/runs/" + run.RunID.String()
		score := apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, path+"/scores", `{"comment":"secret"}`, key), http.StatusCreated)
		assert.Equal(t, int64(1), remove(t, `{"project_id":"`+project.Id.String()+`","run_ids":["`+run.RunID.String()+`"]}`).Deleted)

		run.Version, run.Inputs, run.InputPreview = uint64(time.Now().UnixNano()), "", ""
		apitest.StoreSpans(t, address, []runmodel.Span{run})
		totals := runmodel.Totals([]runmodel.Span{run})
		totals.Version = run.Version // they count on from the deletion
		writer, err := clickhouse.NewWriter(t.Context(), address)
		require.NoError(t, err)
		defer writer.Close()
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{totals}))
		var stored uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM spans WHERE run_id = ? AND inputs != ''", run.RunID).Scan(&stored))
		require.Equal(t, uint64(1), stored, "it is there, and not masked")
		project := "project_id=" + project.Id.String()
		for _, read := range []string{path, path + "/spans?full=true", path + "/scores", "/v1/threads/again?" + project, "/v1/runs/export?name=again&" + project} {
			w := e.Do(t, http.MethodGet, read, nil, key)
			assert.Equal(t, http.StatusOK, w.Code, read)
			if !strings.Contains(read, "?") || strings.Contains(read, "full") {
				assert.NotContains(t, w.Body.String(), "secret", read)
			}
			assert.NotContains(t, w.Body.String(), "secret of", read)
		}
		assert.NotContains(t, e.Do(t, http.MethodGet, "/v1/runs/export?include=spans&name=again&"+project, nil, key).Body.String(), "secret of")
		assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, path+"/scores/"+score.Id.String(), nil, key).Code)
		assert.Equal(t, int64(1), remove(t, `{`+strings.Replace(project, "project_id=", `"project_id":"`, 1)+`","run_ids":["`+run.RunID.String()+`"]}`).Deleted)
	})
	t.Run("refused", func(t *testing.T) {
		for body, at := range map[string]string{
			`{}`: "body.run_ids",
			`{"run_ids":["` + apitest.NoSuchID + `"]}`: "body.project_id",
			`{"run_ids":[]}`: "body.run_ids",
			`{"filter":{}}`:  "body.filter.project_id",
			of(`},"run_ids":["` + apitest.NoSuchID + `"]}`):   "body.filter",
			of(`},"project_id":"` + apitest.NoSuchID + `"}`):  "body.project_id",
			of(`,"statuses":["ok"]}}`):                        "body.filter.statuses",
			of(`,"session_id":""}}`):                          "body.filter.session_id",
			of(`,"name":"old","search":""}}`):                 "body.filter.search",
			of(`,"status":[]}}`):                              "body.filter.status",
			of(`,"kind":[]}}`):                                "body.filter.kind",
			of(`,"metadata":{}}}`):                            "body.filter.metadata",
			of(`,"start_after":"1900-01-01T00:00:00Z"}}`):     "body.filter.start_after",
			of(`},"received_before":"1900-01-01T00:00:00Z"}`): "body.received_before",
		} {
			got := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, key), http.StatusUnprocessableEntity)
			require.NotEmpty(t, *got.Errors, body)
			assert.Equal(t, at, (*got.Errors)[0].Location, body)
		}
		apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", of(`}}`), reader), http.StatusForbidden)
		other := `{"filter":{"project_id":"` + sibling.Id.String() + `"}}`
		apitest.Golden(t, "not_found", e.Do(t, http.MethodPost, "/v1/runs/_actions/delete", other, key))
		assert.Equal(t, 1, left(t, ""))
	})
}
