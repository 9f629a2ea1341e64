package runs_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	id := apitest.StoreRun(t, address, project.Id)
	apitest.StoreRun(t, address, project.Id)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	base := "/v1/runs?project_id=" + project.Id.String()
	path := "/v1/runs/" + id.String()

	t.Run("run", func(t *testing.T) {
		run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
		assert.Equal(t, project.Id, run.ProjectId)
		assert.Equal(t, "answer", run.Name)
		assert.Equal(t, contract.Status("error"), run.Status)
		assert.Equal(t, &contract.RunError{Type: "Timeout", Message: "too slow"}, run.Error)
		assert.InDelta(t, 1.5, *run.DurationMs, 1e-9)
		assert.Equal(t, int64(150), *run.Usage.TotalTokens)
		assert.Nil(t, run.Usage.CacheReadInputTokens)
		assert.InDelta(t, 0.0042, *run.CostUsd, 1e-9)
		assert.Equal(t, []string{"gpt-5"}, run.Models)
		assert.Equal(t, map[string]string{"tier": "free"}, run.Metadata)
		assert.Equal(t, "calc", *run.Prompt.Name)
		assert.Nil(t, run.Prompt.Id)
		assert.Nil(t, run.UserId)
		assert.Equal(t, int64(3), run.SpanCount)
		assert.Equal(t, "What is 2^53+1?", *run.Inputs)

		traceID := strings.ReplaceAll(id.String(), "-", "")
		assert.Equal(t, run, apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+traceID, nil, key), http.StatusOK), "named as an SDK prints it")
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, "/v1/runs/"+traceID[:8]+"-"+traceID[8:], nil, key))
	})
	t.Run("spans", func(t *testing.T) {
		page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path+"/spans", nil, key), http.StatusOK)
		require.Len(t, page.Data, 3)
		assert.Equal(t, int64(3), page.SpanCount)
		root, chat, tool := page.Data[0], page.Data[1], page.Data[2]
		assert.Equal(t, apitest.RootSpan, root.SpanId)
		assert.Nil(t, root.ParentSpanId)
		assert.Equal(t, apitest.RootSpan, *chat.ParentSpanId)
		assert.Equal(t, 1, chat.Depth)
		assert.Equal(t, "llm", chat.Kind)
		assert.InDelta(t, 250, *chat.TimeToFirstTokenMs, 1e-9)
		assert.Nil(t, chat.Attributes)
		assert.Nil(t, tool.EndTime)
		assert.Nil(t, tool.DurationMs)
		assert.Equal(t, contract.Status("running"), tool.Status)
		assert.Equal(t, "multiply", *tool.Tool.Name)

		first := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path+"/spans?limit=2", nil, key), http.StatusOK)
		require.True(t, first.HasMore)
		rest := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path+"/spans?limit=2&cursor="+url.QueryEscape(*first.NextCursor), nil, key), http.StatusOK)
		require.Len(t, rest.Data, 1)
		assert.Equal(t, tool, rest.Data[0])
	})
	t.Run("span whole", func(t *testing.T) {
		w := e.Do(t, http.MethodGet, path+"/spans/00000000000000b2", nil, key)
		span := apitest.Must[contract.Span](t, w, http.StatusOK)
		require.Len(t, *span.InputMessages, 1)
		var message struct {
			Parts []struct{ Number json.Number }
		}
		require.NoError(t, json.Unmarshal((*span.InputMessages)[0], &message))
		assert.Equal(t, json.Number("9007199254740993"), message.Parts[0].Number, "a message is passed on as it is")
		assert.Equal(t, "yes", (*span.Attributes)["custom"])
		assert.Empty(t, *span.Events)

		root := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, path+"/spans/"+apitest.RootSpan, nil, key), http.StatusOK)
		require.Len(t, *root.Events, 1)
		assert.Equal(t, "exception", (*root.Events)[0].Name)
		assert.Equal(t, id, (*root.Links)[0].RunId)
		all := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path+"/spans?full=true", nil, key), http.StatusOK)
		assert.Equal(t, root, all.Data[0])
	})
	t.Run("list", func(t *testing.T) {
		for filter, want := range map[string]int{
			"": 2, "&status=error": 2, "&status=ok": 0, "&status=ok&status=error": 2, "&kind=agent": 2, "&kind=task": 0,
			"&search=too%20slow": 2, "&search=absent": 0, "&window_seconds=3600": 2, "&window_seconds=1": 0,
			"&name=answer": 2, "&model=gpt-5": 2, "&session_id=s1": 2, "&user_id=u": 0, "&tag=math": 2, "&environment=production": 2,
			"&min_duration_ms=1": 2, "&min_duration_ms=2": 0, "&min_cost_usd=0.004": 2, "&min_cost_usd=1": 0, "&min_tokens=150": 2, "&min_tokens=151": 0,
			"&error_type=Timeout": 2, "&start_after=2020-01-01T00:00:00Z": 2, "&start_before=2020-01-01T00:00:00Z": 0, "&limit=1": 1, "&limit=1&offset=1": 1,
			"&prompt_version=3": 2, "&prompt_version=4": 0, "&metadata[tier]=free": 2, "&metadata[tier]=paid": 0, "&metadata[other]=free": 0,
			"&metadata[tier]=free&metadata[other]=x": 0, "&agent_name=a": 0, "&release=r": 0, "&conversation_id=c": 0, "&prompt_id=p": 0,
		} {
			page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, base+filter, nil, key), http.StatusOK)
			assert.Len(t, page.Data, want, filter)
		}
		first := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, base+"&limit=1", nil, key), http.StatusOK)
		require.NotNil(t, first.NextCursor)
		second := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, base+"&limit=1&cursor="+url.QueryEscape(*first.NextCursor), nil, key), http.StatusOK)
		assert.Equal(t, id, second.Data[0].RunId)
		assert.False(t, second.HasMore)
		assert.Nil(t, second.NextCursor)
	})
	t.Run("none", func(t *testing.T) {
		for _, p := range []string{"/v1/runs/" + apitest.NoSuchID, "/v1/runs/" + apitest.NoSuchID + "/spans", path + "/spans/00000000000000ff", path + "/spans/A1"} {
			apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, p, nil, key))
		}
	})
}

