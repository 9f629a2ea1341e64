package upgrade

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/agent"
	"github.com/looptrace/looptrace/test/product"
)

// agentCalls is how often the recorded agent calls its model.
const agentCalls = 3

// unpriced is a model that only the project knows a price of.
const unpriced = "house-model"

// writeRuns sends runs in every way, scores them and deletes one.
func (w *writer) writeRuns() {
	w.runs = map[string]string{}
	w.sendNative("native", nativeRun(w.record.Version))
	w.sendNative("unpriced", w.unpricedRun("before the price"))
	w.sendNative("running", object{"name": "waits for a person", "kind": "workflow", "start_time": moment(-time.Minute)})
	w.sendNative("deleted", object{"name": "deleted", "start_time": moment(-time.Minute), "end_time": moment(0), "outputs": "secret"})
	w.sendAgent()
	w.sendLogs()
	w.sendPlain()
	w.sendExperiment()
	for name, run := range w.runs {
		w.awaitRun(run)
		if name != "deleted" {
			w.reads("/v1/runs/"+run, "/v1/runs/"+run+"/spans?full=true", "/v1/runs/"+run+"/scores")
		}
	}
	w.scoreRuns()
	w.owner.do(http.MethodPost, "/v1/runs/_actions/delete", object{"project_id": w.project, "run_ids": []string{w.runs["deleted"]}})
	start, end := moment(-24*time.Hour), moment(24*time.Hour)
	all := "project_id=" + w.project + "&traces=all&source=all"
	w.reads("/v1/runs/stats?group_by=model&bucket_seconds=172800&"+all+"&start_after="+start+"&start_before="+end,
		"/v1/runs/fields?"+all, "/v1/runs/fields/environment/values?"+all, "/v1/threads?"+all, "/v1/threads/session%201?"+all,
		"/v1/runs/export?include=spans&environment=production&project_id="+w.project, "/v1/runs/"+w.runs["native"]+"/outline", "/v1/runs/"+w.runs["native"]+"/spans/00000000000000b1")
	for source, limit := range map[string]int{"user": 500, "playground": 5, "evaluation": 5, "replay": 5} {
		w.reads(fmt.Sprintf("/v1/runs?project_id=%s&traces=all&source=%s&order=start_time&limit=%d", w.project, source, limit))
	}
}

