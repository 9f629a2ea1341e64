package datasets_test

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

func textsOf(raws ...json.RawMessage) (texts []string) {
	for _, raw := range raws {
		texts = append(texts, string(raw))
	}
	return texts
}

func TestAddRunsToDataset(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeDatasetsWrite, contract.ScopeDatasetsRead).Key)
	const route = "/v1/runs/_actions/add-to-dataset"
	long := strings.Repeat("Which city is the capital? ", 1000) // longer than any preview
	paris := e.Record(t, address, project.Id, apitest.SourceRun{Question: long, Answer: "Paris", Ago: 3 * time.Minute})
	rome := e.Record(t, address, project.Id, apitest.SourceRun{Question: `{"z": 1.50, "country": "Italy"}`, Answer: "[\"Rome\"]", Ago: 2 * time.Minute, Inner: true, Session: "s1"})
	oslo := e.Record(t, address, project.Id, apitest.SourceRun{Question: "Norway?", Answer: `"Oslo"`, Ago: 4 * time.Minute, Transcript: true})
	silent := e.Record(t, address, project.Id, apitest.SourceRun{Ago: 5 * time.Minute})
	running := e.Record(t, address, project.Id, apitest.SourceRun{Question: "Spain?", Answer: "Madrid", Ago: time.Minute, Running: true})
	redacted := uuid.New()
	apitest.StoreSpans(t, address, []runmodel.Span{{
		ProjectID: project.Id, RunID: redacted, SpanID: 1, Version: 1, StartTime: time.Now().UTC(), EndTime: time.Now().UTC(), Name: "agent", Kind: "agent",
		Inputs: `"[REDACTED]"`, InputPreview: `"[REDACTED]"`, Outputs: "Yes", OutputPreview: "Yes",
	}})
	foreign := e.Record(t, address, sibling.Id, apitest.SourceRun{Question: "Theirs?", Answer: "Secret"})
	add := func(t *testing.T, dataset uuid.UUID, status int, members string) contract.RunsAdded {
		t.Helper()
		return apitest.Must[contract.RunsAdded](t, e.Do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.String()+`",`+members+`}`, key), status)
	}
	ids := func(runs ...uuid.UUID) string {
		text, err := json.Marshal(runs)
		require.NoError(t, err)
		return `"run_ids":` + string(text)
	}
	items := func(t *testing.T, dataset uuid.UUID, query string) []contract.DatasetItem {
		t.Helper()
		return apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.String()+"/items"+query, nil, key), http.StatusOK).Data
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
		dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "whole")
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
		revision := apitest.Must[contract.DatasetRevisionPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String()+"/revisions", nil, key), http.StatusOK).Data[0]
		assert.Equal(t, []string{"runs", "Looked good."}, []string{string(revision.Kind), revision.Note})

		// An agent that records the whole conversation as its input.
		planned := add(t, dataset.Id, http.StatusOK, ids(oslo)+`,"dry_run":true`)
		assert.Equal(t, []string{`"Norway?"`, `"Oslo"`}, textsOf(*planned.Preview[0].Input, *planned.Preview[0].ReferenceOutput))
		assert.Equal(t, "Norway?", *apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+oslo.String(), nil, key), http.StatusOK).Inputs)

		again := add(t, dataset.Id, http.StatusCreated, members)
		assert.Equal(t, []int{1, 7, 0, 2, 5}, []int{again.Revision, again.Selected, again.Added, again.Unchanged, len(again.Skipped)}, "no revision")

		of := func(query string) (names []string) {
			for _, d := range apitest.Must[contract.DatasetPage](t, e.Do(t, http.MethodGet, "/v1/datasets?source_run_id="+query, nil, key), http.StatusOK).Data {
				names = append(names, d.Name)
			}
			return names
		}
		assert.Contains(t, of(rome.String()), "whole")
		assert.NotContains(t, of(silent.String()), "whole")
		assert.Len(t, items(t, dataset.Id, "?source_run_id="+rome.String()), 1)
		assert.Empty(t, items(t, dataset.Id, "?source_run_id="+silent.String()))
		item := items(t, dataset.Id, "?source_run_id="+rome.String())[0].Id.String()
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/datasets/"+dataset.Id.String()+"/items/"+item, nil, apitest.Cookie(session)).Code)
		assert.NotContains(t, of(rome.String()), "whole", "not in the newest revision")
		assert.Len(t, items(t, dataset.Id, "?revision=1&source_run_id="+rome.String()), 1)
	})
	t.Run("spans", func(t *testing.T) {
		t.Parallel()
		dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "spans")
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
		other := e.CreateProject(t, session, project.WorkspaceId, "Many")
		as := apitest.Cookie(session)
		dataset := e.CreateDataset(t, as, other.Id, "filtered")
		for i := range 7 {
			e.Record(t, address, other.Id, apitest.SourceRun{Question: fmt.Sprint("Question ", i), Answer: "Yes", Ago: time.Duration(i+1) * time.Minute})
		}
		send := func(status int, rest string) contract.RunsAdded {
			t.Helper()
			return apitest.Must[contract.RunsAdded](t, e.Do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`","filter":{"project_id":"`+other.Id.String()+`"}`+rest+`}`, as), status)
		}
		planned := send(http.StatusOK, `,"dry_run":true`)
		assert.Equal(t, []int{1, 7, 7, 5}, []int{planned.Revision, planned.Selected, planned.Added, len(planned.Preview)})
		assert.Equal(t, `"Question 0"`, string(*planned.Preview[0].Input), "the newest first")
		assert.Nil(t, planned.Preview[0].SpanId)
		read := apitest.Must[contract.Dataset](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String(), nil, as), http.StatusOK)
		assert.Zero(t, read.Revision, "nothing is written")
		e.Record(t, address, other.Id, apitest.SourceRun{Question: "Late", Answer: "Yes"})
		added := send(http.StatusCreated, fmt.Sprintf(`,"received_before":%q`, planned.AsOf.Format(time.RFC3339Nano)))
		assert.Equal(t, []int{1, 7, 7, 0, 0}, []int{added.Revision, added.Selected, added.Added, added.Unchanged, len(added.Preview)}, "what was counted")
		rest := send(http.StatusCreated, "")
		assert.Equal(t, []int{2, 8, 1, 7}, []int{rest.Revision, rest.Selected, rest.Added, rest.Unchanged})
	})
	t.Run("schema", func(t *testing.T) {
		t.Parallel()
		dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "schema")
		e.Do(t, http.MethodPatch, "/v1/datasets/"+dataset.Id.String(), `{"schema":{"input":{"type":"object","required":["country"]}}}`, apitest.Cookie(session))
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
		dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "retry")
		body := `{"dataset_id":"` + dataset.Id.String() + `",` + ids(paris) + `}`
		first := e.Do(t, http.MethodPost, route, body, key, apitest.Header("Idempotency-Key", "a"))
		retry := e.Do(t, http.MethodPost, route, body, key, apitest.Header("Idempotency-Key", "a"))
		assert.Equal(t, 1, apitest.Must[contract.RunsAdded](t, first, http.StatusCreated).Added)
		assert.Equal(t, first.Body.String(), retry.Body.String())
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		dataset := e.CreateDataset(t, apitest.Cookie(session), project.Id, "refused")
		one := ids(paris)
		of := `"filter":{"project_id":"` + project.Id.String() + `"}`
		for members, at := range map[string]string{
			`"dry_run":true`: "body.run_ids",
			one + "," + of:   "body.filter",
			`"run_ids":[]`:   "body.run_ids",
			of + `,"received_before":"1900-01-01T00:00:00Z"`:        "body.received_before",
			one + `,"received_before":"2026-01-01T00:00:00Z"`:       "body.received_before",
			`"filter":{"project_id":"` + sibling.Id.String() + `"}`: "body.filter.project_id",
			`"filter":{"project_id":"` + apitest.NoSuchID + `"}`:    "body.filter.project_id",
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
			got := apitest.WantProblem(t, e.Do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+members+`}`, key), http.StatusUnprocessableEntity)
			require.NotEmpty(t, got.Errors, members)
			assert.Equal(t, at, (*got.Errors)[0].Location, members)
		}
		got := apitest.WantProblem(t, e.Do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+one+`,"map":{"input":"$.messages["}}`, key), http.StatusUnprocessableEntity)
		assert.Equal(t, "is not a JSON path (RFC 9535): unexpected eof at position 12", (*got.Errors)[0].Message)
		for _, scope := range []contract.Scope{contract.ScopeRunsRead, contract.ScopeDatasetsWrite} {
			part := apitest.Bearer(e.Mint(t, session, project.Id, scope).Key)
			assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodPost, route, `{"dataset_id":"`+dataset.Id.String()+`",`+one+`}`, part).Code, scope)
		}
		theirs := e.CreateDataset(t, apitest.Cookie(session), sibling.Id, "theirs")
		apitest.Golden(t, "not_found", e.Do(t, http.MethodPost, route, `{"dataset_id":"`+theirs.Id.String()+`",`+one+`}`, key))
		apitest.Golden(t, "not_found", e.Do(t, http.MethodPost, route, `{"dataset_id":"`+apitest.NoSuchID+`",`+one+`}`, key))
		assert.Empty(t, items(t, dataset.Id, ""))
	})
}

