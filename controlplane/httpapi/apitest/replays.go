package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter"
	"github.com/looptrace/looptrace/components/genaicostprocessor"
	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// Pipeline is what the store worker does with traces, from the queue to the store: it maps them, prices them and stores them.
type Pipeline struct{ first consumer.Traces }

// NewPipeline returns a pipeline that ends with the test.
func NewPipeline(t *testing.T, clickhouseURL string) Pipeline {
	t.Helper()
	host := componenttest.NewNopHost()
	stores := clickhouserunsexporter.NewFactory()
	config := stores.CreateDefaultConfig().(*clickhouserunsexporter.Config)
	config.URL = configopaque.String(clickhouseURL)
	store, err := stores.CreateTraces(t.Context(), exportertest.NewNopSettings(stores.Type()), config)
	require.NoError(t, err)
	require.NoError(t, store.Start(t.Context(), host))
	t.Cleanup(func() { assert.NoError(t, store.Shutdown(t.Context())) })
	prices := genaicostprocessor.NewFactory()
	price, err := prices.CreateTraces(t.Context(), processortest.NewNopSettings(prices.Type()), prices.CreateDefaultConfig(), store)
	require.NoError(t, err)
	require.NoError(t, price.Start(t.Context(), host))
	t.Cleanup(func() { assert.NoError(t, price.Shutdown(t.Context())) })
	mappings := genaisemconvprocessor.NewFactory()
	mapping, err := mappings.CreateTraces(t.Context(), processortest.NewNopSettings(mappings.Type()), mappings.CreateDefaultConfig(), price)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, mapping.Shutdown(t.Context())) })
	return Pipeline{mapping}
}

// Send stores traces in a project.
func (p Pipeline) Send(t *testing.T, project uuid.UUID, td ptrace.Traces) {
	t.Helper()
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, time.Now().UnixNano())
	}
	require.NoError(t, p.first.ConsumeTraces(t.Context(), td))
}

// ReplayTime is how long a replay may take.
const ReplayTime = 60 * time.Second

// NewReplayEnv is the API with an ingest that stores what replays record.
func NewReplayEnv(t *testing.T) (e *Env, session string, project contract.ProjectAccess, send func(ptrace.Traces)) {
	t.Helper()
	address := engines.ClickHouse(t)
	ingest := NewPipeline(t, address)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
			return
		}
		ingest.Send(t, project.Id, td) //nolint:contextcheck // the test waits for it
	}))
	t.Cleanup(server.Close)
	db, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	e = newRecording(t, db, conn, httpapi.RateLimits{}, server.URL)
	e.ClickHouse = address
	e.Beside = func(t *testing.T, db *pgxpool.Pool) *Env {
		t.Helper()
		return newRecording(t, db, conn, httpapi.RateLimits{}, server.URL)
	}
	session, project = e.SetUp(t)
	return e, session, project, func(td ptrace.Traces) { ingest.Send(t, project.Id, td) }
}

// AgentStep is a call of a model, and the tool that it calls, "" for none.
type AgentStep struct{ Tool, Arguments, Result, Answer string }

// OrderAgent looks up an order, cancels it, and says so.
var OrderAgent = []AgentStep{
	{Tool: "find_order", Arguments: `{"email":"ann@example.com"}`, Result: `{"order":"A17","state":"open"}`},
	{Tool: "cancel_order", Arguments: `{"order":"A17"}`, Result: `{"cancelled":true}`},
	{Answer: "Your order A17 is cancelled."},
}

// AgentModel is the model of the agent.
const AgentModel = "gpt-4o-mini"

const (
	agentPrompt = "You help customers with their orders."
	agentInput  = "Please cancel my order. I am ann@example.com."
)

