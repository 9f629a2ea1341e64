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
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestRecordsOfCalls holds that each read of a call has what the log records say that name it: lists, full lists, the span alone, the run.
func TestRecordsOfCalls(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	id, start := uuid.New(), time.Now().UTC().Add(-time.Minute)
	span := func(s runmodel.Span, at, took time.Duration) runmodel.Span {
		s.ProjectID, s.RunID, s.Version, s.StartTime, s.EndTime = project.Id, id, s.SpanID, start.Add(at), start.Add(at+took)
		return s
	}
	apitest.StoreSpans(t, address, []runmodel.Span{
		span(runmodel.Span{SpanID: 1, Name: "turn", Kind: "agent"}, 0, time.Second),
		span(runmodel.Span{SpanID: 2, ParentSpanID: 1, Name: "tool", Kind: "tool", ToolName: "Bash", ToolCallID: "t1"}, time.Millisecond, time.Millisecond),
		span(runmodel.Span{SpanID: 3, ParentSpanID: 1, Name: "request", Kind: "llm", InputTokens: new(int64(10)), OutputTokens: new(int64(5))}, 3*time.Millisecond, 9*time.Millisecond),
		span(runmodel.Span{
			SpanID: 50, ParentSpanID: 1, Name: "tool_result", Kind: "tool", FromLog: true, ToolCallID: "t1", ToolArguments: `{"command":"ls"}`,
			Status: runmodel.StatusError, ErrorMessage: "exit 1",
		}, 4*time.Millisecond, 0),
		span(runmodel.Span{
			SpanID: 51, ParentSpanID: 1, Name: "api_request", Kind: "llm", FromLog: true, InputTokens: new(int64(10)), OutputTokens: new(int64(5)),
			CostUSD: new(0.25), CostSource: runmodel.CostSent,
		}, 12*time.Millisecond, 0),
		// The span leaves out thoughts, and its cost was computed without them.
		span(runmodel.Span{
			SpanID: 4, ParentSpanID: 1, Name: "thinking", Kind: "llm", InputTokens: new(int64(20)), OutputTokens: new(int64(6)), CostUSD: new(1.5), CostSource: runmodel.CostComputed,
		}, 20*time.Millisecond, 9*time.Millisecond),
		span(runmodel.Span{
			SpanID: 52, ParentSpanID: 4, Name: "api_response", Kind: "llm", FromLog: true, InputTokens: new(int64(20)), OutputTokens: new(int64(10)), ReasoningTokens: new(int64(4)),
			CacheReadTokens: new(int64(8)), CostUSD: new(0.5), CostSource: runmodel.CostComputed,
		}, 29*time.Millisecond, 0),
	})
	path := "/v1/runs/" + id.String()
	run := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
	assert.EqualValues(t, 4, run.SpanCount)
	require.NotNil(t, run.CostUsd)
	assert.InDelta(t, 0.75, *run.CostUsd, 1e-9)
	assert.EqualValues(t, 15, *run.Usage.OutputTokens)
	check := func(how string, tool, call, thinking contract.Span) {
		require.NotNil(t, tool.Tool.Arguments, how)
		assert.JSONEq(t, `{"command":"ls"}`, *tool.Tool.Arguments, how)
		assert.Equal(t, contract.StatusError, tool.Status, how)
		assert.Equal(t, "exit 1", tool.Error.Message, how)
		require.NotNil(t, call.CostUsd, how)
		assert.InDelta(t, 0.25, *call.CostUsd, 1e-9, how)
		assert.EqualValues(t, 10, *call.Usage.InputTokens, how)
		assert.EqualValues(t, 10, *thinking.Usage.OutputTokens, how)
		assert.EqualValues(t, 4, *thinking.Usage.ReasoningOutputTokens, how)
		assert.InDelta(t, 0.5, *thinking.CostUsd, 1e-9, how)
	}
	for _, query := range []string{"", "?full=true"} {
		page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, path+"/spans"+query, nil, key), http.StatusOK)
		require.Len(t, page.Data, 4, query)
		check("list "+query, page.Data[1], page.Data[2], page.Data[3])
	}
	one := func(spanID string) contract.Span {
		return apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, path+"/spans/"+spanID, nil, key), http.StatusOK)
	}
	check("alone", one("0000000000000002"), one("0000000000000003"), one("0000000000000004"))
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodGet, path+"/spans/0000000000000032", nil, key).Code, "a record is no span")
}