// moment returns a time from now, to the millisecond.
func moment(after time.Duration) string {
	return time.Now().Add(after).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

// nativeRun is a run with spans of most kinds and nearly all members.
func nativeRun(release string) object {
	return object{
		"name": "support agent", "kind": "agent", "inputs": "Where is order A17? 注文はどこ", "outputs": object{"answer": "It is on its way."},
		"start_time": moment(-10 * time.Second), "end_time": moment(-5 * time.Second), "session_id": "session 1", "user_id": "ann@example.com",
		"tags": []string{"vip", "order"}, "metadata": object{"tier": "gold", "attempt": 2}, "environment": "production", "release": release,
		"prompt": object{"name": "support/answer", "version": 1}, "attributes": object{"gen_ai.agent.name": "support"},
		"spans": []object{
			{
				"span_id": "00000000000000b1", "name": "chat", "kind": "llm", "model": "gpt-4o", "provider": "openai", "inputs": "Where is it?", "outputs": "find_order",
				"usage": object{"input_tokens": 1200, "output_tokens": 30, "cache_read_input_tokens": 1000, "reasoning_output_tokens": 10},
			},
			{
				"span_id": "00000000000000b2", "name": "find_order", "kind": "tool", "parent_span_id": "00000000000000b1",
				"tool":   object{"name": "find_order", "call_id": "call_1", "arguments": object{"order": "A17"}, "result": object{"state": "sent"}},
				"events": []object{{"name": "cache miss", "time": moment(-8 * time.Second), "attributes": object{"shard": 3}}},
			},
			{
				"span_id": "00000000000000b3", "name": "retry", "kind": "llm", "model": "gpt-4o", "provider": "openai", "status": "error",
				"error": object{"type": "RateLimit", "message": "slow down", "stack": "at line 1"},
			},
			{
				"span_id": "00000000000000b4", "name": "chat", "kind": "llm", "model": "gpt-4o", "provider": "openai", "outputs": "It is on its way.",
				"usage": object{"input_tokens": 1300, "output_tokens": 40}, "cost_usd": 0.0125,
			},
		},
	}
}

// unpricedRun is a run of a model that the price table does not know.
func (w *writer) unpricedRun(name string) object {
	return object{
		"name": name, "start_time": moment(-4 * time.Second), "end_time": moment(-3 * time.Second), "outputs": "done", "environment": "staging", "session_id": "session 1",
		"spans": []object{{"span_id": "00000000000000c1", "name": "chat", "kind": "llm", "model": unpriced, "usage": object{"input_tokens": 1000, "output_tokens": 100}}},
	}
}

// sendNative sends a run with its spans, under a new id, and keeps that by a name.
func (w *writer) sendNative(name string, run object) {
	w.t.Helper()
	w.runs[name] = sendNative(w.ingest, run)
}

// sendNative sends a run with its spans, and returns its new id.
func sendNative(as caller, run object) (id string) {
	as.t.Helper()
	id = uuid.NewString()
	bare := object{}
	for member, value := range run {
		if member != "spans" {
			bare[member] = value
		}
	}
	bare["run_id"] = id
	var spans []any
	for _, span := range listOf(run["spans"]) {
		sent := object{"run_id": id, "start_time": run["start_time"], "end_time": run["end_time"]}
		for member, value := range span {
			sent[member] = value
		}
		spans = append(spans, sent)
	}
	as.do(http.MethodPost, "/v1/runs", object{"runs": []any{bare}, "spans": spans})
	return id
}

// listOf returns objects as they are made here, or as they come from JSON.
func listOf(value any) []object {
	if list, ok := value.([]object); ok {
		return list
	}
	elements, _ := value.([]any)
	list := make([]object, len(elements))
	for i := range elements {
		list[i], _ = elements[i].(object)
	}
	return list
}

// sendAgent sends the run of an agent, as a stock SDK does: one with OTLP/JSON, another with protobuf.
func (w *writer) sendAgent() {
	id, body, err := agent.Run(agentCalls)
	require.NoError(w.t, err)
	w.post("/v1/traces", product.JSON, body)
	w.runs["agent"] = id.String()

	id, body, err = agent.Run(agentCalls)
	require.NoError(w.t, err)
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	require.NoError(w.t, err)
	body, err = ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	require.NoError(w.t, err)
	w.post("/v1/traces", product.Protobuf, body)
	w.runs["protobuf"] = id.String()
}

// post sends a body to ingest.
func (w *writer) post(path, contentType string, body []byte) {
	answer := w.ingest.send(http.MethodPost, path, contentType, body)
	require.Equal(w.t, http.StatusAccepted, answer.Status, "%s", answer.Body)
}

// sendLogs sends a span, and its messages as log records.
func (w *writer) sendLogs() {
	id := uuid.New()
	traces := ptrace.NewTraces()
	span := w.span(traces, id, "chat gpt-4o")
	span.Attributes().PutStr(runmodel.KeyOperationName, "chat")
	span.Attributes().PutStr(runmodel.KeyProviderName, "openai")
	span.Attributes().PutStr(runmodel.KeyRequestModel, "gpt-4o")
	span.Attributes().PutInt(runmodel.KeyInputTokens, 50)
	span.Attributes().PutInt(runmodel.KeyOutputTokens, 5)
	w.sendTraces(traces)

	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	records.Scope().SetName("opentelemetry.instrumentation.openai_v2")
	for name, body := range map[string]object{
		"gen_ai.user.message": {"content": "From a log record"},
		"gen_ai.choice":       {"index": 0, "finish_reason": "stop", "message": object{"content": "To a span"}},
	} {
		one := records.LogRecords().AppendEmpty()
		one.SetTraceID(span.TraceID())
		one.SetSpanID(span.SpanID())
		one.SetTimestamp(span.StartTimestamp())
		one.SetEventName(name)
		require.NoError(w.t, one.Body().FromRaw(body))
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	require.NoError(w.t, err)
	w.post("/v1/logs", product.Protobuf, body)
	w.runs["logs"] = id.String()
}

// sendPlain sends a trace that has nothing of GenAI.
func (w *writer) sendPlain() {
	id := uuid.New()
	traces := ptrace.NewTraces()
	w.span(traces, id, "GET /orders").Attributes().PutStr("http.request.method", "GET")
	w.sendTraces(traces)
	w.runs["plain"] = id.String()
}

// sendExperiment sends the results of an experiment as Langfuse's SDK does. They become an eval-run, which ends when nothing has come for a while.
func (w *writer) sendExperiment() {
	for i, capital := range []string{"Paris", "Oslo"} {
		id := uuid.New()
		traces := ptrace.NewTraces()
		span := w.span(traces, id, "experiment-item-run")
		require.NoError(w.t, span.Attributes().FromRaw(object{
			"langfuse.observation.type": "span", "langfuse.experiment.id": "exp-1", "langfuse.experiment.name": "capitals - run 1",
			"langfuse.experiment.item.id": fmt.Sprintf("item-%d", i), "langfuse.experiment.item.root_observation_id": span.SpanID().String(),
			"langfuse.experiment.item.expected_output": capital, "langfuse.observation.input": "Which capital is number " + strconv.Itoa(i) + "?",
			"langfuse.observation.output": capital, "langfuse.observation.metadata.experiment_name": `"capitals"`,
		}))
		w.sendTraces(traces)
		w.runs["experiment "+capital] = id.String()
	}
}

// awaitExperiment waits until the experiment has ended, and notes to read it.
func (w *writer) awaitExperiment() {
	var found object
	w.await("the experiment has ended", func() bool {
		list, _ := at(w.t, w.key.get("/v1/eval-runs?name=capitals&project_id="+w.project), "data").([]any)
		if len(list) == 0 {
			return false
		}
		found, _ = list[0].(object)
		return found["status"] == "succeeded"
	})
	path := "/v1/eval-runs/" + at(w.t, found, "id").(string)
	w.awaitStatus(path, "succeeded", "summary")
	w.readEvaluation(path)
	w.reads("/v1/datasets/" + at(w.t, found, "dataset", "id").(string) + "/items")
}

func (w *writer) span(traces ptrace.Traces, id uuid.UUID, name string) ptrace.Span {
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "shop")
	span := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID(id))
	span.SetSpanID(pcommon.SpanID{0xd0, 7: 1})
	span.SetName(name)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Minute)))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-59 * time.Second)))
	return span
}

