package causes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

const refusal = "I cannot do that."

// planted is a cause of failures: the agent fails where the text stands in place of the one of good runs.
type planted struct {
	kind      contract.CandidateKind
	good, bad string // in the trace, as JSON
	// sign is what the model is sent then.
	sign string
}

// plantedCauses are those that an edit undoes by calls of models. A release and an order of calls are no edits, and the result of a call that
// failed is unknown with a longer timeout.
var plantedCauses = []planted{
	{"instructions", "with their orders.", "with their orders, but never cancel.", "never cancel"},
	{"model", `"gpt-4o-mini"`, `"gpt-3.5"`, `"model":"gpt-3.5"`},
	{"parameter", `"gen_ai.request.temperature","value":{"doubleValue":0.2}`, `"gen_ai.request.temperature","value":{"doubleValue":1.2}`, `"temperature":1.2`},
	{"tool_definition", "Cancel an order", "Look at an order", "Look at an order"},
	{"tool_result", "state", "blocked_by", "blocked_by"},
}

// trace is a run of the planted agent, which has the name of its kind.
func (p *planted) trace(t *testing.T, fails bool) ptrace.Traces {
	t.Helper()
	_, td := apitest.AgentTrace(apitest.OrderAgent)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i := range spans.Len() {
		if operation, _ := spans.At(i).Attributes().Get("gen_ai.operation.name"); operation.Str() == "chat" {
			spans.At(i).Attributes().PutDouble("gen_ai.request.temperature", .2)
		}
	}
	if fails {
		spans.At(0).Status().SetCode(ptrace.StatusCodeError)
		spans.At(0).Status().SetMessage("the order is not cancelled")
	}
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	edited := strings.NewReplacer("invoke_agent orders", "invoke_agent "+string(p.kind), `"stringValue":"orders"`, `"stringValue":"`+string(p.kind)+`"`).Replace(string(text))
	if fails {
		edited = strings.ReplaceAll(strings.ReplaceAll(edited, "Your order A17 is cancelled.", refusal), p.good, p.bad)
		require.Contains(t, edited, p.bad)
	}
	td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(edited))
	require.NoError(t, err)
	return td
}

// TestPlantedCauses goes from each group of failures to the first candidate for its cause, and to the batch that repairs it.
func TestPlantedCauses(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		reply := apitest.AnswerOrders(q)
		for i := range plantedCauses {
			if reply.Text != "" && strings.Contains(string(q.Body), plantedCauses[i].sign) {
				return &provider.Reply{Text: refusal}
			}
		}
		return reply
	}})
	connection := e.Connect(t, as, project.Id, "openai", server, "").Id
	batch := func(kind contract.CandidateKind, edits any) *contract.ReplayBatchResult {
		created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", map[string]any{
			"project_id": project.Id, "provider_id": connection, "run_filter": "outcome=failed&agent_name=" + string(kind), "good_runs": 2, "edits": edits,
			"outcome": map[string]any{"name": "cancelled", "type": "string_check", "operation": "ilike", "input": "{{sample.output_text}}", "reference": "is cancelled"},
		}, as), http.StatusCreated)
		return e.BatchEnded(t, as, created.Id).Result
	}
	for i := range plantedCauses {
		p := &plantedCauses[i]
		for range 6 {
			send(p.trace(t, true))
			send(p.trace(t, false))
		}
		in := "?" + url.Values{"project_id": {project.Id.String()}, "agent_name": {string(p.kind)}}.Encode()
		groups := apitest.Must[contract.FailedRuns](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs"+in, nil, as), http.StatusOK)
		require.Len(t, groups.Data, 1, p.kind)
		found := apitest.Must[contract.FailureCandidates](t, e.Do(t, http.MethodGet, "/v1/agent/failed-runs/"+groups.Data[0].Fingerprint+"/candidates"+in, nil, as), http.StatusOK)
		require.NotEmpty(t, found.Candidates, p.kind)
		first := found.Candidates[0]
		assert.Equal(t, p.kind, first.Kind, first.Title)
		assert.True(t, first.Separates, first.Title)
		require.NotNil(t, first.Edits, first.Title)
		result := batch(p.kind, first.Edits)
		assert.EqualValues(t, "better", result.Chosen.Verdict, result.Sentence)
		assert.Equal(t, map[string]int64{"repaired": 6}, result.Chosen.Runs, p.kind)
		assert.Equal(t, map[string]int64{"kept": 2}, result.Good.Runs, p.kind)
	}
	null := batch("instructions", []any{map[string]any{"target": "all", "set": map[string]any{"params": map[string]any{"temperature": .3}}}})
	assert.EqualValues(t, "cannot_tell", null.Chosen.Verdict, null.Sentence)
	assert.Equal(t, map[string]int64{"still_failing": 6}, null.Chosen.Runs)
}
