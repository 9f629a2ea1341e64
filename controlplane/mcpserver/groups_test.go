package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestMCPGroups: groups come page by page at any budget, one by its fingerprint, and only those of the key's project.
func TestMCPGroups(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerOrders)
	_, good := apitest.AgentTrace(apitest.OrderAgent)
	m.send(good)
	stored := map[string]bool{}
	for _, reason := range strings.Fields("busy gone locked empty broken full slow closed") {
		for range 2 {
			run, td := apitest.AgentTrace(apitest.OrderAgent)
			m.send(failed(td, "The account is "+reason+". "+strings.Repeat("Nobody can say why this is so. ", 10)))
			stored[run.String()] = true
		}
	}
	for _, arguments := range []map[string]any{{"token_budget": 1024, "limit": 20}, {"limit": 3}, {"token_budget": 2000}, {"token_budget": 30_000, "limit": 20}} {
		seen := map[string]bool{}
		pages, tool := 0, "runs.failures"
		for tool != "" {
			groups, _ := apitest.CallTool[failureGroups](t, m.client, tool, arguments)
			assert.Equal(t, 17, groups.Runs)
			assert.Equal(t, 16, groups.FailedRuns)
			assert.Equal(t, 8, groups.GroupCount)
			require.NotEmpty(t, groups.Groups)
			for _, group := range groups.Groups {
				assert.Equal(t, 2, group.Runs)
				assert.Equal(t, 17, group.AgentRuns)
				assert.Regexp(t, `^<\d{6} error>The account is \w+\. Nobody`, group.Recorded)
				for _, id := range group.RunIDs {
					assert.False(t, seen[id])
					seen[id] = true
				}
			}
			require.Len(t, groups.Next, 2)
			for _, next := range groups.Next {
				tool, arguments := apitest.NextCall(t, next)
				apitest.CallTool[map[string]any](t, m.client, tool, arguments)
			}
			pages++
			tool = ""
			if groups.NextPage != "" {
				tool, arguments = apitest.NextCall(t, groups.NextPage)
			}
		}
		assert.Equal(t, stored, seen)
		assert.LessOrEqual(t, pages, 8)
	}
	all, _ := apitest.CallTool[failureGroups](t, m.client, "runs.failures", nil)
	one, _ := apitest.CallTool[failureGroups](t, m.client, "runs.failures", map[string]any{"fingerprint": all.Groups[3].Fingerprint})
	require.Len(t, one.Groups, 1)
	assert.Equal(t, all.Groups[3].RunIDs, one.Groups[0].RunIDs)
	none, _ := apitest.CallTool[failureGroups](t, m.client, "runs.failures", map[string]any{"agent_name": "another"})
	assert.Empty(t, none.Groups)
	assert.Empty(t, none.Next)

	for want, arguments := range map[string]map[string]any{
		"No run failed with this fingerprint":               {"fingerprint": "fp:v3:0123456789abcdef"},
		"The cursor is not from runs.failures":              {"cursor": "nonsense"},
		"validating /properties/limit: maximum":             {"limit": 100},
		"validating /properties/window_seconds: maximum":    {"window_seconds": 100_000_000},
		"This key has no such project. Omit project_id":     {"project_id": apitest.NoSuchID},
		`unexpected additional properties ["outcome"]`:      {"outcome": []string{"failed"}},
		"validating /properties/project_id: pattern":        {"project_id": "7"},
		"validating /properties/token_budget: minimum: 100": {"token_budget": 100},
	} {
		assert.Contains(t, toolError(t, m.client, "runs.failures", arguments), want)
	}
	other := m.CreateProject(t, m.session, m.project.WorkspaceId, "other")
	stranger := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, other.Id, contract.ScopeRunsRead).Key)
	foreign, _ := apitest.CallTool[failureGroups](t, stranger, "runs.failures", nil)
	assert.Zero(t, foreign.Runs)
	assert.Empty(t, foreign.Groups)
	missing := toolError(t, stranger, "runs.failures", map[string]any{"fingerprint": "fp:v3:0123456789abcdef"})
	assert.Equal(t, missing, toolError(t, stranger, "runs.failures", map[string]any{"fingerprint": all.Groups[0].Fingerprint}))
	ingest := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, m.project.Id, contract.ScopeIngestWrite).Key)
	assert.Contains(t, toolError(t, ingest, "runs.failures", nil), "lacks the scope runs:read")
	underscored := apitest.ConnectMCP(t, m.address+"?tool_names=underscore", m.Mint(t, m.session, m.project.Id, contract.ScopeRunsRead).Key)
	named, _ := apitest.CallTool[failureGroups](t, underscored, "runs_failures", nil)
	assert.True(t, strings.HasPrefix(named.Next[1], "runs_diff {"), named.Next)
}