// TestLateColumns holds that a list of spans gives what only one batch of a run has, an earlier or a later one.
// TestPageOfLargeSpans: however many are asked for, a page of whole spans has no more than it can hold, and the next goes on.
func TestPageOfLargeSpans(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	start := time.Now().UTC().Truncate(time.Hour)
	run := uuid.New()
	var spans []runmodel.Span
	for i, mebibytes := range []int{18, 7, 7, 7, 1} {
		at := start.Add(time.Duration(i) * time.Second)
		spans = append(spans, runmodel.Span{
			ProjectID: project.Id, RunID: run, SpanID: uint64(i + 1), Version: 1, StartTime: at, EndTime: at, Name: "large",
			Inputs: strings.Repeat("many words ", mebibytes<<20/11),
		})
	}
	apitest.StoreSpans(t, address, spans)
	var pages []int
	for cursor := ""; ; {
		path := "/v1/runs/" + run.String() + "/spans?full=true&cursor=" + url.QueryEscape(cursor)
		if cursor == "" {
			path = "/v1/runs/" + run.String() + "/spans?full=true"
		}
		page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
		pages = append(pages, len(page.Data))
		assert.Equal(t, int64(len(spans)), page.SpanCount)
		assert.Equal(t, page.HasMore, page.NextCursor != nil)
		if !page.HasMore {
			break
		}
		cursor = *page.NextCursor
	}
	assert.Equal(t, []int{1, 2, 2}, pages)
	assert.Len(t, apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/spans", nil, key), http.StatusOK).Data, len(spans))
}

func TestLateColumns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	run, start := uuid.New(), time.Now().UTC().Truncate(time.Second)
	span := func(id, version uint64, tool, session string) runmodel.Span {
		return runmodel.Span{
			ProjectID: project.Id, RunID: run, SpanID: id, Version: version, StartTime: start, EndTime: start.Add(time.Second),
			Name: "step", ToolName: tool, SessionID: session,
		}
	}
	list := func() (tools, sessions []string) {
		page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/spans", nil, key), http.StatusOK)
		for _, s := range page.Data {
			if s.Tool != nil {
				tools = append(tools, *s.Tool.Name)
			}
			if s.SessionId != nil {
				sessions = append(sessions, *s.SessionId)
			}
		}
		return tools, sessions
	}
	apitest.StoreSpans(t, address, []runmodel.Span{span(1, 1, "", "")})
	tools, sessions := list()
	assert.Empty(t, tools)
	assert.Empty(t, sessions)
	apitest.StoreSpans(t, address, []runmodel.Span{span(2, 2, "search", "")})
	apitest.StoreSpans(t, address, []runmodel.Span{span(1, 3, "", "s1")}) // another version of the first
	tools, sessions = list()
	assert.Equal(t, []string{"search"}, tools)
	assert.Equal(t, []string{"s1"}, sessions)
}
