package runs_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestThreads(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	now := time.Now().UTC().Truncate(time.Second)
	long := strings.Repeat("ü", 10_000)
	cost := 0.5
	turn := func(project uuid.UUID, ago time.Duration, change func(*runmodel.Span)) uuid.UUID {
		span := runmodel.Span{
			ProjectID: project, RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: now.Add(-ago), EndTime: now.Add(-ago + time.Second),
			Name: "turn", Kind: "agent", Status: "ok",
		}
		change(&span)
		apitest.StoreSpans(t, address, []runmodel.Span{span})
		return span.RunID
	}
	const slashed = "a/b ü?#%2F"
	first := turn(project.Id, 9*24*time.Hour, func(s *runmodel.Span) {
		s.SessionID, s.ConversationID, s.UserID, s.Inputs, s.InputPreview, s.CostUSD, s.CostSource = slashed, "c1", "ann", "hello", "hello", &cost, "sent"
		s.Metadata = map[string]string{runmodel.MetadataSampleShare: "0.1"}
	})
	second := turn(project.Id, time.Minute, func(s *runmodel.Span) {
		s.SessionID, s.UserID, s.Status, s.ErrorType, s.Outputs, s.OutputPreview = slashed, "bob", "error", "E", long, long[:100]
	})
	turn(project.Id, 2*time.Minute, func(s *runmodel.Span) { s.ConversationID, s.InputPreview = "c1", "only summed up" })
	turn(project.Id, 3*time.Minute, func(s *runmodel.Span) { s.ConversationID = "c2" })
	turn(project.Id, time.Second, func(*runmodel.Span) {}) // in no conversation
	turn(sibling.Id, time.Second, func(s *runmodel.Span) { s.SessionID, s.UserID = slashed, "mallory" })

	list := func(query string) contract.ThreadPage {
		return apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, "/v1/threads?project_id="+project.Id.String()+query, nil, key), http.StatusOK)
	}
	ids := func(page contract.ThreadPage) (ids []string) {
		for _, thread := range page.Data {
			ids = append(ids, thread.SessionId)
		}
		return ids
	}
	of := func(id, query string) string {
		return "/v1/threads/" + url.PathEscape(id) + "?project_id=" + project.Id.String() + query
	}

	t.Run("list", func(t *testing.T) {
		all := list("")
		assert.Equal(t, []string{slashed, "c1", "c2"}, ids(all))
		thread := all.Data[0]
		assert.Equal(t, contract.ThreadBySession, thread.IdentifiedBy)
		assert.Equal(t, contract.ThreadByConversation, all.Data[1].IdentifiedBy)
		assert.Equal(t, now.Add(-9*24*time.Hour), thread.FirstTime)
		assert.Equal(t, now.Add(-time.Minute), thread.LastTime)
		assert.Equal(t, int64(2), thread.RunCount)
		assert.Equal(t, int64(1), thread.ErrorCount)
		assert.Equal(t, int64(1), thread.SampledCount)
		assert.InDelta(t, 0.1, *thread.SampleShare, 0)
		assert.Zero(t, all.Data[1].SampledCount)
		assert.Nil(t, all.Data[1].SampleShare)
		assert.Equal(t, []string{"ann", "bob"}, thread.Users)
		assert.InDelta(t, 0.5, *thread.CostUsd, 0)
		assert.Nil(t, all.Data[1].CostUsd, "unknown is not 0")
		assert.Nil(t, thread.Usage)
		assert.Equal(t, "hello", *thread.FirstInput)
		assert.Equal(t, long[:100], *thread.LastOutput)

		var walked []string
		for cursor := ""; ; {
			page := list("&limit=1" + cursor)
			walked = append(walked, ids(page)...)
			assert.Equal(t, page.HasMore, page.NextCursor != nil)
			if !page.HasMore {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
			apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/threads?project_id="+project.Id.String()+"&name=other"+cursor, nil, key), http.StatusUnprocessableEntity)
		}
		assert.Equal(t, ids(all), walked)
		for query, want := range map[string][]string{
			"&status=error": {slashed}, "&user_id=ann": {slashed}, "&window_seconds=150": {slashed, "c1"}, "&conversation_id=c1": {"c1", slashed},
			"&name=absent": nil, "&start_before=" + now.Add(-90*time.Second).Format(time.RFC3339): {"c1", "c2", slashed},
		} {
			assert.Equal(t, want, ids(list(query)), query)
		}
		assert.Equal(t, int64(2), list("&status=error").Data[0].RunCount, "a thread is whole, whatever selected it")
	})
	t.Run("turns", func(t *testing.T) {
		thread := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of(slashed, ""), nil, key), http.StatusOK)
		require.Len(t, thread.Data, 2)
		assert.Equal(t, list("").Data[0], thread.Thread)
		assert.Equal(t, first, thread.Data[0].RunId)
		assert.Equal(t, "hello", *thread.Data[0].Inputs)
		assert.Nil(t, thread.Data[0].Outputs)
		assert.False(t, thread.Data[0].Truncated)
		assert.Equal(t, second, thread.Data[1].RunId)
		assert.Len(t, *thread.Data[1].Outputs, 16<<10)
		assert.True(t, thread.Data[1].Truncated)

		summedUp := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of("c1", ""), nil, key), http.StatusOK)
		require.Len(t, summedUp.Data, 1, "the run of a session that names the conversation stands with its session")
		assert.Equal(t, "only summed up", *summedUp.Data[0].Inputs)
		assert.True(t, summedUp.Data[0].Truncated)

		page := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of(slashed, "&limit=1"), nil, key), http.StatusOK)
		require.True(t, page.HasMore)
		rest := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of(slashed, "&limit=1&cursor="+url.QueryEscape(*page.NextCursor)), nil, key), http.StatusOK)
		assert.Equal(t, thread.Data[1:], rest.Data)
		assert.False(t, rest.HasMore)
	})
	t.Run("messages of a root that is a call of a model", func(t *testing.T) {
		frame, texts, err := runmodel.SplitContent("message", `{"role":"user","parts":[{"type":"text","content":"said in a message"}]}`)
		require.NoError(t, err)
		content := runmodel.Content{ProjectID: project.Id, Hour: now.Truncate(time.Hour), ContentID: 17, Kind: "message", Frame: frame, Texts: texts}
		content.RunID = turn(project.Id, 0, func(s *runmodel.Span) { s.SessionID, s.InputMessageIDs = "m", []uint64{content.ContentID} })
		writer, err := clickhouse.NewWriter(t.Context(), address)
		require.NoError(t, err)
		defer writer.Close()
		require.NoError(t, writer.InsertContents(t.Context(), []runmodel.Content{content}))
		thread := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of("m", ""), nil, key), http.StatusOK)
		require.Len(t, thread.Data, 1)
		assert.Equal(t, "said in a message", *thread.Data[0].Inputs)
	})
	t.Run("refused", func(t *testing.T) {
		apitest.WantProblem(t, e.Do(t, http.MethodGet, of("none", ""), nil, key), http.StatusNotFound)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/threads", nil, key), http.StatusUnprocessableEntity)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/threads/s1", nil, key), http.StatusUnprocessableEntity)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/threads?project_id="+sibling.Id.String(), nil, key), http.StatusNotFound)
		turns := apitest.Must[contract.ThreadRuns](t, e.Do(t, http.MethodGet, of(slashed, "&limit=1"), nil, key), http.StatusOK)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/threads?project_id="+project.Id.String()+"&cursor="+*turns.NextCursor, nil, key), http.StatusUnprocessableEntity)
	})
}

