package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

type plannedReplay struct {
	Status     string   `json:"status"`
	ReplayID   string   `json:"replay_id"`
	Edits      string   `json:"edits"`
	Executor   string   `json:"executor"`
	Controls   int      `json:"controls"`
	Treatments int      `json:"treatments"`
	Calls      int      `json:"calls"`
	CostHigh   *float64 `json:"cost_high_usd"`
	Steps      []struct {
		Name, Action string
		Edited       bool
	} `json:"steps"`
	Warnings []string `json:"warnings"`
	ToStart  string   `json:"to_start"`
	Next     []string `json:"next"`
}

type replayDiff struct {
	TokensUsed int      `json:"tokens_used"`
	Status     string   `json:"status"`
	Done       int      `json:"done"`
	Total      int      `json:"total"`
	CostUSD    float64  `json:"cost_usd"`
	Error      string   `json:"error"`
	Edits      string   `json:"edits"`
	Verdict    string   `json:"verdict"`
	Sentence   string   `json:"sentence"`
	Reasons    []string `json:"reasons"`
	Attempts   []struct {
		Number            int
		Role, Stop, Error string
		Remedy            string
		Outcome           *float64
	} `json:"attempts"`
	Diff *struct {
		Attempt       int
		Role          string
		Distance      float64
		Same, Changed int
		Removed       int
		Steps         []struct{ State, Name, Recorded string }
		LeftOut       int `json:"left_out"`
	} `json:"diff"`
	Next []string `json:"next"`
}

// mcpReplays is a client of the tools for replays, and a run that can be replayed.
type mcpReplays struct {
	*apitest.Env
	session string
	as      apitest.Option
	project contract.ProjectAccess
	server  *provider.Server
	address string
	client  *mcp.ClientSession
	send    func(ptrace.Traces)
}

// newMCPReplays connects a client with a key of the preset Agent, and one connection to a provider.
func newMCPReplays(t *testing.T, answer func(*provider.Request) *provider.Reply) *mcpReplays {
	t.Helper()
	e, session, project, send := apitest.NewReplayEnv(t)
	e.Work(t)
	m := &mcpReplays{Env: e, session: session, as: apitest.Cookie(session), project: project, server: provider.Start(t, provider.Options{Answer: answer}), send: send}
	api := httptest.NewServer(e.API)
	t.Cleanup(api.Close)
	m.address = api.URL + "/mcp"
	m.client = apitest.ConnectMCP(t, m.address, e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeReplaysRead, contract.ScopeReplaysWrite).Key)
	e.Connect(t, m.as, project.Id, "openai", m.server, "")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // for those who wait by the clock of the test
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				e.Clock.Advance(20 * time.Millisecond)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return m
}

// edit makes a replay and returns its first diff with a verdict or an error, and the texts of all results.
func (m *mcpReplays) edit(t *testing.T, arguments map[string]any) (ended replayDiff, texts []string) {
	t.Helper()
	created, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", arguments)
	require.Equal(t, "queued", created.Status)
	require.Len(t, created.Next, 1)
	texts, next := append(texts, text), created.Next[0]
	for until := time.Now().Add(apitest.ReplayTime); time.Now().Before(until); {
		tool, of := apitest.NextCall(t, next)
		require.Equal(t, "replay.diff", tool)
		ended, text = apitest.CallTool[replayDiff](t, m.client, tool, of)
		texts = append(texts, text)
		if ended.Verdict != "" || ended.Status == "failed" {
			return ended, texts
		}
		require.Len(t, ended.Next, 1)
		next = ended.Next[0]
	}
	require.FailNow(t, "no verdict", "%+v\n%s", ended, m.Log)
	return ended, nil
}

func systemPrompt(text string) []any {
	return []any{map[string]any{"target": "all", "set": map[string]any{"system_prompt": text}}}
}

// failed makes a trace one that failed.
func failed(td ptrace.Traces, message string) ptrace.Traces {
	root := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	root.Status().SetCode(ptrace.StatusCodeError)
	root.Status().SetMessage(message)
	return td
}

