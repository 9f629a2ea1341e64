package httpapi

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
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
	"github.com/looptrace/looptrace/test/engines"
)

// storeTraces stores traces as ingest does, and returns the ids of their runs.
func storeTraces(t *testing.T, clickhouseURL string, project uuid.UUID, td ptrace.Traces) []uuid.UUID {
	t.Helper()
	genaisemconvprocessor.NewMapper(&genaisemconvprocessor.Config{}).Map(td)
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
	storeSpans(t, clickhouseURL, runs...)
	return ids
}

// sourceRun is a run to record: an agent that calls a model and a tool, and the model again.
type sourceRun struct {
	question, answer string
	ago              time.Duration
	// running leaves the ends out.
	running bool
	// inner leaves the texts to the model calls.
	inner bool
	// transcript records the whole conversation as the input of the agent.
	transcript bool
	// session is that of the run.
	session string
	// source is what made it, empty for a program of the user.
	source string
	// tokens are those that each model call takes and gives, for an eighth of a dollar. 0 is unknown.
	tokens int
}

func (e *env) record(t *testing.T, clickhouseURL string, project uuid.UUID, r sourceRun) uuid.UUID {
	t.Helper()
	td := ptrace.NewTraces()
	resource := td.ResourceSpans().AppendEmpty()
	spans := resource.ScopeSpans().AppendEmpty().Spans()
	trace := uuid.New()
	start := time.Now().UTC().Add(-r.ago)
	span := func(id byte, name, operation string, attributes map[string]any) {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID(trace))
		s.SetSpanID(pcommon.SpanID{7: id})
		if id > 1 {
			s.SetParentSpanID(pcommon.SpanID{7: 1})
		}
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(id) * time.Millisecond)))
		if !r.running {
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Second + time.Duration(id)*time.Millisecond)))
		}
		if operation != "" {
			attributes["gen_ai.operation.name"] = operation
		}
		if operation == "chat" && r.tokens > 0 {
			attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"], attributes[runmodel.KeyCostUSD] = r.tokens, r.tokens, 0.125
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
	if r.session != "" {
		root["session.id"] = r.session
	}
	if r.source != "" {
		root[runmodel.KeySource] = r.source
	}
	if !r.inner && r.question != "" {
		root["gen_ai.input.messages"] = "[" + text("user", r.question) + "]"
		root["gen_ai.output.messages"] = "[" + text("assistant", r.answer) + "]"
	}
	if r.transcript {
		root["gen_ai.input.messages"] = "[" + text("system", "Be brief.") + "," + text("user", r.question) + "," + text("assistant", r.answer) + "]"
		delete(root, "gen_ai.output.messages")
	}
	span(1, "invoke_agent support", "invoke_agent", root)
	if r.question != "" {
		span(2, "chat gpt-5", "chat", map[string]any{
			"gen_ai.request.model": "gpt-5", "gen_ai.system_instructions": system, "gen_ai.tool.definitions": tools,
			"gen_ai.input.messages": "[" + text("user", r.question) + "]", "gen_ai.output.messages": "[" + call + "]",
		})
		span(3, "execute_tool look_up", "execute_tool", map[string]any{
			"gen_ai.tool.name": "look_up", "gen_ai.tool.call.arguments": `{"word": "capital"}`, "gen_ai.tool.call.result": `{"of": [1, 2.50]}`,
		})
		span(4, "chat gpt-5", "chat", map[string]any{
			"gen_ai.request.model": "gpt-5", "gen_ai.system_instructions": system, "gen_ai.tool.definitions": tools,
			"gen_ai.input.messages":  "[" + text("user", r.question) + "," + call + `,{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"of":[1,2.50]}}]}]`,
			"gen_ai.output.messages": "[" + text("assistant", r.answer) + "]",
		})
	}
	return storeTraces(t, clickhouseURL, project, td)[0]
}

func textsOf(raws ...json.RawMessage) (texts []string) {
	for _, raw := range raws {
		texts = append(texts, string(raw))
	}
	return texts
}