// TestThreadsOfALongHistory reads threads of a project with 400,000 runs of 100 days. Their totals are of all their runs, of five days, and
// take a small part of the table.
func TestThreadsOfALongHistory(t *testing.T) {
	t.Parallel()
	conn, err := clickhouse.Open(engines.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	project, left, joined := uuid.New(), uuid.New().String(), uuid.New().String()
	const day = 24 * 3600
	insert := func(count, apart int, version int, run, session, conversation string) {
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO runs (project_id, run_id, version, start_time, name, genai, session_id, conversation_id)
			SELECT toUUID(?), `+run+`, ?, now64(9) - 120 - number * ?, 'agent', true, `+session+`, `+conversation+` FROM numbers(?)`, project.String(), version, apart, count))
	}
	insert(400_000, 100*day/400_000, 1, "generateUUIDv4()", "toString(generateUUIDv4())", "toString(generateUUIDv4())")
	insert(5, 20*day, 1, "generateUUIDv4()", "'by session'", "'by conversation'")
	insert(5, 20*day, 1, "generateUUIDv4()", "''", "'by conversation'")
	for version, of := range map[int][2]string{1: {"'by session'", "''"}, 2: {"''", "'by session'"}} {
		insert(1, 0, version, "toUUID('"+left+"')", of[0], "''")
		insert(1, 0, version, "toUUID('"+joined+"')", of[1], "''")
	}

	service := runs.NewService(conn, nil, nil, nil)
	var read uint64
	ctx := ch.Context(t.Context(), ch.WithProgress(func(p *ch.Progress) { read += p.Rows }))
	projects := accesstest.Projects(t, project)
	for id, want := range map[string]uint64{"by session": 6, "by conversation": 5} {
		filter := runs.Filter{ProjectID: project, StartAfter: time.Now().Add(-time.Hour)}
		if filter.SessionID = id; id == "by conversation" {
			filter.SessionID, filter.ConversationID = "", id
		}
		read = 0
		page, err := service.Threads(ctx, projects, runs.ThreadsQuery{Filter: filter, Limit: 20})
		require.NoError(t, err)
		i := slices.IndexFunc(page.Threads, func(t runs.Thread) bool { return t.ThreadID == id })
		require.GreaterOrEqual(t, i, 0, id)
		assert.Equal(t, want, page.Threads[i].RunCount, id)
		assert.Less(t, read, uint64(80_000), "rows read for the list")

		read = 0
		thread, err := service.Thread(ctx, projects, runs.ThreadQuery{ProjectID: project, ThreadID: id, Limit: 20})
		require.NoError(t, err)
		assert.Len(t, thread.Runs, int(want), id)
		assert.Less(t, read, uint64(160_000), "rows read for the thread")
	}
}