func (w *writer) sendTraces(traces ptrace.Traces) {
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalJSON()
	require.NoError(w.t, err)
	w.post("/v1/traces", product.JSON, body)
}

// awaitRun waits until a run can be read.
func (w *writer) awaitRun(id string) {
	w.t.Helper()
	w.await("run "+id, func() bool {
		return w.key.send(http.MethodGet, "/v1/runs/"+id, product.JSON, nil).Status == http.StatusOK
	})
}

// scoreRuns scores runs and spans with values of each type.
func (w *writer) scoreRuns() {
	path := "/v1/runs/" + w.runs["native"] + "/scores"
	w.owner.do(http.MethodPost, path, object{"name": "quality", "value": 0.75, "comment": "good, not great"})
	w.owner.do(http.MethodPost, path, object{"name": "helpful", "value": true, "source": "human"})
	w.key.do(http.MethodPost, path, object{"name": "tone", "value": "friendly", "source": "program", "span_id": "00000000000000b4"})
	w.owner.do(http.MethodPost, path, object{"comment": "a comment alone"})
	old := w.key.create(path, object{"name": "old", "value": 1})
	w.key.do(http.MethodDelete, path+"/"+old, nil)
}

// writeFailures sends runs that fail in two ways, and decides about both.
func (w *writer) writeFailures() {
	for _, one := range []struct {
		name     string
		decision object
		reopens  bool
	}{
		{"muted", object{"state": "muted", "note": "known, waits for the vendor"}, false},
		{"resolved", object{"state": "resolved", "note": "fixed in 0.2", "base_revision": 0}, true},
	} {
		run := object{
			"name": one.name + " failure", "status": "error", "environment": "production", "user_id": "ann@example.com",
			"error": object{"type": "ToolError", "message": "the " + one.name + " tool gave up"},
			"spans": []object{{
				"span_id": "00000000000000e1", "name": "lookup " + one.name, "kind": "tool", "status": "error", "tool": object{"name": "lookup"},
				"error": object{"type": "ToolError", "message": "the " + one.name + " tool gave up"},
			}},
		}
		failed := sendNative(w.ingest, between(run, -2*time.Second, -time.Second))
		w.awaitRun(failed)
		fingerprint, _ := at(w.t, w.key.get("/v1/runs/"+failed), "failure", "fingerprint").(string)
		path := "/v1/agent/failed-runs/" + fingerprint
		w.owner.do(http.MethodPut, path+"/state?project_id="+w.project, one.decision)
		w.owner.get("/v1/agent/failed-runs?state=all&project_id=" + w.project)
		decision, _ := at(w.t, w.owner.get(path+"?project_id="+w.project), "group", "state", "decision").(object)
		delete(decision, "runs_since") // counts the runs to come
		w.record.Failures = append(w.record.Failures, failure{Fingerprint: fingerprint, Run: run, Decision: decision, Reopens: one.reopens})
		w.reads("/v1/runs/"+failed, "/v1/runs/"+failed+"/spans?full=true", fmt.Sprintf("/v1/runs?project_id=%s&fingerprint=%s&start_before=%s", w.project, fingerprint, moment(0)))
	}
}