func TestAddRunsToDataset(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	sibling := e.createProject(t, session, project.WorkspaceId, "Sibling")
	key := bearer(e.mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeDatasetsWrite, contract.ScopeDatasetsRead).Key)
	const route = "/v1/runs/_actions/add-to-dataset"
	long := strings.Repeat("Which city is the capital? ", 1000) // longer than any preview
	paris := e.record(t, address, project.Id, sourceRun{question: long, answer: "Paris", ago: 3 * time.Minute})
	rome := e.record(t, address, project.Id, sourceRun{question: `{"z": 1.50, "country": "Italy"}`, answer: "[\"Rome\"]", ago: 2 * time.Minute, inner: true, session: "s1"})
	oslo := e.record(t, address, project.Id, sourceRun{question: "Norway?", answer: `"Oslo"`, ago: 4 * time.Minute, transcript: true})
	silent := e.record(t, address, project.Id, sourceRun{ago: 5 * time.Minute})
	running := e.record(t, address, project.Id, sourceRun{question: "Spain?", answer: "Madrid", ago: time.Minute, running: true})
	redacted := uuid.New()
	storeSpans(t, address, []runmodel.Span{{
		ProjectID: project.Id, RunID: redacted, SpanID: 1, Version: 1, StartTime: time.Now().UTC(), EndTime: time.Now().UTC(), Name: "agent", Kind: "agent",
		Inputs: `"[REDACTED]"`, InputPreview: `"[REDACTED]"`, Outputs: "Yes", OutputPreview: "Yes",
	}})
	foreign := e.record(t, address, sibling.Id, sourceRun{question: "Theirs?", answer: "Secret"})
	add := func(t *testing.T, dataset uuid.UUID, status int, members string) contract.RunsAdded {
		t.Helper()
		return must[contract.RunsAdded](t, e.do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.String()+`",`+members+`}`, key), status)
	}
	ids := func(runs ...uuid.UUID) string {
		text, err := json.Marshal(runs)
		require.NoError(t, err)
		return `"run_ids":` + string(text)
	}
	items := func(t *testing.T, dataset uuid.UUID, query string) []contract.DatasetItem {
		t.Helper()
		return must[contract.DatasetItemPage](t, e.do(t, http.MethodGet, "/v1/datasets/"+dataset.String()+"/items"+query, nil, key), http.StatusOK).Data
	}
	reasons := func(added contract.RunsAdded) map[uuid.UUID]string {
		byRun := map[uuid.UUID]string{}
		for _, s := range added.Skipped {
			byRun[s.RunId] = s.Reason
		}
		return byRun
	}

	t.Run("whole runs", func(t *testing.T) {
		t.Parallel()
		dataset := e.createDataset(t, cookie(session), project.Id, "whole")
		unknown := uuid.New()
		members := ids(paris, rome, silent, running, redacted, foreign, unknown, paris) + `,"split":" test ","tags":["x","x"],"note":"Looked good."`
		added := add(t, dataset.Id, http.StatusCreated, members)
		assert.Equal(t, []int{1, 7, 2, 0, 0}, []int{added.Revision, added.Selected, added.Added, added.Unchanged, len(added.Preview)})
		assert.Equal(t, map[uuid.UUID]string{
			silent: "$.input finds nothing: it was not recorded; $.output finds nothing: it was not recorded", running: "has not ended", redacted: "$.input finds nothing: it is redacted", foreign: "not found", unknown: "not found",
		}, reasons(added))
		list := items(t, dataset.Id, "")
		require.Len(t, list, 2)
		var input string
		require.NoError(t, json.Unmarshal(list[0].Input, &input))
		assert.Equal(t, long, input, "whole")
		assert.Equal(t, `"Paris"`, string(list[0].ReferenceOutput))
		assert.Equal(t, []string{`{"z":1.50,"country":"Italy"}`, `["Rome"]`}, textsOf(list[1].Input, list[1].ReferenceOutput), "JSON as it was written, of the model call")
		assert.Equal(t, []string{"test", "x"}, []string{*list[0].Split, strings.Join(list[0].Tags, " ")})
		assert.Equal(t, paris, *list[0].SourceRunId)
		assert.Nil(t, list[0].SourceSpanId)
		assert.Equal(t, "{}", string(list[0].Metadata))
		revision := must[contract.DatasetRevisionPage](t, e.do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String()+"/revisions", nil, key), http.StatusOK).Data[0]
		assert.Equal(t, []string{"runs", "Looked good."}, []string{string(revision.Kind), revision.Note})

		// An agent that records the whole conversation as its input.
		planned := add(t, dataset.Id, http.StatusOK, ids(oslo)+`,"dry_run":true`)
		assert.Equal(t, []string{`"Norway?"`, `"Oslo"`}, textsOf(*planned.Preview[0].Input, *planned.Preview[0].ReferenceOutput))
		assert.Equal(t, "Norway?", *must[contract.Run](t, e.do(t, http.MethodGet, "/v1/runs/"+oslo.String(), nil, key), http.StatusOK).Inputs)

		again := add(t, dataset.Id, http.StatusCreated, members)
		assert.Equal(t, []int{1, 7, 0, 2, 5}, []int{again.Revision, again.Selected, again.Added, again.Unchanged, len(again.Skipped)}, "no revision")

		of := func(query string) (names []string) {
			for _, d := range must[contract.DatasetPage](t, e.do(t, http.MethodGet, "/v1/datasets?source_run_id="+query, nil, key), http.StatusOK).Data {
				names = append(names, d.Name)
			}
			return names
		}
		assert.Contains(t, of(rome.String()), "whole")
		assert.NotContains(t, of(silent.String()), "whole")
		assert.Len(t, items(t, dataset.Id, "?source_run_id="+rome.String()), 1)
		assert.Empty(t, items(t, dataset.Id, "?source_run_id="+silent.String()))
		item := items(t, dataset.Id, "?source_run_id="+rome.String())[0].Id.String()
		require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/datasets/"+dataset.Id.String()+"/items/"+item, nil, cookie(session)).Code)
		assert.NotContains(t, of(rome.String()), "whole", "not in the newest revision")
		assert.Len(t, items(t, dataset.Id, "?revision=1&source_run_id="+rome.String()), 1)
	})
	t.Run("spans", func(t *testing.T) {
		t.Parallel()
		dataset := e.createDataset(t, cookie(session), project.Id, "spans")
		added := add(t, dataset.Id, http.StatusCreated, ids(rome, silent)+`,"span":{"kind":"llm","occurrence":"last"},
			"map":{"input":"$['messages','tools']","reference_output":"$.output_messages[0]","metadata":"$.attributes"}`)
		assert.Equal(t, 1, added.Added)
		assert.Equal(t, map[uuid.UUID]string{silent: "has no span of the kind llm"}, reasons(added))
		list := items(t, dataset.Id, "")
		require.Len(t, list, 1)
		assert.Equal(t, "0000000000000004", *list[0].SourceSpanId)
		assert.Equal(t, []string{
			`[[{"role":"system","content":"You know capitals."},{"role":"user","content":"{\"z\": 1.50, \"country\": \"Italy\"}"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look_up","arguments":"{\"word\":\"capital\",\"a\":1.50}"}}]},` +
				`{"role":"tool","content":"{\"of\":[1,2.50]}","tool_call_id":"c1"}],` +
				`[{"type":"function","function":{"name":"look_up","description":"Looks up.","parameters":{"type":"object","properties":{"word":{"type":"string"}}}}}]]`,
			`{"role":"assistant","content":"[\"Rome\"]"}`,
		}, textsOf(list[0].Input, list[0].ReferenceOutput))

		dry := func(span, paths string) contract.RunItemPreview {
			t.Helper()
			planned := add(t, dataset.Id, http.StatusOK, ids(rome)+`,"dry_run":true,"span":`+span+`,"map":`+paths)
			require.Len(t, planned.Preview, 1)
			return planned.Preview[0]
		}
		tool := dry(`{"name":"execute_tool look_up"}`, `{"metadata":"$.metadata"}`)
		assert.Equal(t, []string{`{"word":"capital"}`, `{"of":[1,2.50]}`, `{"tier":"free"}`}, textsOf(*tool.Input, *tool.ReferenceOutput, tool.Metadata))
		assert.Equal(t, []string{"execute_tool look_up", "0000000000000003"}, []string{tool.Name, *tool.SpanId})
		first := dry(`{"kind":"llm","name":"chat gpt-5"}`, `{"input":"$.model","reference_output":null}`)
		assert.Equal(t, `"gpt-5"`, string(*first.Input))
		assert.Nil(t, first.ReferenceOutput)
		assert.Equal(t, "0000000000000002", *first.SpanId)
		request := dry(`{"kind":"llm"}`, `{"input":"$.request","reference_output":"$.output_messages"}`)
		assert.Contains(t, string(*request.Input), `{"messages":[{"role":"system","content":"You know capitals."},`)
		assert.Contains(t, string(*request.Input), `}],"tools":[{"type":"function","function":{"name":"look_up",`)
		assert.Equal(t, "$.output finds nothing: the output messages have no text", *dry(`{"kind":"llm"}`, `{}`).Skipped)
		assert.Equal(t, "0000000000000003", *dry(`{"span_id":"0000000000000003"}`, `{}`).SpanId)
		assert.Equal(t, "has no span with the id 0000000000000009", *dry(`{"span_id":"0000000000000009"}`, `{}`).Skipped)
		assert.Equal(t, "$.metadata.tier is not an object", *dry(`{"kind":"llm"}`, `{"input":"$.name","reference_output":null,"metadata":"$.metadata.tier"}`).Skipped)
		assert.Equal(t, "$.messages[9] finds nothing; $..nothing finds nothing", *dry(`{"kind":"llm"}`, `{"input":"$.messages[9]","reference_output":"$..nothing"}`).Skipped)
		planned := add(t, dataset.Id, http.StatusOK, ids(running)+`,"dry_run":true,"span":{"kind":"llm"}`)
		assert.Equal(t, "the span has not ended", *planned.Preview[0].Skipped)
	})
	t.Run("by filter", func(t *testing.T) {
		t.Parallel()
		other := e.createProject(t, session, project.WorkspaceId, "Many")
		as := cookie(session)
		dataset := e.createDataset(t, as, other.Id, "filtered")
		for i := range 7 {
			e.record(t, address, other.Id, sourceRun{question: fmt.Sprint("Question ", i), answer: "Yes", ago: time.Duration(i+1) * time.Minute})
		}
		send := func(status int, rest string) contract.RunsAdded {
			t.Helper()
			return must[contract.RunsAdded](t, e.do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`","filter":{"project_id":"`+other.Id.String()+`"}`+rest+`}`, as), status)
		}
		planned := send(http.StatusOK, `,"dry_run":true`)
		assert.Equal(t, []int{1, 7, 7, 5}, []int{planned.Revision, planned.Selected, planned.Added, len(planned.Preview)})
		assert.Equal(t, `"Question 0"`, string(*planned.Preview[0].Input), "the newest first")
		assert.Nil(t, planned.Preview[0].SpanId)
		read := must[contract.Dataset](t, e.do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String(), nil, as), http.StatusOK)
		assert.Zero(t, read.Revision, "nothing is written")
		e.record(t, address, other.Id, sourceRun{question: "Late", answer: "Yes"})
		added := send(http.StatusCreated, fmt.Sprintf(`,"received_before":%q`, planned.AsOf.Format(time.RFC3339Nano)))
		assert.Equal(t, []int{1, 7, 7, 0, 0}, []int{added.Revision, added.Selected, added.Added, added.Unchanged, len(added.Preview)}, "what was counted")
		rest := send(http.StatusCreated, "")
		assert.Equal(t, []int{2, 8, 1, 7}, []int{rest.Revision, rest.Selected, rest.Added, rest.Unchanged})
	})
	t.Run("schema", func(t *testing.T) {
		t.Parallel()
		dataset := e.createDataset(t, cookie(session), project.Id, "schema")
		e.do(t, http.MethodPatch, "/v1/datasets/"+dataset.Id.String(), `{"schema":{"input":{"type":"object","required":["country"]}}}`, cookie(session))
		planned := add(t, dataset.Id, http.StatusOK, ids(paris, rome)+`,"dry_run":true`)
		assert.Equal(t, []int{1, 2, 1, 1}, []int{planned.Revision, planned.Selected, planned.Added, len(planned.Skipped)})
		assert.Contains(t, *planned.Preview[0].Skipped, "input does not fit the schema of the dataset: ")
		assert.Nil(t, planned.Preview[1].Skipped)
		added := add(t, dataset.Id, http.StatusCreated, ids(paris, rome))
		assert.Contains(t, reasons(added)[paris], "input does not fit the schema of the dataset: ")
		assert.Equal(t, rome, *items(t, dataset.Id, "")[0].SourceRunId)
	})
	t.Run("a retry", func(t *testing.T) {
		t.Parallel()
		dataset := e.createDataset(t, cookie(session), project.Id, "retry")
		body := `{"dataset_id":"` + dataset.Id.String() + `",` + ids(paris) + `}`
		first := e.do(t, http.MethodPost, route, body, key, header("Idempotency-Key", "a"))
		retry := e.do(t, http.MethodPost, route, body, key, header("Idempotency-Key", "a"))
		assert.Equal(t, 1, must[contract.RunsAdded](t, first, http.StatusCreated).Added)
		assert.Equal(t, first.Body.String(), retry.Body.String())
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		dataset := e.createDataset(t, cookie(session), project.Id, "refused")
		one := ids(paris)
		of := `"filter":{"project_id":"` + project.Id.String() + `"}`
		for members, at := range map[string]string{
			`"dry_run":true`: "body.run_ids",
			one + "," + of:   "body.filter",
			`"run_ids":[]`:   "body.run_ids",
			of + `,"received_before":"1900-01-01T00:00:00Z"`:        "body.received_before",
			one + `,"received_before":"2026-01-01T00:00:00Z"`:       "body.received_before",
			`"filter":{"project_id":"` + sibling.Id.String() + `"}`: "body.filter.project_id",
			`"filter":{"project_id":"` + noSuchID + `"}`:            "body.filter.project_id",
			one + `,"span":{}`:                                          "body.span",
			one + `,"span":{"occurrence":"last"}`:                       "body.span",
			one + `,"span":{"span_id":"0000000000000001","kind":"x"}`:   "body.span.span_id",
			ids(paris, rome) + `,"span":{"span_id":"0000000000000001"}`: "body.span.span_id",
			of + `,"span":{"span_id":"0000000000000001"}`:               "body.span.span_id",
			one + `,"split":" "`:                                        "body.split",
			one + `,"tags":["a","\u0007"]`:                              "body.tags[1]",
			one + `,"note":"\u0007"`:                                    "body.note",
			one + `,"map":{"input":"messages"}`:                         "body.map.input",
			one + `,"map":{"reference_output":"$.output["}`:             "body.map.reference_output",
			one + `,"map":{"metadata":"$..[?@..x]"}`:                    "body.map.metadata",
			one + `,"map":{"input":null}`:                               "body.map.input",
		} {
			got := wantProblem(t, e.do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+members+`}`, key), http.StatusUnprocessableEntity)
			require.NotEmpty(t, got.Errors, members)
			assert.Equal(t, at, (*got.Errors)[0].Location, members)
		}
		got := wantProblem(t, e.do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+one+`,"map":{"input":"$.messages["}}`, key), http.StatusUnprocessableEntity)
		assert.Equal(t, "is not a JSON path (RFC 9535): unexpected eof at position 12", (*got.Errors)[0].Message)
		for _, scope := range []contract.Scope{contract.ScopeRunsRead, contract.ScopeDatasetsWrite} {
			part := bearer(e.mint(t, session, project.Id, scope).Key)
			assert.Equal(t, http.StatusForbidden, e.do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+one+`}`, part).Code, scope)
		}
		theirs := e.createDataset(t, cookie(session), sibling.Id, "theirs")
		golden(t, "not_found", e.do(t, http.MethodPost, route, `{"dataset_id":"`+theirs.Id.String()+`",`+one+`}`, key))
		golden(t, "not_found", e.do(t, http.MethodPost, route, `{"dataset_id":"`+noSuchID+`",`+one+`}`, key))
		assert.Empty(t, items(t, dataset.Id, ""))
	})
}