// TestMCPGroupsOfStates: a group that has regressed fits into the smallest budget, beside the counts of what is left out.
func TestMCPGroupsOfStates(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerOrders)
	_, good := apitest.AgentTrace(apitest.OrderAgent)
	m.send(good)
	send := func(reason string, later time.Duration) uuid.UUID {
		run, td := apitest.AgentTrace(apitest.OrderAgent)
		spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for i := range spans.Len() {
			span := spans.At(i)
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(span.StartTimestamp().AsTime().Add(later)))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(span.EndTimestamp().AsTime().Add(later)))
		}
		m.send(failed(td, "The account is "+reason+". "+strings.Repeat("Nobody can say why this is so. ", 10)))
		return run
	}
	reasons := strings.Fields("busy gone locked empty")
	for _, reason := range reasons {
		send(reason, 0)
	}
	found, _ := apitest.CallTool[failureGroups](t, m.client, "runs.failures", map[string]any{"limit": 20, "token_budget": 30_000})
	require.Len(t, found.Groups, 4)
	decisions := []string{"resolved", "resolved", "resolved", "muted"}
	for i, group := range found.Groups {
		path := "/v1/agent/failed-runs/" + group.Fingerprint + "/state?project_id=" + m.project.Id.String()
		apitest.Must[contract.FailureState](t, m.Do(t, http.MethodPut, path, `{"state":"`+decisions[i]+`"}`, m.as), http.StatusOK)
	}
	again := []string{}
	for _, group := range found.Groups[:2] {
		reason := strings.Fields(group.Recorded)[4]
		for i := range 3 {
			run := send(strings.TrimSuffix(reason, "."), time.Hour+time.Duration(i+1)*time.Minute)
			if i == 0 {
				again = append(again, run.String())
			}
		}
	}
	m.Clock.Advance(time.Hour)
	tool, arguments := "runs.failures", map[string]any{"token_budget": 1024, "limit": 20}
	shown := []string{}
	for range again {
		page, _ := apitest.CallTool[failureGroups](t, m.client, tool, arguments)
		assert.Equal(t, [2]int{1, 1}, [2]int{page.Resolved, page.Muted})
		for _, group := range page.Groups {
			assert.Equal(t, 4, group.Runs)
			shown = append(shown, group.RegressedBy)
		}
		if page.NextPage != "" {
			tool, arguments = apitest.NextCall(t, page.NextPage)
		}
	}
	assert.ElementsMatch(t, again, shown)
}

