package apitest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/genaispans"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// RecordNumber records a run that answers "number N" with the same, an hour ago.
func (e *Env) RecordNumber(t *testing.T, clickhouseURL string, project uuid.UUID, n int, change func(*SourceRun)) uuid.UUID {
	t.Helper()
	text := fmt.Sprintf("number %d", n)
	r := SourceRun{Question: text, Answer: text, Ago: time.Hour, Session: "support", Tokens: 100}
	if change != nil {
		change(&r)
	}
	return e.Record(t, clickhouseURL, project, r)
}

// StoreRecorded stores recorded payloads in a project, each as if it was sent minutes ago. It returns the file of each run.
func StoreRecorded(t *testing.T, address string, project uuid.UUID, files []string) map[uuid.UUID]string {
	t.Helper()
	factory := clickhouserunsexporter.NewFactory()
	config := factory.CreateDefaultConfig().(*clickhouserunsexporter.Config)
	config.URL = configopaque.String(address)
	exporter, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	require.NoError(t, err)
	require.NoError(t, exporter.Start(t.Context(), componenttest.NewNopHost()))
	mapper := genaispans.NewMapper(nil)
	stored := map[uuid.UUID]string{}
	all := ptrace.NewTraces()
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err, file)
		begin := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).StartTimestamp()
		move := pcommon.NewTimestampFromTime(time.Now().Add(-time.Duration(i+1)*time.Minute)) - begin
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
			rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, time.Now().UnixNano())
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					span.SetStartTimestamp(span.StartTimestamp() + move)
					span.SetEndTimestamp(span.EndTimestamp() + move)
					stored[uuid.UUID(span.TraceID())] = file
				}
			}
		}
		mapper.Map(td)
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	require.NoError(t, exporter.ConsumeTraces(t.Context(), all))
	require.NoError(t, exporter.Shutdown(t.Context()))
	return stored
}

// StoreTraces stores traces as ingest does, and returns the ids of their runs.
func StoreTraces(t *testing.T, clickhouseURL string, project uuid.UUID, td ptrace.Traces) []uuid.UUID {
	t.Helper()
	genaispans.NewMapper(nil).Map(td)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
		rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, time.Now().UnixNano())
	}
	var rows runpdata.Rows
	require.NoError(t, rows.Add(td))
	writer, err := clickhouse.NewWriter(t.Context(), clickhouseURL)
	require.NoError(t, err)
	defer writer.Close()
	require.NoError(t, writer.InsertContents(t.Context(), rows.Contents))
	require.NoError(t, writer.InsertSharedContents(t.Context(), rows.Shared))
	var runs [][]runmodel.Span
	var ids []uuid.UUID
	for key, spans := range runmodel.ByRun(rows.Spans) {
		slices.SortFunc(spans, func(a, b runmodel.Span) int { return a.StartTime.Compare(b.StartTime) })
		runs, ids = append(runs, spans), append(ids, key.RunID)
	}
	StoreSpans(t, clickhouseURL, runs...)
	return ids
}

// SourceRun is a run to record: an agent that calls a model and a tool, and the model again.
type SourceRun struct {
	Question, Answer string
	Ago              time.Duration
	// Running leaves the ends out.
	Running bool
	// Inner leaves the texts to the model calls.
	Inner bool
	// Transcript records the whole conversation as the input of the agent.
	Transcript bool
	// Session is that of the run.
	Session string
	// Source is what made it, empty for a program of the user.
	Source string
	// Tokens are those that each model call takes and gives, for an eighth of a dollar. 0 is unknown.
	Tokens int
	// TraceState is that of each span.
	TraceState string
}

// Record stores a run, and returns its id.
func (e *Env) Record(t *testing.T, clickhouseURL string, project uuid.UUID, r SourceRun) uuid.UUID {
	t.Helper()
	td := ptrace.NewTraces()
	resource := td.ResourceSpans().AppendEmpty()
	spans := resource.ScopeSpans().AppendEmpty().Spans()
	trace := uuid.New()
	start := time.Now().UTC().Add(-r.Ago)
	span := func(id byte, name, operation string, attributes map[string]any) {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID(trace))
		s.SetSpanID(pcommon.SpanID{7: id})
		s.TraceState().FromRaw(r.TraceState)
		if id > 1 {
			s.SetParentSpanID(pcommon.SpanID{7: 1})
		}
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(id) * time.Millisecond)))
		if !r.Running {
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Second + time.Duration(id)*time.Millisecond)))
		}
		if operation != "" {
			attributes["gen_ai.operation.name"] = operation
		}
		if operation == "chat" && r.Tokens > 0 {
			attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"], attributes[runmodel.KeyCostUSD] = r.Tokens, r.Tokens, 0.125
		}
		require.NoError(t, s.Attributes().FromRaw(attributes))
	}
	text := func(role, content string) string {
		return fmt.Sprintf(`{"role":%q,"parts":[{"type":"text","content":%q}]}`, role, content)
	}
	system := `[{"type":"text","content":"You know capitals."}]`
	tools := `[{"type":"function","name":"look_up","description":"Looks up.","parameters":{"type":"object","properties":{"word":{"type":"string"}}}}]`
	call := `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look_up","arguments":{"word":"capital","a":1.50}}],"finish_reason":"tool_calls"}`
	root := map[string]any{"looptrace.metadata.tier": "free", "custom": "yes"}
	if r.Session != "" {
		root["session.id"] = r.Session
	}
	if r.Source != "" {
		root[runmodel.KeySource] = r.Source
	}
	if !r.Inner && r.Question != "" {
		root["gen_ai.input.messages"] = "[" + text("user", r.Question) + "]"
		root["gen_ai.output.messages"] = "[" + text("assistant", r.Answer) + "]"
	}
	if r.Transcript {
		root["gen_ai.input.messages"] = "[" + text("system", "Be brief.") + "," + text("user", r.Question) + "," + text("assistant", r.Answer) + "]"
		delete(root, "gen_ai.output.messages")
	}
	span(1, "invoke_agent support", "invoke_agent", root)
	if r.Question != "" {
		span(2, "chat gpt-5", "chat", map[string]any{
			"gen_ai.request.model": "gpt-5", "gen_ai.system_instructions": system, "gen_ai.tool.definitions": tools,
			"gen_ai.input.messages": "[" + text("user", r.Question) + "]", "gen_ai.output.messages": "[" + call + "]",
		})
		span(3, "execute_tool look_up", "execute_tool", map[string]any{
			"gen_ai.tool.name": "look_up", "gen_ai.tool.call.arguments": `{"word": "capital"}`, "gen_ai.tool.call.result": `{"of": [1, 2.50]}`,
		})
		span(4, "chat gpt-5", "chat", map[string]any{
			"gen_ai.request.model": "gpt-5", "gen_ai.system_instructions": system, "gen_ai.tool.definitions": tools,
			"gen_ai.input.messages":  "[" + text("user", r.Question) + "," + call + `,{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"of":[1,2.50]}}]}]`,
			"gen_ai.output.messages": "[" + text("assistant", r.Answer) + "]",
		})
	}
	return StoreTraces(t, clickhouseURL, project, td)[0]
}