// AgentTrace is a run of an agent as a stock SDK records it: a root, calls of a model with the history, and calls of tools.
func AgentTrace(steps []AgentStep) (run uuid.UUID, td ptrace.Traces) {
	run, td = uuid.New(), ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	at := time.Now().Add(-time.Hour)
	next := byte(0)
	add := func(name string, took time.Duration, attributes map[string]any) ptrace.Span {
		next++
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID(run))
		span.SetSpanID(pcommon.SpanID{0xa0, 7: next})
		if next > 1 {
			span.SetParentSpanID(pcommon.SpanID{0xa0, 7: 1})
		}
		span.SetName(name)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(took)))
		if next > 1 {
			at = at.Add(took + time.Millisecond)
		}
		_ = span.Attributes().FromRaw(attributes) // of types that it knows
		return span
	}
	text := func(v any) string {
		encoded, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(encoded)
	}
	type object = map[string]any
	tools := text([]object{
		{"type": "function", "name": "find_order", "description": "Find an order", "parameters": object{"type": "object", "properties": object{"email": object{"type": "string"}}}},
		{"type": "function", "name": "cancel_order", "description": "Cancel an order", "parameters": object{"type": "object", "properties": object{"order": object{"type": "string"}}}},
	})
	last := steps[len(steps)-1].Answer
	root := add("invoke_agent orders", time.Minute, object{
		runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: "orders",
		runmodel.KeyInputMessages:  text([]object{{"role": "user", "parts": []object{{"type": "text", "content": agentInput}}}}),
		runmodel.KeyOutputMessages: text([]object{{"role": "assistant", "parts": []object{{"type": "text", "content": last}}}}),
	})
	messages := []object{{"role": "user", "parts": []object{{"type": "text", "content": agentInput}}}}
	for i, step := range steps {
		answer := object{"role": "assistant", "parts": []object{{"type": "text", "content": step.Answer}}, "finish_reason": "stop"}
		call := fmt.Sprintf("call_%d", i)
		if step.Tool != "" {
			answer = object{"role": "assistant", "parts": []object{{"type": "tool_call", "id": call, "name": step.Tool, "arguments": json.RawMessage(step.Arguments)}}, "finish_reason": "tool_call"}
		}
		add("chat "+AgentModel, 500*time.Millisecond, object{
			runmodel.KeyOperationName: "chat", runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: AgentModel, runmodel.KeyResponseModel: AgentModel,
			runmodel.KeySystemInstructions: text([]object{{"type": "text", "content": agentPrompt}}), runmodel.KeyToolDefinitions: tools,
			runmodel.KeyInputMessages: text(messages), runmodel.KeyOutputMessages: text([]object{answer}), runmodel.KeyInputTokens: 100 + 10*i, runmodel.KeyOutputTokens: 20,
		})
		messages = append(messages, answer)
		if step.Tool == "" {
			continue
		}
		add("execute_tool "+step.Tool, 200*time.Millisecond, object{
			runmodel.KeyOperationName: "execute_tool", runmodel.KeyToolName: step.Tool, runmodel.KeyToolCallID: call, runmodel.KeyToolCallArguments: step.Arguments,
			runmodel.KeyToolCallResult: step.Result,
		})
		messages = append(messages, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": call, "response": step.Result}}})
	}
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
	return run, td
}

// AnswerOrders answers as the model of OrderAgent does: by how many results of tools it has. With a system prompt that says so, it asks first.
func AnswerOrders(q *provider.Request) *provider.Reply {
	results, asks := 0, false
	for _, m := range q.Messages {
		if m.Role == "tool" {
			results++
		}
		asks = asks || m.Role == "system" && strings.Contains(m.Text, "Ask before")
	}
	if asks {
		return &provider.Reply{Text: "Shall I cancel order A17?"}
	}
	step := OrderAgent[min(results, len(OrderAgent)-1)]
	if step.Tool != "" {
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: step.Tool, Arguments: step.Arguments}}}
	}
	return &provider.Reply{Text: step.Answer}
}

// LongTimeouts edits the timeout of the models: nothing is called to know what follows.
const LongTimeouts = `{"target":{"kind":"model"},"set":{"timeout_ms":60000}}`

// ReplayBody replays a run with long timeouts.
func ReplayBody(run, more string) string {
	return fmt.Sprintf(`{"run_id":%q,"controls":0,"edits":[%s]%s}`, run, LongTimeouts, more)
}

