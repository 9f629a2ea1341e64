package failures_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// newReader makes an API with a project on a store of its own, at address, and a key that reads runs.
func newReader(t *testing.T) (e *apitest.Env, address string, project contract.ProjectAccess, secret string) {
	t.Helper()
	address = engines.ClickHouse(t)
	e = apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	return e, address, project, e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key
}

func TestFailedRuns(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	now := time.Now().UTC().Truncate(time.Second)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }

	var stored [][]runmodel.Span
	release := func(name, user string) func(*runmodel.Span) {
		return func(root *runmodel.Span) { root.Release, root.UserID = name, user }
	}
	for i := range 40 { // runs that go well, of two releases
		stored = append(stored, apitest.AgentRun(project.Id, ago(time.Duration(i+1)*time.Hour), "search", "", release([]string{"1.0", "1.1"}[i%2], fmt.Sprint("u", i))))
	}
	for _, run := range stored { // of which a sampler kept a tenth
		run[0].Metadata = map[string]string{runmodel.MetadataSampleShare: "0.1"}
	}
	for i := range 12 { // a new one, many in the last hours, of the newest release alone
		stored = append(stored, apitest.AgentRun(project.Id, ago(time.Duration(i*20+1)*time.Minute), "book",
			fmt.Sprintf("seat %d of flight 'F%d' is taken", i, i), release("1.2", fmt.Sprint("v", i))))
	}
	for i := range 3 { // an old one
		stored = append(stored, apitest.AgentRun(project.Id, ago(time.Duration(5*24+i)*time.Hour), "search", fmt.Sprintf("index shard %d is gone", i), release("1.0", "u1")))
	}
	apitest.StoreSpans(t, address, stored...)
	base := "/v1/agent/failed-runs"
	query := "?project_id=" + project.Id.String()

	list := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query, nil, key), http.StatusOK)
	require.Len(t, list.Data, 2)
	assert.Equal(t, [2]int64{55, 15}, [2]int64{list.RunCount, list.FailedRunCount})
	assert.Equal(t, int64(40), list.SampledCount)
	assert.InDelta(t, 0.1, *list.SampleShare, 0)
	assert.Equal(t, 2, list.GroupCount)
	assert.False(t, list.Partial)
	top, old := list.Data[0], list.Data[1]
	t.Run("group", func(t *testing.T) {
		assert.Equal(t, "seat <int> of flight <quoted> is taken", top.MessageTemplate)
		assert.Equal(t, contract.FailingStep{Kind: "tool", Name: "book", ErrorType: new("ToolError")}, top.Step)
		assert.Equal(t, contract.FailureClass("error"), top.Class)
		assert.Equal(t, int64(12), top.Count)
		assert.InDelta(t, .8, top.Share, 1e-9)
		assert.Equal(t, int64(55), top.AgentRunCount)
		assert.Equal(t, int64(12), *top.UserCount)
		assert.Nil(t, top.CostUsd)
		sum := int64(0)
		for _, n := range top.Counts {
			sum += n
		}
		assert.Len(t, top.Counts, 24)
		assert.Equal(t, top.Count, sum)
		assert.Equal(t, int64(3), old.Count)
		assert.WithinDuration(t, ago(5*24*time.Hour+2*time.Hour), old.FirstSeen, time.Millisecond)
		assert.WithinDuration(t, ago(5*24*time.Hour), old.LastSeen, time.Millisecond)
	})
	t.Run("rank", func(t *testing.T) {
		assert.Greater(t, top.Rank, old.Rank)
		assert.Nil(t, top.Parts.Waste, "no costs are known")
		assert.InDelta(t, 1, *top.Parts.Severity, 1e-9)
		assert.InDelta(t, 1, *top.Parts.Novelty, 1e-9, "the newest release brought it")
		assert.Greater(t, *top.Parts.Spike, .99)
		assert.Zero(t, *old.Parts.Spike)
		assert.Greater(t, *top.Parts.Recency, .99)
		assert.InDelta(t, 1./32, *old.Parts.Recency, .01)
		w, p := list.Weights, top.Parts
		assert.InDelta(t, 1, w.Recency+w.Spike+w.Impact+w.Severity+w.Novelty+w.Lift+w.Waste+w.Writes, 1e-9)
		known := 1 - w.Waste
		if p.Writes == nil {
			known -= w.Writes
			p.Writes = new(float64)
		}
		want := (w.Recency**p.Recency + w.Spike**p.Spike + w.Impact**p.Impact + w.Severity**p.Severity + w.Novelty**p.Novelty + w.Lift**p.Lift + w.Writes**p.Writes) / known
		assert.InDelta(t, want, top.Rank, 1e-9)
	})
	t.Run("why", func(t *testing.T) {
		require.NotEmpty(t, top.Contrasts)
		values := map[string]contract.FailureContrast{}
		for _, c := range top.Contrasts {
			values[c.Attribute+"="+c.Value] = c
		}
		assert.Equal(t, contract.FailureContrast{Attribute: "release", Value: "1.2", With: 12, Runs: 12, OthersWith: 0, OthersRuns: 43, Ochiai: 1}, values["release=1.2"])
		assert.Contains(t, values, "tool=book")
		assert.NotContains(t, values, "model=gpt-5", "all runs have it")
		assert.InDelta(t, 1, *top.Parts.Lift, 1e-9)
	})
	t.Run("representative", func(t *testing.T) {
		run := top.Representative
		assert.Equal(t, "book", run.Step.Name)
		assert.Equal(t, "ToolError", run.Error.Type)
		assert.Regexp(t, `^seat \d+ of flight 'F\d+' is taken$`, run.Error.Message)
		assert.Len(t, top.Sample, 5)
		span := apitest.Must[contract.Span](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.RunId.String()+"/spans/"+run.SpanId, nil, key), http.StatusOK)
		assert.Equal(t, "book", span.Name)
	})
	t.Run("runs of a group", func(t *testing.T) {
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs"+query+"&fingerprint="+url.QueryEscape(top.Fingerprint), nil, key), http.StatusOK)
		require.Len(t, page.Data, 12)
		assert.Equal(t, top.Fingerprint, page.Data[0].Failure.Fingerprint)
		assert.Equal(t, []string{"book"}, page.Data[0].Tools)
		detail := apitest.Must[contract.FailedRunsDetail](t, e.Do(t, http.MethodGet, base+"/"+top.Fingerprint+query, nil, key), http.StatusOK)
		assert.Equal(t, top.Count, detail.Group.Count)
		assert.Equal(t, list.SampledCount, detail.SampledCount)
		assert.Equal(t, list.SampleShare, detail.SampleShare)
		assert.Equal(t, top.Representative.RunId, detail.Group.Representative.RunId)
		assert.Equal(t, top.Contrasts, detail.Group.Contrasts[:len(top.Contrasts)])
	})
	t.Run("pages", func(t *testing.T) {
		first := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=1", nil, key), http.StatusOK)
		require.NotNil(t, first.NextCursor)
		second := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=1&cursor="+*first.NextCursor, nil, key), http.StatusOK)
		assert.Equal(t, first.Now, second.Now)
		require.Len(t, second.Data, 1)
		assert.Equal(t, old.Fingerprint, second.Data[0].Fingerprint)
		assert.Nil(t, second.NextCursor)
		again := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=1&cursor="+*first.NextCursor, nil, key), http.StatusOK)
		assert.Equal(t, second, again, "the same moment, the same list")
		day := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&window_seconds=86400", nil, key), http.StatusOK)
		require.Len(t, day.Data, 1)
	})
	t.Run("filtered", func(t *testing.T) {
		for filter, want := range map[string]struct{ groups, runs, failed int64 }{
			"&release=1.0":                   {1, 23, 3},
			"&release=1.2":                   {1, 12, 12},
			"&release=1.1":                   {0, 20, 0},
			"&user_id=u1":                    {1, 4, 3},
			"&agent_name=nobody":             {0, 0, 0},
			"&search=seat+taken":             {1, 12, 12},
			"&status=ok":                     {0, 40, 0},
			"&release=1.0&search=seat":       {0, 0, 0},
			"&has_score=true":                {0, 0, 0},
			"&model=gpt-5&min_duration_ms=1": {2, 55, 15},
		} {
			page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+filter, nil, key), http.StatusOK)
			assert.Equal(t, [4]int64{want.groups, want.groups, want.runs, want.failed},
				[4]int64{int64(len(page.Data)), int64(page.GroupCount), page.RunCount, page.FailedRunCount}, filter)
		}
		page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&release=1.0", nil, key), http.StatusOK)
		group := page.Data[0]
		assert.Equal(t, old.Fingerprint, group.Fingerprint)
		assert.Equal(t, int64(23), group.AgentRunCount, "the runs that it is compared with are filtered alike")
		detail := apitest.Must[contract.FailedRunsDetail](t, e.Do(t, http.MethodGet, base+"/"+group.Fingerprint+query+"&release=1.0", nil, key), http.StatusOK)
		assert.InDelta(t, group.Rank, detail.Group.Rank, 1e-4, "a moment later it is a little less recent")
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, base+"/"+group.Fingerprint+query+"&release=1.2", nil, key))

		first := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&model=gpt-5&limit=1", nil, key), http.StatusOK)
		apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&model=gpt-5&limit=1&cursor="+*first.NextCursor, nil, key), http.StatusOK)
		apitest.Golden(t, "invalid_cursor", e.Do(t, http.MethodGet, base+query+"&limit=1&cursor="+*first.NextCursor, nil, key))
	})
	t.Run("many groups", func(t *testing.T) {
		many := e.CreateProject(t, session, project.WorkspaceId, "many")
		reader := apitest.Bearer(e.Mint(t, session, many.Id, contract.ScopeRunsRead).Key)
		const groups, attributes = 150, 12
		var stored [][]runmodel.Span
		for i := range groups {
			tool := fmt.Sprintf("tool%c%c", 'a'+i/26, 'a'+i%26)
			for n := range 2 + min(i, 1) { // the first group has the fewest runs
				stored = append(stored, apitest.AgentRun(many.Id, ago(time.Duration(i*4+n+1)*time.Minute), tool, "it is gone", func(root *runmodel.Span) {
					root.Metadata = map[string]string{}
					for a := range attributes {
						root.Metadata[fmt.Sprint("key", a)] = tool
					}
				}))
			}
		}
		apitest.StoreSpans(t, address, stored...)
		query := "?project_id=" + many.Id.String()
		page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=100", nil, reader), http.StatusOK)
		rest := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=100&cursor="+*page.NextCursor, nil, reader), http.StatusOK)
		all := slices.Concat(page.Data, rest.Data)
		require.Len(t, all, groups)
		for i, group := range all {
			require.NotNil(t, group.Parts.Lift, "%d", i)
			assert.InDelta(t, 1, *group.Parts.Lift, 1e-9, "its tool and metadata are its own")
			assert.NotEmpty(t, group.Contrasts)
			if group.Count == 2 {
				detail := apitest.Must[contract.FailedRunsDetail](t, e.Do(t, http.MethodGet, base+"/"+group.Fingerprint+query, nil, reader), http.StatusOK)
				assert.Equal(t, group.Contrasts, detail.Group.Contrasts[:len(group.Contrasts)])
				assert.InDelta(t, *group.Parts.Lift, *detail.Group.Parts.Lift, 1e-9)
			}
		}
	})
	t.Run("too many attributes", func(t *testing.T) {
		many := e.CreateProject(t, session, project.WorkspaceId, "long")
		reader := apitest.Bearer(e.Mint(t, session, many.Id, contract.ScopeRunsRead).Key)
		var stored [][]runmodel.Span
		for i := range 100 {
			tool := fmt.Sprintf("tool%c%c", 'a'+i/26, 'a'+i%26)
			for n := range 2 {
				stored = append(stored, apitest.AgentRun(many.Id, ago(time.Duration(i*4+n+1)*time.Minute), tool, "it is gone", func(root *runmodel.Span) {
					root.Metadata = map[string]string{}
					for a := range 8 {
						root.Metadata[fmt.Sprint("key", a)] = tool + strings.Repeat("x", 190)
					}
				}))
			}
		}
		apitest.StoreSpans(t, address, stored...)
		page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+"?project_id="+many.Id.String()+"&limit=100", nil, reader), http.StatusOK)
		require.Len(t, page.Data, 100)
		unknown := 0
		for _, group := range page.Data {
			if group.Parts.Lift == nil {
				unknown++
				continue
			}
			assert.InDelta(t, 1, *group.Parts.Lift, 1e-9)
		}
		assert.Positive(t, unknown, "what has no room is not said to be 0")
		assert.Less(t, unknown, 100)
	})
	t.Run("run that began anew", func(t *testing.T) {
		fresh := e.CreateProject(t, session, project.WorkspaceId, "fresh")
		reader := apitest.Bearer(e.Mint(t, session, fresh.Id, contract.ScopeRunsRead).Key)
		spans := apitest.AgentRun(fresh.Id, ago(time.Hour), "search", "index is gone", nil)
		var before []runmodel.Span
		for _, s := range spans {
			s.Version, s.ToolName, s.Name = 5, "secret", "secret"
			before = append(before, s)
		}
		before[2].ErrorType = "Secret"
		spans[2].ErrorType = ""
		for i := range spans {
			spans[i].Version = 11
		}
		writer, err := clickhouse.NewWriter(t.Context(), address)
		require.NoError(t, err)
		defer writer.Close()
		// The deletion masks what was received before it; here it has not come to that yet.
		require.NoError(t, writer.InsertSpans(t.Context(), before))
		apitest.StoreSpans(t, address, spans)
		require.NoError(t, writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: fresh.Id, RunID: spans[0].RunID, FirstStart: spans[0].StartTime, LastStart: spans[2].StartTime, FirstBatch: 2, LastBatch: 2, DeletedAt: 10,
		}}))
		page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+"?project_id="+fresh.Id.String(), nil, reader), http.StatusOK)
		require.Len(t, page.Data, 1)
		assert.Empty(t, page.Data[0].Representative.Error.Type)
		assert.Equal(t, "index is gone", page.Data[0].Representative.Error.Message)
	})
	t.Run("refused", func(t *testing.T) {
		page := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+query+"&limit=1", nil, key), http.StatusOK)
		raw, err := base64.RawURLEncoding.DecodeString(*page.NextCursor)
		require.NoError(t, err)
		for name, value := range map[string]int64{
			"r": math.MaxInt64, "w": 91 * 24 * 60 * 60, "n": now.Add(time.Hour).Unix(),
		} {
			for _, value := range []int64{value, -value} {
				var cursor map[string]any
				require.NoError(t, json.Unmarshal(raw, &cursor))
				cursor[name] = json.Number(strconv.FormatInt(value, 10))
				crafted, err := json.Marshal(cursor)
				require.NoError(t, err)
				apitest.Golden(t, "invalid_cursor", e.Do(t, http.MethodGet, base+query+"&limit=1&cursor="+base64.RawURLEncoding.EncodeToString(crafted), nil, key))
			}
		}
		apitest.Golden(t, "invalid_cursor", e.Do(t, http.MethodGet, base+query+"&cursor=x", nil, key))
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, base+"/fp:v2:0123456789abcdef"+query, nil, key))
		apitest.Golden(t, "project_id_missing", e.Do(t, http.MethodGet, base, nil, key))
		other := e.CreateProject(t, session, project.WorkspaceId, "other")
		stranger := apitest.Bearer(e.Mint(t, session, other.Id, contract.ScopeRunsRead).Key)
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, base+query, nil, stranger))
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, base+"/"+top.Fingerprint+query, nil, stranger))
		own := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, base+"?project_id="+other.Id.String(), nil, stranger), http.StatusOK)
		assert.Empty(t, own.Data)
		assert.Zero(t, own.RunCount)
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, base+"/"+top.Fingerprint+"?project_id="+other.Id.String(), nil, stranger))
	})
}