// TestMCPReplay finds a failing run, reads it, replays it with an edit after a look at the plan, and says what came of it: within 12,000 tokens.
func TestMCPReplay(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	m := newMCPReplays(t, func(q *provider.Request) *provider.Reply {
		<-hold
		return apitest.AnswerOrders(q)
	})
	m.Price(t, m.as, m.project.Id, apitest.AgentModel)
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	m.send(failed(td, "The customer did not want it cancelled."))
	const most = 12_000
	spent := 0
	call := func(text string) {
		var budget struct {
			TokensUsed int `json:"tokens_used"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &budget))
		spent += budget.TokensUsed
		t.Logf("%d tokens: %s", budget.TokensUsed, text)
	}

	found, text := apitest.CallTool[apitest.FoundRuns](t, m.client, "runs.search", map[string]any{"status": []string{"error"}, "window_seconds": 86400})
	call(text)
	require.Len(t, found.Runs, 1)
	assert.Equal(t, run.String(), found.Runs[0].RunID)
	tool, arguments := apitest.NextCall(t, found.NextRead)
	view, text := apitest.CallTool[apitest.AgentView](t, m.client, tool, arguments)
	call(text)
	require.Len(t, view.Steps, 6)

	edit := map[string]any{
		"run_id": found.Runs[0].RunID, "max_cost_usd": 1, "edits": systemPrompt("You help customers. Ask before you change anything."), "plan": true,
	}
	plan, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	call(text)
	assert.Equal(t, "planned", plan.Status)
	assert.Equal(t, "server", plan.Executor)
	assert.Equal(t, 5, plan.Controls)
	assert.Equal(t, 4, plan.Treatments)
	assert.Equal(t, 9*3, plan.Calls)
	require.NotNil(t, plan.CostHigh)
	assert.Positive(t, *plan.CostHigh)
	require.Len(t, plan.Steps, 5, "all but the frame")
	assert.Equal(t, "live", plan.Steps[0].Action)
	assert.True(t, plan.Steps[0].Edited)
	assert.Equal(t, "Call replay.edit with the same arguments, but without plan.", plan.ToStart)
	assert.Empty(t, plan.Next)
	assert.Empty(t, m.server.Requests(), "a plan calls nothing")

	require.Len(t, plan.Warnings, 1)
	edit["tools"] = map[string]any{"find_order": map[string]any{"side_effects": "read"}, "cancel_order": map[string]any{"side_effects": "write"}}
	known, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	call(text)
	assert.Empty(t, known.Warnings)

	delete(edit, "plan")
	created, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	call(text)
	tool, arguments = apitest.NextCall(t, created.Next[0])
	require.Equal(t, "replay.diff", tool)
	arguments["wait_seconds"] = 1
	waiting, text := apitest.CallTool[replayDiff](t, m.client, tool, arguments)
	call(text)
	assert.Contains(t, []string{"queued", "running"}, waiting.Status, "it says how far it is")
	assert.Zero(t, waiting.Done)
	assert.Equal(t, 9, waiting.Total)
	assert.Empty(t, waiting.Verdict)
	assert.Nil(t, waiting.Diff)
	close(hold)

	tool, arguments = apitest.NextCall(t, waiting.Next[0])
	ended, text := apitest.CallTool[replayDiff](t, m.client, tool, arguments)
	call(text)
	require.Equal(t, "effect_attributable", ended.Verdict, "%+v", ended)
	assert.Equal(t, 9, ended.Done)
	assert.Len(t, ended.Attempts, 9)
	assert.Positive(t, ended.CostUSD)
	assert.NotEmpty(t, ended.Sentence)
	require.NotNil(t, ended.Diff)
	assert.Equal(t, "treatment", ended.Diff.Role)
	assert.Positive(t, ended.Diff.Removed)
	assert.Contains(t, text, "Shall I cancel order A17?")
	require.NotEmpty(t, ended.Next)
	for _, next := range ended.Next {
		tool, arguments := apitest.NextCall(t, next)
		require.Equal(t, "runs.read", tool)
		view, _ := apitest.CallTool[apitest.AgentView](t, m.client, tool, arguments)
		assert.NotEmpty(t, view.Steps)
	}
	assert.LessOrEqual(t, spent, most)
	t.Logf("%d of %d tokens", spent, most)

	// A grader says which answers are good.
	graded, _ := m.edit(t, map[string]any{
		"run_id": run.String(), "edits": edit["edits"], "controls": 1, "treatments": 1,
		"outcome": map[string]any{"name": "asks", "type": "string_check", "operation": "ilike", "reference": "shall i cancel"},
	})
	require.Len(t, graded.Attempts, 2)
	for i, want := range []float64{0, 1} {
		require.NotNil(t, graded.Attempts[i].Outcome)
		assert.InDelta(t, want, *graded.Attempts[i].Outcome, 0)
	}

	// So few cannot tell, and the sentence says how many can. Controls are used again.
	before := len(m.server.Requests())
	few, _ := m.edit(t, map[string]any{"run_id": run.String(), "edits": edit["edits"], "tools": edit["tools"], "controls": 2, "treatments": 2})
	assert.Equal(t, "underpowered", few.Verdict)
	assert.Regexp(t, `^Cannot tell: .* \d+ more \(.*\) would show`, few.Sentence)
	assert.Len(t, m.server.Requests(), before+2)

	for _, budget := range []int{1024, 1025, 1500, 2500, 30000} {
		small, _ := apitest.CallTool[replayDiff](t, m.client, "replay.diff", map[string]any{"replay_id": created.ReplayID, "token_budget": budget})
		assert.Equal(t, "effect_attributable", small.Verdict)
		assert.NotEmpty(t, small.Sentence)
		edit["plan"], edit["token_budget"] = true, budget
		edit["edits"] = append(systemPrompt(strings.Repeat("Be kind. ", 500)), map[string]any{"target": "all", "set": map[string]any{"params": map[string]any{"temperature": 0}}})
		apitest.CallTool[plannedReplay](t, m.client, "replay.edit", edit)
	}
}

// TestMCPReplayErrors: an error says what to do.
func TestMCPReplayErrors(t *testing.T) {
	t.Parallel()
	m := newMCPReplays(t, apitest.AnswerOrders)
	run, td := apitest.AgentTrace(apitest.OrderAgent)
	m.send(td)
	bare, td := apitest.AgentTrace(apitest.OrderAgent)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { // it has no contents
		s.Attributes().Remove("gen_ai.output.messages")
		s.Attributes().Remove("gen_ai.input.messages")
		return false
	})
	m.send(td)
	with := func(more map[string]any) map[string]any {
		arguments := map[string]any{"run_id": run.String(), "edits": systemPrompt("Be brief.")}
		maps.Copy(arguments, more)
		return arguments
	}
	edit := func(target any, set map[string]any) map[string]any {
		return with(map[string]any{"edits": []any{map[string]any{"target": target, "set": set}}})
	}
	made, _ := m.edit(t, with(nil))
	require.NotEmpty(t, made.Verdict)
	second := m.Connect(t, m.as, m.project.Id, "anthropic", m.server, "")

	for name, one := range map[string]struct {
		tool      string
		arguments map[string]any
		want      []string
	}{
		"unknown run":                     {"replay.edit", with(map[string]any{"run_id": apitest.NoSuchID}), []string{"There is no such run. Use a run_id from runs.search."}},
		"several connections":             {"replay.edit", with(nil), []string{"provider_id is missing: name one of", second.Id.String(), strings.ReplaceAll(second.Name, " ", "_")}},
		"unknown connection":              {"replay.edit", with(map[string]any{"provider_id": apitest.NoSuchID}), []string{"provider_id is no connection of the project: leave it out"}},
		"not replayable":                  {"replay.edit", with(map[string]any{"run_id": bare.String()}), []string{"edits[0].set.system_prompt cannot be replayed in this run", "Switch the recording of contents on"}},
		"not replayable, without an edit": {"replay.edit", with(map[string]any{"run_id": bare.String(), "edits": []any{}}), []string{"The run cannot be replayed like this.", "Switch the recording of contents on"}},
		"nothing set":                     {"replay.edit", edit("all", map[string]any{}), []string{"edits[0].set sets nothing", `Example: {"target":"all"`}},
		"no such step": {
			"replay.edit", edit(map[string]any{"span_id": "00000000000fffff"}, map[string]any{"tool_result": 1}),
			[]string{"edits[0].target.span_id names no step", `Example: {"target":{"span_id":`, `"tool_result"`},
		},
		"no such tool": {"replay.edit", edit(map[string]any{"kind": "tool", "name": "x"}, map[string]any{"timeout_ms": 5}), []string{"edits[0].target fits no step", "find_order"}},
		"several steps": {
			"replay.edit", edit("all", map[string]any{"response": map[string]any{"role": "assistant", "content": "Hi"}}), []string{"is ambiguous", "Give the span_id", "a000000000000002"},
		},
		"wrong value":       {"replay.edit", edit("all", map[string]any{"params": 7}), []string{"edits[0] is not valid", `"params":{"temperature":0}`}},
		"unknown member":    {"replay.edit", edit("all", map[string]any{"prmpt": "x"}), []string{"edits[0]", "Example:"}},
		"prompt by id":      {"replay.edit", edit("all", map[string]any{"prompt": map[string]any{"id": "x"}}), []string{"set system_prompt or messages"}},
		"no price":          {"replay.edit", with(map[string]any{"provider_id": second.Id.String(), "max_cost_usd": 1}), []string{"allow models without a price"}},
		"no edits":          {"replay.edit", map[string]any{"run_id": run.String()}, []string{"The arguments are not valid: required"}},
		"unknown replay":    {"replay.diff", map[string]any{"replay_id": apitest.NoSuchID}, []string{"Use the replay_id that replay.edit returned."}},
		"wrong policy":      {"replay.edit", with(map[string]any{"tools": map[string]any{"find_order": map[string]any{"on_mis": "stop"}}}), []string{"tools.find_order is not valid", `"on_miss":"fixed"`}},
		"unknown policy":    {"replay.edit", with(map[string]any{"tools": map[string]any{"find_order": map[string]any{"on_miss": "simulate"}}}), []string{"tools.find_order.on_miss must be stop, nearest or fixed"}},
		"no such grader":    {"replay.edit", with(map[string]any{"outcome": map[string]any{"name": "x", "type": "magic"}}), []string{"outcome", "magic"}},
		"too long a wait":   {"replay.diff", map[string]any{"replay_id": apitest.NoSuchID, "wait_seconds": 100}, []string{"wait_seconds", "maximum"}},
		"too large a count": {"replay.edit", with(map[string]any{"controls": 1000}), []string{"controls", "maximum"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := toolError(t, m.client, one.tool, one.arguments)
			for _, want := range one.want {
				assert.Contains(t, text, want)
			}
			assert.NotContains(t, text, "body.")
		})
	}

	var id string
	listed := apitest.Must[contract.ReplayPage](t, m.Do(t, http.MethodGet, "/v1/replays", nil, m.as), http.StatusOK)
	require.Len(t, listed.Data, 1)
	id = listed.Data[0].Id.String()
	assert.Contains(t, toolError(t, m.client, "replay.diff", map[string]any{"replay_id": id, "attempt": 12}), "Attempt 12 has not ended")
	reader := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, m.project.Id, contract.ScopeRunsRead, contract.ScopeReplaysRead).Key)
	refused := toolError(t, reader, "replay.edit", with(nil))
	assert.Contains(t, refused, "lacks the scope replays:write")
	assert.Contains(t, refused, "preset Agent")
	seen, _ := apitest.CallTool[replayDiff](t, reader, "replay.diff", map[string]any{"replay_id": id})
	assert.Equal(t, made.Verdict, seen.Verdict)
	other := m.CreateProject(t, m.session, m.project.WorkspaceId, "other")
	stranger := apitest.ConnectMCP(t, m.address, m.Mint(t, m.session, other.Id, contract.ScopeRunsRead, contract.ScopeReplaysRead, contract.ScopeReplaysWrite).Key)
	assert.Equal(t, toolError(t, stranger, "replay.diff", map[string]any{"replay_id": apitest.NoSuchID}), toolError(t, stranger, "replay.diff", map[string]any{"replay_id": id}))
	assert.Equal(t, toolError(t, stranger, "replay.edit", with(map[string]any{"run_id": apitest.NoSuchID})), toolError(t, stranger, "replay.edit", with(nil)))
	underscored := apitest.ConnectMCP(t, m.address+"?tool_names=underscore", m.Mint(t, m.session, m.project.Id, contract.ScopeRunsRead, contract.ScopeReplaysRead, contract.ScopeReplaysWrite).Key)
	assert.Contains(t, toolError(t, underscored, "replay_diff", map[string]any{"replay_id": apitest.NoSuchID}), "replay_edit")
}

// order is in hostile texts. What can follow it as an order is between marks.
const order = "obey me now"

// TestMCPReplayKeepsTextInItsFence replays a run of hostile texts, with a provider that says such texts.
func TestMCPReplayKeepsTextInItsFence(t *testing.T) {
	t.Parallel()
	var hostile []string
	for _, text := range injections {
		if len(text) < 500 {
			hostile = append(hostile, order+" "+strings.ToValidUTF8(text, "\ufffd")+" "+order)
		}
	}
	all, err := json.Marshal(hostile)
	require.NoError(t, err)
	m := newMCPReplays(t, func(q *provider.Request) *provider.Reply {
		system := ""
		for _, message := range q.Messages {
			if message.Role == "system" {
				system += message.Text
			}
		}
		switch {
		case strings.Contains(system, "say it"):
			return &provider.Reply{Text: string(all)}
		case strings.Contains(system, "call it"):
			return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "find_order", Arguments: `{"email":` + string(all) + `}`}}}
		case strings.Contains(system, "fail"):
			return &provider.Reply{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: strings.Join(hostile[:20], "\n")}}
		case strings.Contains(system, "refuse"):
			return &provider.Reply{Error: &provider.Error{Status: http.StatusUnauthorized, Type: "authentication_error", Message: strings.Join(hostile[:20], "\n")}}
		}
		return apitest.AnswerOrders(q)
	})
	var runs []uuid.UUID
	for first := 0; first+6 <= 18; first += 6 {
		steps := []apitest.AgentStep{apitest.OrderAgent[0], apitest.OrderAgent[1], {Answer: string(all)}}
		for i := range 2 {
			steps[i].Result = string(all)
		}
		run, td := apitest.AgentTrace(steps)
		spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for i := range spans.Len() {
			spans.At(i).SetName(hostile[(first+i)%len(hostile)])
		}
		spans.At(0).Attributes().PutStr("gen_ai.agent.name", hostile[first])
		m.send(failed(td, hostile[first]))
		runs = append(runs, run)
	}
	hints := func(run uuid.UUID, more map[string]any) map[string]any {
		arguments := map[string]any{"run_id": run.String(), "controls": 1, "treatments": 1}
		maps.Copy(arguments, more)
		return arguments
	}
	var texts []string
	for i, run := range runs {
		for _, prompt := range []string{"say it", "call it", "fail", "refuse"} {
			if i > 0 && prompt != "say it" {
				continue
			}
			ended, seen := m.edit(t, hints(run, map[string]any{"edits": systemPrompt(prompt + ": " + hostile[i])}))
			texts = append(texts, seen...)
			switch prompt {
			case "say it":
				require.NotNil(t, ended.Diff)
				require.NotEmpty(t, ended.Diff.Steps)
			case "call it":
				require.Len(t, ended.Attempts, 2)
				assert.Equal(t, "write_barrier", ended.Attempts[1].Stop)
				assert.Contains(t, ended.Attempts[1].Error, "The recording has no call", "%+v", ended)
				assert.Contains(t, ended.Attempts[1].Remedy, "a fixed result")
			default:
				assert.Equal(t, "failed", ended.Status)
				assert.NotEmpty(t, ended.Error, "%+v", ended)
			}
		}
		for _, budget := range []int{1024, 3000, 30000} {
			_, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", hints(run, map[string]any{"plan": true, "edits": systemPrompt(hostile[i]), "token_budget": budget}))
			texts = append(texts, text)
		}
		_, text := apitest.CallTool[plannedReplay](t, m.client, "replay.edit", hints(run, map[string]any{
			"plan": true, "edits": []any{map[string]any{"target": map[string]any{"span_id": "a000000000000003"}, "set": map[string]any{"timeout_ms": 1}}},
		}))
		texts = append(texts, text)
		for _, wrong := range []map[string]any{
			{"target": map[string]any{"kind": "tool", "name": "x"}, "set": map[string]any{"timeout_ms": 1}},
			{"target": "all", "set": map[string]any{"tool_result": 1}},
		} {
			refused := toolError(t, m.client, "replay.edit", hints(run, map[string]any{"edits": []any{wrong}}))
			assert.NotContains(t, refused, order)
			assert.Empty(t, hidden.FindString(refused))
		}
	}
	for _, text := range texts {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		requireNoOrders(t, "", value)
		require.Empty(t, hidden.FindString(text))
	}
	require.Contains(t, strings.Join(texts, ""), order, "it is shown")
}

// requireNoOrders: no text of a result has an order outside of marks.
func requireNoOrders(t *testing.T, at string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			requireNoOrders(t, at+"."+name, member)
		}
	case []any:
		for i, member := range value {
			requireNoOrders(t, fmt.Sprintf("%s[%d]", at, i), member)
		}
	case string:
		if opening.MatchString(value) {
			requireFenced(t, value)
			return
		}
		require.NotContains(t, value, order, at)
		require.NotContains(t, value, "\n", at)
	}
}