// between returns a run with times.
func between(run object, start, end time.Duration) object {
	timed := object{"start_time": moment(start), "end_time": moment(end)}
	for member, value := range run {
		timed[member] = value
	}
	return timed
}

// writePrices gives models prices, and the run before them a cost.
func (w *writer) writePrices() {
	path := "/v1/projects/" + w.project + "/prices"
	price := w.owner.create(path, object{"model": unpriced, "input": 1, "output": 10})
	w.owner.do(http.MethodPut, path+"/"+price, object{"model": unpriced, "input": 2, "output": 20, "valid_from": "2020-01-01T00:00:00Z", "cache_read": 0.5})
	w.owner.do(http.MethodDelete, path+"/"+w.owner.create(path, object{"model": "old-model", "input": 1, "output": 1}), nil)
	run := "/v1/runs/" + w.runs["unpriced"]
	require.Nil(w.t, w.key.get(run)["cost_usd"])
	w.looptrace("prices", "reprice", "--from", time.Now().Add(-24*time.Hour).UTC().Format(time.DateOnly), "--project", w.project)
	w.await("the run has a cost", func() bool { return w.key.get(run)["cost_usd"] != nil })
	w.reads(path + "?source=project")
}

// looptrace runs a command on the stores of the product.
func (w *writer) looptrace(args ...string) {
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.product.Root, "_build", "looptrace"), args...)
	cmd.Env = append(cmd.Environ(), "DATABASE_URL="+w.databaseURL(), "CLICKHOUSE_URL="+product.ClickHouseURL(w.product.Ports, w.product.Password(w.t, "clickhouse"), "looptrace"))
	output, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "%s: %s", strings.Join(args, " "), output)
}

func (w *writer) databaseURL() string {
	return fmt.Sprintf("postgres://looptrace:%s@%s/looptrace?sslmode=disable", w.product.Password(w.t, "postgres"), w.product.Ports.Addr(product.Postgres))
}

// postgres connects to the product's database.
func (w *writer) postgres() *pgx.Conn {
	conn, err := pgx.Connect(w.t.Context(), w.databaseURL())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close(w.t.Context()) }) // nothing is pending
	return conn
}