// FillReplay makes a replay that has ended, in whose only attempt the run stands for its own.
func (e *Env) FillReplay(t *testing.T, as Option, run string) string {
	t.Helper()
	id := Must[contract.Replay](t, e.Do(t, http.MethodPost, "/v1/replays", ReplayBody(run, ""), as), http.StatusCreated).Id
	e.Exec(t, `UPDATE replay_attempts SET status = 'succeeded', run_id = $2, stop_reason = 'completed', result = '{}', finished_at = now() WHERE replay_id = $1`, id, run)
	e.Exec(t, `UPDATE replays SET status = 'succeeded', verdict = '{"verdict":"within_noise","sentence":"none"}', finished_at = now() WHERE id = $1`, id)
	return id.String()
}

// ReplayBatchBody replays runs with long timeouts.
func ReplayBatchBody(project, run, more string) string {
	return fmt.Sprintf(`{"project_id":%q,"run_ids":[%q],"controls":0,"treatments":1,"edits":[%s]%s}`, project, run, LongTimeouts, more)
}

// FillReplayBatch makes a batch that has ended, of one run.
func (e *Env) FillReplayBatch(t *testing.T, as Option, project, run string) string {
	t.Helper()
	id := Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", ReplayBatchBody(project, run, ""), as), http.StatusCreated).Id
	e.Exec(t, `UPDATE replay_batch_runs SET code = 'not_replayable', detail = 'none', outcome = 'not_replayable' WHERE batch_id = $1`, id)
	e.Exec(t, `UPDATE replay_batches SET status = 'succeeded', result = '{"sentence":"none","chosen":{"verdict":"unknown","runs":{"not_replayable":1}}}', finished_at = now() WHERE id = $1`, id)
	return id.String()
}

// BatchEnded waits for the end of a batch of replays.
func (e *Env) BatchEnded(t *testing.T, as Option, id uuid.UUID) (ended contract.ReplayBatch) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond)
		ended = Must[contract.ReplayBatch](t, e.Do(t, http.MethodGet, "/v1/replay-batches/"+id.String(), nil, as), http.StatusOK)
		return ended.Result != nil || ended.Status == contract.ReplayStatusFailed
	}, ReplayTime, 50*time.Millisecond) {
		require.FailNow(t, "no result", "%s: %+v, %+v\n%s", ended.Status, ended.Progress, ended.Error, e.Log)
	}
	return ended
}

// DiagnosisBody asks a model why the runs of a group failed.
func DiagnosisBody(project, provider, fingerprint, more string) string {
	return fmt.Sprintf(`{"project_id":%q,"provider_id":%q,"model":"text","fingerprint":%q%s}`, project, provider, fingerprint, more)
}

// FillDiagnosis makes a diagnosis that has ended, of a group of failed runs.
func (e *Env) FillDiagnosis(t *testing.T, as Option, project, provider, fingerprint string) string {
	t.Helper()
	id := Must[contract.Diagnosis](t, e.Do(t, http.MethodPost, "/v1/diagnoses", DiagnosisBody(project, provider, fingerprint, ""), as), http.StatusCreated).Id
	e.Exec(t, `UPDATE diagnoses SET status = 'succeeded', result = '{"claims":[],"dropped":{}}', finished_at = now() WHERE id = $1`, id)
	return id.String()
}

// FindingBody keeps a finding with an edit of the system message about a group of failed runs.
func FindingBody(project, fingerprint string) string {
	return fmt.Sprintf(`{"project_id":%q,"fingerprint":%q,"candidate":{"kind":"instructions","title":"It does not ask.","key":%q,"edits":[{"target":"all","set":{"system_prompt":"Ask."}}]}}`,
		project, fingerprint, uuid.NewString())
}

// FillFinding keeps a finding.
func (e *Env) FillFinding(t *testing.T, as Option, project, fingerprint string) string {
	t.Helper()
	return Must[contract.Finding](t, e.Do(t, http.MethodPost, "/v1/findings", FindingBody(project, fingerprint), as), http.StatusCreated).Id.String()
}