// TestAddManyRunsToDataset adds as many runs as one call may.
func TestAddManyRunsToDataset(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	as := cookie(session)
	runs := make([][]runmodel.Span, maxAddedRuns+1)
	ids := make([]uuid.UUID, len(runs))
	for i := range runs {
		ids[i] = uuid.New()
		start := time.Now().UTC().Add(-time.Duration(i) * time.Second)
		input := fmt.Sprint("Question ", i)
		runs[i] = []runmodel.Span{{
			ProjectID: project.Id, RunID: ids[i], SpanID: 1, Version: uint64(start.UnixNano()), StartTime: start, EndTime: start.Add(time.Second),
			Name: fmt.Sprint("agent ", min(i, 1)), Kind: "agent", Inputs: input, InputPreview: input, Outputs: "Yes", OutputPreview: "Yes",
		}}
	}
	storeSpans(t, address, runs...)
	dataset := e.createDataset(t, as, project.Id, "many")
	body := map[string]any{"dataset_id": dataset.Id, "filter": map[string]any{"project_id": project.Id}}
	got := wantProblem(t, e.do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", body, as), http.StatusUnprocessableEntity)
	assert.Equal(t, []string{"too_many_runs", "selects 10001 runs, more than 10000"}, []string{got.Code, (*got.Errors)[0].Message})
	body["filter"] = map[string]any{"project_id": project.Id, "name": "agent 1"}
	added := must[contract.RunsAdded](t, e.do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", body, as), http.StatusCreated)
	assert.Equal(t, []int{maxAddedRuns, maxAddedRuns, 0}, []int{added.Selected, added.Added, len(added.Skipped)})
	again := must[contract.RunsAdded](t, e.do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", map[string]any{"dataset_id": dataset.Id, "run_ids": ids[:maxAddedRuns]}, as), http.StatusCreated)
	assert.Equal(t, []int{maxAddedRuns, 1, maxAddedRuns - 1}, []int{again.Selected, again.Added, again.Unchanged})
}

// TestAddLargeRunsToDataset adds runs whose contents are too large to be read together.
func TestAddLargeRunsToDataset(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	as := cookie(session)
	var ids []uuid.UUID
	for i, size := range append(slices.Repeat([]int{8 << 20}, 9), 17<<20) {
		start := time.Now().UTC().Add(-time.Duration(i) * time.Second)
		input := fmt.Sprint("Question ", i, strings.Repeat(" ?", size/2))
		ids = append(ids, uuid.New())
		storeSpans(t, address, []runmodel.Span{{
			ProjectID: project.Id, RunID: ids[i], SpanID: 1, Version: uint64(start.UnixNano()), StartTime: start, EndTime: start.Add(time.Second),
			Name: "agent", Kind: "agent", Inputs: input, InputPreview: input[:10], Outputs: "Yes", OutputPreview: "Yes",
		}})
	}
	dataset := e.createDataset(t, as, project.Id, "large")
	add := func(runs []uuid.UUID) map[string]any {
		return map[string]any{"dataset_id": dataset.Id, "run_ids": runs}
	}
	got := wantProblem(t, e.do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", add(ids), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "contents_too_large", got.Code)
	assert.Contains(t, *got.Detail, "The items of the first 8 runs have more than 64 MiB in all")
	added := must[contract.RunsAdded](t, e.do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", add(ids[5:]), as), http.StatusCreated)
	assert.Equal(t, []int{5, 4}, []int{added.Selected, added.Added})
	assert.Equal(t, []contract.RunSkipped{{RunId: ids[9], Reason: "has more than 16 MiB of contents"}}, added.Skipped)
}