// TestMCPDiff: steps that differ come page by page at any budget, and a long value is cut around what differs.
func TestMCPDiff(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerOrders)
	const calls = 9
	steps := func(result func(int) string) (list []apitest.AgentStep) {
		for i := range calls {
			list = append(list, apitest.AgentStep{Tool: "find_order", Arguments: fmt.Sprintf(`{"email":"ann-%d@example.com"}`, i), Result: result(i)})
		}
		return append(list, apitest.AgentStep{Answer: "Your orders are found."})
	}
	pad := strings.Repeat("Nothing of note happened to this order. ", 30)
	base, td := apitest.AgentTrace(steps(func(i int) string { return fmt.Sprintf("%sIt is %d days old. %s", pad, i, pad) }))
	m.send(td)
	other, td := apitest.AgentTrace(steps(func(i int) string {
		state := fmt.Sprintf("%d days old", i)
		if i > 3 {
			state = fmt.Sprintf("lost since day %d", i)
		}
		return fmt.Sprintf("%sIt is %s. %s", pad, state, pad)
	}))
	m.send(failed(td, "An order is lost."))
	runs := map[string]any{"run_id": base.String(), "other_run_id": other.String()}
	with := func(name string, value any) map[string]any {
		arguments := map[string]any{name: value}
		for name, value := range runs {
			if _, ok := arguments[name]; !ok {
				arguments[name] = value
			}
		}
		return arguments
	}
	var whole []string
	for _, budget := range []int{30_000, 1024, 2500} {
		var seen []string
		tool, arguments := "runs.diff", with("token_budget", budget)
		for tool != "" {
			compared, _ := apitest.CallTool[comparedRuns](t, m.client, tool, arguments)
			require.NotEmpty(t, compared.Steps)
			if len(seen) == 0 {
				first := compared.Steps[0]
				assert.Equal(t, "find_order", first.Name)
				assert.Equal(t, "changed", first.State)
				assert.Equal(t, 9, first.Same, "four calls of the model and the tool, and the fifth of the model")
				assert.Contains(t, first.Recorded, "+ lost since day")
				assert.NotContains(t, first.Recorded, strings.Repeat("Nothing of note happened to this order. ", 5))
				require.NotEmpty(t, compared.Next)
				for _, next := range compared.Next {
					tool, arguments := apitest.NextCall(t, next)
					view, _ := apitest.CallTool[apitest.AgentView](t, m.client, tool, arguments)
					assert.Contains(t, apitest.SpanIDs(view), arguments["focus"])
				}
			}
			for _, step := range compared.Steps {
				seen = append(seen, fmt.Sprint(step.N, step.State, step.Name))
			}
			tool = ""
			if compared.NextPage != "" {
				require.Positive(t, compared.LeftOut)
				tool, arguments = apitest.NextCall(t, compared.NextPage)
				arguments["token_budget"] = budget
			} else {
				assert.Zero(t, compared.LeftOut)
			}
		}
		if whole == nil {
			whole = seen
			require.Greater(t, len(whole), 2*(calls-4)-1)
			assert.Equal(t, "1changedinvoke_agent_orders", whole[len(whole)-1], "what follows from the others")
		}
		assert.Equal(t, whole, seen, "%d tokens", budget)
	}
	same, _ := apitest.CallTool[comparedRuns](t, m.client, "runs.diff", with("other_run_id", base.String()))
	assert.Empty(t, same.Steps)
	assert.Empty(t, same.Next)
	assert.Equal(t, 2*calls+2, same.Same)

	for want, arguments := range map[string]map[string]any{
		"There is no such run. Use a run_id from runs.search": with("other_run_id", apitest.NoSuchID),
		"The arguments are not valid: required":               {"run_id": base.String()},
		"validating /properties/other_run_id: pattern":        with("other_run_id", "7"),
		"validating /properties/skip: minimum":                with("skip", -1),
		"This key has no such project. Omit project_id":       with("project_id", apitest.NoSuchID),
	} {
		assert.Contains(t, toolError(t, m.client, "runs.diff", arguments), want)
	}
	stranger := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, m.CreateProject(t, m.session, m.project.WorkspaceId, "other").Id, contract.ScopeRunsRead).Key)
	assert.Equal(t, toolError(t, stranger, "runs.diff", with("run_id", apitest.NoSuchID)), toolError(t, stranger, "runs.diff", runs))
	ingest := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, m.project.Id, contract.ScopeIngestWrite).Key)
	assert.Contains(t, toolError(t, ingest, "runs.diff", runs), "lacks the scope runs:read")
}

// TestMCPGroupsKeepTextInItsFence groups and compares runs whose names, attributes and errors are hostile.
func TestMCPGroupsKeepTextInItsFence(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerOrders)
	var texts []string
	for _, text := range injections {
		if len(text) > 500 {
			continue
		}
		hostile := order + " " + strings.ToValidUTF8(text, "\ufffd") + " " + order
		for i := range 2 {
			_, td := apitest.AgentTrace([]apitest.AgentStep{{Tool: "find_order", Arguments: `{}`, Result: hostile + fmt.Sprint(i)}, {Answer: hostile}})
			root := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
			root.SetName(hostile)
			for _, name := range []string{"gen_ai.agent.name", "looptrace.metadata.kind", "user.id", "session.id"} {
				root.Attributes().PutStr(name, hostile+fmt.Sprint(i))
			}
			m.send(failed(td, hostile))
		}
		texts = append(texts, hostile)
	}
	require.Greater(t, len(texts), 40)
	tool, arguments := "runs.failures", map[string]any{"limit": 20, "token_budget": 30_000}
	groups := 0
	for tool != "" {
		page, text := apitest.CallTool[failureGroups](t, m.client, tool, arguments)
		groups += len(page.Groups)
		for _, group := range page.Groups {
			_, compared := apitest.CallTool[comparedRuns](t, m.client, "runs.diff", map[string]any{"run_id": group.RunIDs[0], "other_run_id": group.RunIDs[len(group.RunIDs)-1], "token_budget": 3000})
			text += "\n" + compared
		}
		for answer := range strings.SplitSeq(text, "\n") {
			var value any
			require.NoError(t, json.Unmarshal([]byte(answer), &value))
			requireNoOrders(t, "", value)
			require.Empty(t, hidden.FindString(answer))
		}
		tool = ""
		if page.NextPage != "" {
			tool, arguments = apitest.NextCall(t, page.NextPage)
		}
	}
	assert.Greater(t, groups, 10)
}