// mostAdded is how many runs one call may add.
const mostAdded = 10_000

// TestAddManyRunsToDataset adds as many runs as one call may.
func TestAddManyRunsToDataset(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	runs := make([][]runmodel.Span, mostAdded+1)
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
	apitest.StoreSpans(t, address, runs...)
	dataset := e.CreateDataset(t, as, project.Id, "many")
	body := map[string]any{"dataset_id": dataset.Id, "filter": map[string]any{"project_id": project.Id}}
	got := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", body, as), http.StatusUnprocessableEntity)
	assert.Equal(t, []string{"too_many_runs", "selects 10001 runs, more than 10000"}, []string{got.Code, (*got.Errors)[0].Message})
	body["filter"] = map[string]any{"project_id": project.Id, "name": "agent 1"}
	added := apitest.Must[contract.RunsAdded](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", body, as), http.StatusCreated)
	assert.Equal(t, []int{mostAdded, mostAdded, 0}, []int{added.Selected, added.Added, len(added.Skipped)})
	again := apitest.Must[contract.RunsAdded](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", map[string]any{"dataset_id": dataset.Id, "run_ids": ids[:mostAdded]}, as), http.StatusCreated)
	assert.Equal(t, []int{mostAdded, 1, mostAdded - 1}, []int{again.Selected, again.Added, again.Unchanged})
}

// TestAddLargeRunsToDataset adds runs whose contents are too large to be read together. It is not parallel: others would make its 100 MB
// wait for longer than a statement may take.
func TestAddLargeRunsToDataset(t *testing.T) { //nolint:paralleltest // see above
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	var ids []uuid.UUID
	for i, size := range append(slices.Repeat([]int{8 << 20}, 9), 17<<20) {
		start := time.Now().UTC().Add(-time.Duration(i) * time.Second)
		input := fmt.Sprint("Question ", i, strings.Repeat(" ?", size/2))
		ids = append(ids, uuid.New())
		apitest.StoreSpans(t, address, []runmodel.Span{{
			ProjectID: project.Id, RunID: ids[i], SpanID: 1, Version: uint64(start.UnixNano()), StartTime: start, EndTime: start.Add(time.Second),
			Name: "agent", Kind: "agent", Inputs: input, InputPreview: input[:10], Outputs: "Yes", OutputPreview: "Yes",
		}})
	}
	dataset := e.CreateDataset(t, as, project.Id, "large")
	add := func(runs []uuid.UUID) map[string]any {
		return map[string]any{"dataset_id": dataset.Id, "run_ids": runs}
	}
	got := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", add(ids), as), http.StatusUnprocessableEntity)
	assert.Equal(t, "contents_too_large", got.Code)
	assert.Contains(t, *got.Detail, "The items of the first 8 runs have more than 64 MiB in all")
	added := apitest.Must[contract.RunsAdded](t, e.Do(t, http.MethodPost, "/v1/runs/_actions/add-to-dataset", add(ids[5:]), as), http.StatusCreated)
	assert.Equal(t, []int{5, 4}, []int{added.Selected, added.Added})
	assert.Equal(t, []contract.RunSkipped{{RunId: ids[9], Reason: "has more than 16 MiB of contents"}}, added.Skipped)
}