// TestFailuresWithoutAgent compares runs without an agent with those of the same name, not with all runs without an agent.
func TestFailuresWithoutAgent(t *testing.T) {
	t.Parallel()
	e, address, project, secret := newReader(t)
	key := apitest.Bearer(secret)
	named := func(name string) func(*runmodel.Span) {
		return func(root *runmodel.Span) { root.Name, root.Kind, root.AgentName = name, "workflow", "" }
	}
	var stored [][]runmodel.Span
	for i := range 10 {
		message, name := "", "digest"
		if i < 2 {
			message = "no such page"
		}
		if i >= 4 {
			name = "import"
		}
		stored = append(stored, apitest.AgentRun(project.Id, time.Now().UTC().Add(-time.Duration(i+1)*time.Minute), "fetch", message, named(name)))
	}
	apitest.StoreSpans(t, address, stored...)
	list := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs?project_id="+project.Id.String(), nil, key), http.StatusOK)
	require.Len(t, list.Data, 1)
	assert.Nil(t, list.Data[0].AgentName)
	assert.Equal(t, int64(4), list.Data[0].AgentRunCount)
	assert.InDelta(t, .5, list.Data[0].AgentShare, 1e-9)
}

// TestOutcomesAgree holds that every page counts the same runs as failed: the list, statistics, threads, Failures, export and MCP.
func TestOutcomesAgree(t *testing.T) {
	t.Parallel()
	e, address, project, secret := newReader(t)
	key := apitest.Bearer(secret)
	want := map[contract.Outcome]int{}
	var stored [][]runmodel.Span
	for i := range 24 {
		message, status, outcome := "", "ok", contract.OutcomeSucceeded
		switch i % 6 {
		case 0: // ended with an error
			message, status, outcome = "no seat", "error", contract.OutcomeFailed
		case 1: // ended well after a failure that it did not recover from
			message, outcome = "no seat", contract.OutcomeFailed
		case 2:
			status, outcome = "cancelled", contract.OutcomeFailed
		case 3:
			message, outcome = "no seat", contract.OutcomeRecovered
		case 4:
			status, outcome = "running", contract.OutcomeRunning
		}
		want[outcome]++
		spans := apitest.AgentRun(project.Id, time.Now().UTC().Add(-time.Duration(i+1)*time.Minute), "book", message, func(root *runmodel.Span) {
			root.Status, root.SessionID = status, fmt.Sprint("s", i%2)
		})
		switch outcome {
		case contract.OutcomeRunning:
			spans[0].EndTime = runmodel.Epoch
		case contract.OutcomeRecovered:
			again := spans[2]
			again.SpanID, again.Status, again.ErrorType, again.ErrorMessage = again.SpanID+1, "ok", "", ""
			again.StartTime, again.EndTime = spans[2].EndTime, spans[2].EndTime.Add(time.Second)
			spans = append(spans, again)
		}
		stored = append(stored, spans)
	}
	apitest.StoreSpans(t, address, stored...)
	query := "?project_id=" + project.Id.String()
	server := httptest.NewServer(e.API)
	t.Cleanup(server.Close)
	client := apitest.ConnectMCP(t, server.URL+"/mcp", secret)
	for outcome, n := range want {
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs"+query+"&outcome="+string(outcome), nil, key), http.StatusOK)
		assert.Len(t, page.Data, n, outcome)
		for _, run := range page.Data {
			assert.Equal(t, outcome, run.Outcome)
			assert.Equal(t, outcome == contract.OutcomeFailed, run.Failure != nil)
		}
		found, _ := apitest.CallTool[apitest.FoundRuns](t, client, "runs.search", map[string]any{"outcome": []string{string(outcome)}, "limit": 20, "token_budget": 20_000})
		assert.Len(t, found.Runs, n, "MCP, %s", outcome)
		export := e.Do(t, http.MethodGet, "/v1/runs/export"+query+"&outcome="+string(outcome), nil, key)
		require.Equal(t, http.StatusOK, export.Code, export.Body)
		assert.Equal(t, n, strings.Count(export.Body.String(), "\n"), "export, %s", outcome)
	}
	stats := apitest.Must[contract.RunStats](t, e.Do(t, http.MethodGet, "/v1/runs/stats"+query, nil, key), http.StatusOK)
	assert.Equal(t, int64(want[contract.OutcomeFailed]), stats.Total.ErrorCount)
	failures := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+query, nil, key), http.StatusOK)
	assert.Equal(t, int64(want[contract.OutcomeFailed]), failures.FailedRunCount)
	inGroups := int64(0)
	for _, group := range failures.Data {
		inGroups += group.Count
	}
	assert.Equal(t, failures.FailedRunCount, inGroups)
	threads := apitest.Must[contract.ThreadPage](t, e.Do(t, http.MethodGet, "/v1/threads"+query, nil, key), http.StatusOK)
	inThreads := int64(0)
	for _, thread := range threads.Data {
		inThreads += thread.ErrorCount
	}
	assert.Equal(t, int64(want[contract.OutcomeFailed]), inThreads)
}
