package runs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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

// largestRow is what a run has in a list at most: 14 texts of 1 KiB, three lists of 4 and metadata of 8, and its own members.
const largestRow = 37 << 10

// TestPagesAreBounded however large what was recorded is. Each by itself is read whole.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t) // its own: others would wait for it
	address := server.URL(database)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key)
	start := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	run := func(i int, change func(*runmodel.Span)) uuid.UUID {
		span := runmodel.Span{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: 1, Version: 1, StartTime: start.Add(time.Duration(i) * time.Millisecond),
			EndTime: start.Add(time.Second), Name: "agent", Kind: "agent", Status: "ok", Environment: "test",
		}
		change(&span)
		apitest.StoreSpans(t, address, []runmodel.Span{span})
		return span.RunID
	}
	const runs, blob = 4, 19_000_000
	var heavy uuid.UUID
	for i := range runs {
		heavy = run(i, func(s *runmodel.Span) {
			s.Metadata = map[string]string{"a tier": "free", "blob": strings.Repeat("x", blob), "z": "last"}
		})
	}
	tagged := run(runs, func(s *runmodel.Span) { s.Tags = slices.Repeat([]string{""}, 2_000_000) })
	many := map[string]string{}
	for i := range 100_000 {
		many[fmt.Sprintf("%06d", i)] = "\x00"
	}
	hostile := strings.Repeat("\x00<", 500_000)
	texts := run(runs+1, func(s *runmodel.Span) {
		s.Name, s.ErrorType, s.ErrorMessage, s.ErrorStack, s.Status, s.SessionID, s.ConversationID, s.UserID = hostile, hostile, hostile, hostile, "error", "s1", hostile, hostile
		s.AgentName, s.Environment, s.Release, s.PromptID, s.PromptName, s.PromptVersion = hostile, hostile, hostile, hostile, hostile, hostile
		s.RequestModel, s.ToolName, s.Provider, s.FinishReasons, s.Metadata = hostile, hostile, hostile, []string{"stop", hostile}, many
		s.Tags = []string{"first", hostile}
	})
	small := run(runs+2, func(s *runmodel.Span) { s.Tags, s.Metadata = []string{"a", "b"}, map[string]string{"k": "v"} })

	get := func(path string) (body string) {
		w := e.Do(t, http.MethodGet, path, nil, key)
		require.Equal(t, http.StatusOK, w.Code, "%s: %.300s", path, w.Body)
		return w.Body.String()
	}
	list := "/v1/runs?project_id=" + project.Id.String()
	for _, query := range []string{"", "&order=start_time", "&order=-duration_ms", "&offset=1"} {
		path := list + "&limit=500" + query
		body := get(path)
		assert.Less(t, len(body), (runs+3)*largestRow, path)
		var page contract.RunPage
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		assert.GreaterOrEqual(t, len(page.Data), runs+2)
		for _, r := range page.Data {
			switch r.RunId {
			case tagged:
				assert.Equal(t, []string{"tags"}, *r.Cut)
				assert.Len(t, r.Tags, 4096/3)
			case small:
				assert.Nil(t, r.Cut)
				assert.Equal(t, []string{"a", "b"}, r.Tags)
				assert.Equal(t, map[string]string{"k": "v"}, r.Metadata)
			case texts:
				assert.ElementsMatch(t, []string{
					"name", "error", "conversation_id", "user_id", "agent_name", "environment", "release", "prompt", "tags", "metadata", "models", "tools", "failure",
				}, *r.Cut)
				assert.Equal(t, []string{"first"}, r.Tags)
				assert.Equal(t, "\x00", r.Metadata["000000"])
			default:
				assert.Equal(t, []string{"metadata"}, *r.Cut)
				assert.Equal(t, "free", r.Metadata["a tier"])
				assert.Greater(t, len(r.Metadata["blob"]), 8000)
			}
		}
	}
	for path, bound := range map[string]int{
		"/v1/threads?project_id=" + project.Id.String():                          8 << 10,
		"/v1/threads/s1?project_id=" + project.Id.String():                       120 << 10,
		"/v1/agent/failed-runs?project_id=" + project.Id.String():                24 << 10,
		"/v1/runs/" + texts.String() + "/spans":                                  64 << 10,
		"/v1/runs/fields?project_id=" + project.Id.String():                      32 << 10,
		"/v1/runs/fields/user_id/values?project_id=" + project.Id.String():       4 << 10,
		"/v1/runs/fields/metadata.blob/values?project_id=" + project.Id.String(): 4 << 10,
		"/v1/runs/stats?group_by=user_id&project_id=" + project.Id.String():      64 << 10,
		"/v1/runs/stats?group_by=tag&project_id=" + project.Id.String():          64 << 10,
		"/v1/runs/" + texts.String() + "/outline":                                64 << 10,
	} {
		assert.Less(t, len(get(path)), bound, path)
	}
	spans := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+texts.String()+"/spans", nil, key), http.StatusOK)
	assert.ElementsMatch(t, []string{
		"name", "error", "provider", "request_model", "tool", "agent_name", "conversation_id", "user_id", "prompt", "finish_reasons",
	}, *spans.Data[0].Cut)
	assert.Equal(t, []string{"stop"}, spans.Data[0].FinishReasons)
	groups := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs?project_id="+project.Id.String(), nil, key), http.StatusOK)
	require.Len(t, groups.Data, 1)
	assert.ElementsMatch(t, []string{"agent_name", "step"}, *groups.Data[0].Cut)
	assert.EqualValues(t, 1, groups.Data[0].AgentRunCount)
	threads := apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, "/v1/threads?project_id="+project.Id.String(), nil, key), http.StatusOK)
	assert.ElementsMatch(t, []string{"users", "agents"}, *threads.Data[0].Cut)

	whole := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+heavy.String(), nil, key), http.StatusOK)
	assert.Nil(t, whole.Cut)
	assert.Len(t, whole.Metadata["blob"], blob)
	span := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, "/v1/runs/"+texts.String()+"/spans/0000000000000001", nil, key), http.StatusOK)
	assert.Nil(t, span.Cut)
	assert.Equal(t, hostile, span.Error.Stack)
	for line := range strings.Lines(get("/v1/runs/export?project_id=" + project.Id.String())) {
		assert.NotContains(t, line[:min(len(line), 100)], "cut")
	}
}
