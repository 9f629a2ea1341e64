package findings_test

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

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// group stores a failed run, and returns it with the fingerprint of its group.
func group(t *testing.T, e *apitest.Env, as apitest.Option, address string, project uuid.UUID, tool string) (run uuid.UUID, fingerprint string) {
	t.Helper()
	spans := apitest.AgentRun(project, e.Clock.Now().Add(-time.Hour), tool, "no answer", nil)
	apitest.StoreSpans(t, address, spans)
	run = spans[0].RunID
	return run, apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String(), nil, as), http.StatusOK).Failure.Fingerprint
}

func list(t *testing.T, e *apitest.Env, as apitest.Option, query string) []contract.Finding {
	t.Helper()
	return apitest.Must[contract.FindingPage](t, e.Do(t, http.MethodGet, "/v1/findings?"+query, nil, as), http.StatusOK).Data
}

func TestFindings(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	of := "project_id=" + project.Id.String()
	run, fingerprint := group(t, e, as, address, project.Id, "book")
	_, other := group(t, e, as, address, project.Id, "search")
	batch := e.FillReplayBatch(t, as, project.Id.String(), run.String())
	show := func(verdict string) {
		e.Exec(t, `UPDATE replay_batches SET result = $2 WHERE id = $1`, batch, fmt.Sprintf(`{"sentence":"It is %[1]s.","chosen":{"verdict":%[1]q},"good":{"verdict":"cannot_tell"}}`, verdict))
	}
	create := func(fingerprint, more string) string {
		return fmt.Sprintf(`{"project_id":%q,"fingerprint":%q,"candidate":{"kind":"timeout","title":" The model is too slow. "%s}}`, project.Id, fingerprint, more)
	}
	tested := func(batch string) string {
		return strings.TrimSuffix(create(fingerprint, ""), "}") + fmt.Sprintf(`,"batch_id":%q}`, batch)
	}
	show("better")
	made := apitest.Must[contract.Finding](t, e.Do(t, http.MethodPost, "/v1/findings", tested(batch), as), http.StatusCreated)
	path := "/v1/findings/" + made.Id.String()

	t.Run("it has the edits and the verdict of its batch", func(t *testing.T) {
		assert.Equal(t, "The model is too slow.", made.Candidate.Title)
		require.Len(t, made.Candidate.Edits, 1)
		assert.JSONEq(t, apitest.LongTimeouts, string(made.Candidate.Edits[0]))
		assert.True(t, strings.HasPrefix(made.Candidate.Key, "timeout:"), made.Candidate.Key)
		assert.Equal(t, contract.FindingVerdict{Sentence: "It is better.", Chosen: "better", Good: new(contract.FindingVerdictPart("cannot_tell"))}, *made.Verdict)
		assert.Equal(t, batch, made.Batch.Id.String())
		assert.EqualValues(t, "open", made.Status)
		assert.Nil(t, made.AgreesWithVerdict, "open decides nothing")
		assert.Equal(t, apitest.Email, *made.CreatedBy.Email)
		assert.Equal(t, made, apitest.Must[contract.Finding](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK))
	})
	t.Run("what does not fit is refused", func(t *testing.T) {
		assert.Equal(t, "finding_exists", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/findings", tested(batch), as), http.StatusConflict).Code)
		for body, location := range map[string]string{
			create("fp:v3:none", ""): "body.fingerprint",
			tested(uuid.NewString()): "body.batch_id",
			strings.Replace(tested(batch), `"title"`, `"edits":[{"target":"all","set":{"model":"m"}}],"title"`, 1): "body.batch_id",
			strings.Replace(tested(batch), `"title"`, `"edits":[{"target":"all","set":{}}],"title"`, 1):            "body.candidate.edits[0].set",
		} {
			refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/findings", body, as), http.StatusUnprocessableEntity)
			require.NotNil(t, refused.Errors, body)
			assert.Equal(t, location, (*refused.Errors)[0].Location, body)
		}
	})
	t.Run("a status may differ from the verdict, which is said", func(t *testing.T) {
		change := func(body string) contract.Finding {
			return apitest.Must[contract.Finding](t, e.Do(t, http.MethodPatch, path, body, as), http.StatusOK)
		}
		e.Clock.Advance(time.Minute)
		refuted := change(`{"status":"refuted","note":" It was the network.\nSee there. ","base_revision":1}`)
		assert.False(t, *refuted.AgreesWithVerdict)
		assert.Equal(t, "It was the network.\nSee there.", *refuted.Note)
		assert.Equal(t, 2, refuted.Revision)
		assert.WithinDuration(t, e.Clock.Now(), refuted.ChangedAt, time.Millisecond)
		assert.Equal(t, made.CreatedAt, refuted.CreatedAt)
		e.Clock.Advance(time.Minute)
		assert.Equal(t, refuted, change(`{"status":"refuted"}`), "what holds already keeps its author and time")
		stale := apitest.WantProblem(t, e.Do(t, http.MethodPatch, path, `{"status":"open","base_revision":1}`, as), http.StatusConflict)
		assert.Equal(t, "stale_base_revision", stale.Code)
		show("worse")
		assert.True(t, *change(`{"note":""}`).AgreesWithVerdict, "the verdict is that of the batch now")
		show("cannot_tell")
		confirmed := change(`{"status":"confirmed"}`)
		assert.Nil(t, confirmed.AgreesWithVerdict)
		assert.Nil(t, confirmed.Note)
	})
	t.Run("they are found by group, run, batch and status", func(t *testing.T) {
		e.Clock.Advance(time.Minute)
		second := apitest.Must[contract.Finding](t, e.Do(t, http.MethodPost, "/v1/findings", create(other, `,"key":"timeout:5s"`), as), http.StatusCreated)
		assert.Empty(t, second.Candidate.Edits)
		third := apitest.Must[contract.Finding](t, e.Do(t, http.MethodPost, "/v1/findings", create(fingerprint, `,"edits":[{"target":"all","set":{"model":"m"}}]`), as), http.StatusCreated)
		titles := func(query string) []uuid.UUID {
			ids := []uuid.UUID{}
			for _, f := range list(t, e, as, query) {
				ids = append(ids, f.Id)
			}
			return ids
		}
		assert.Equal(t, []uuid.UUID{made.Id, third.Id, second.Id}, titles(of), "confirmed ones first, then the newest")
		assert.Equal(t, []uuid.UUID{second.Id}, titles("fingerprint="+other))
		assert.Len(t, titles("fingerprint="+other+"&fingerprint="+fingerprint), 3)
		assert.Equal(t, []uuid.UUID{made.Id, third.Id}, titles("run_id="+run.String()))
		assert.Empty(t, titles("run_id="+uuid.NewString()))
		assert.Equal(t, []uuid.UUID{made.Id}, titles("batch_id="+batch))
		assert.Equal(t, []uuid.UUID{made.Id}, titles("status=confirmed&"+of))
	})
	t.Run("the verdict outlives the batch", func(t *testing.T) {
		show("better")
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/replay-batches/"+batch, nil, as).Code)
		kept := apitest.Must[contract.Finding](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
		assert.Nil(t, kept.Batch)
		assert.Equal(t, "It is better.", kept.Verdict.Sentence)
		assert.True(t, *kept.AgreesWithVerdict)
		again := e.FillReplayBatch(t, as, project.Id.String(), run.String())
		moved := apitest.Must[contract.Finding](t, e.Do(t, http.MethodPatch, path, `{"batch_id":"`+again+`"}`, as), http.StatusOK)
		assert.Equal(t, "none", moved.Verdict.Sentence)
	})
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, as).Code)
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path, nil, as), http.StatusNotFound)
}

// answerHelpfully refuses without the edit.
func answerHelpfully(q *provider.Request) *provider.Reply {
	for _, m := range q.Messages {
		if m.Role == "system" && strings.Contains(m.Text, "Always help") {
			return &provider.Reply{Text: "Your order A17 is cancelled."}
		}
	}
	return &provider.Reply{Text: "I cannot do that."}
}

// TestPromote makes a version and a dataset of a tested finding, once.
func TestPromote(t *testing.T) {
	t.Parallel()
	e, session, project, send := apitest.NewReplayEnv(t)
	as := apitest.Cookie(session)
	e.Work(t)
	e.Connect(t, as, project.Id, "openai", provider.Start(t, provider.Options{Answer: answerHelpfully}), "")
	failed := make([]string, 8)
	for i := range failed {
		run, td := apitest.AgentTrace([]apitest.AgentStep{{Answer: "I cannot do that."}})
		send(td)
		failed[i] = fmt.Sprintf("%q", run)
	}
	_, fingerprint := group(t, e, as, e.ClickHouse, project.Id, "book")
	created := apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodPost, "/v1/replay-batches", fmt.Sprintf(
		`{"project_id":%q,"name":"helps","run_ids":[%s],"edits":[{"target":"all","set":{"system_prompt":"Always help customers."}},{"target":"all","set":{"params":{"temperature":0.2,"user":"x"}}}],
		"outcome":{"name":"it's done","type":"string_check","operation":"ilike","input":"{{sample.output_text}}","reference":"is cancelled"}}`, project.Id, strings.Join(failed, ",")), as), http.StatusCreated)
	require.Eventually(t, func() bool {
		e.Clock.Advance(20 * time.Millisecond)
		return apitest.Must[contract.ReplayBatch](t, e.Do(t, http.MethodGet, "/v1/replay-batches/"+created.Id.String(), nil, as), http.StatusOK).Result != nil
	}, apitest.ReplayTime, 50*time.Millisecond)
	finding := apitest.Must[contract.Finding](t, e.Do(t, http.MethodPost, "/v1/findings", fmt.Sprintf(
		`{"project_id":%q,"fingerprint":%q,"status":"confirmed","candidate":{"kind":"instructions","title":"The prompt does not say to help."},"batch_id":%q}`, project.Id, fingerprint, created.Id), as), http.StatusCreated)
	require.NotNil(t, finding.Verdict)
	assert.True(t, *finding.AgreesWithVerdict)
	prompt := e.CreatePrompt(t, as, project.Id, "support/triage", "You are {{tone}}.")
	promote := "/v1/findings/" + finding.Id.String() + "/_actions/promote"
	both := `{"prompt":{"name":"support/triage"},"dataset":{"name":"it's refused"}`

	plan := apitest.Must[contract.FindingPromoted](t, e.Do(t, http.MethodPost, promote, both+`,"plan":true}`, as), http.StatusOK)
	assert.Nil(t, plan.Prompt.Version)
	assert.Equal(t, []string{
		"The system message is the text that was tested. The variables of the earlier one are gone: the text stands for the values of the recorded runs.",
		"Parameters: temperature is 0.2, user is \"x\".",
	}, plan.Prompt.Changes)
	assert.Equal(t, [2]int{8, 8}, [2]int{plan.Dataset.Runs, plan.Dataset.Added})
	assert.Nil(t, plan.Dataset.Id)
	assert.Nil(t, plan.Gate, "there is no dataset yet")
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM datasets"), "a plan stores nothing")

	// What a first call stored before it failed is found by the next.
	version := `{"messages":[{"role":"system","content":"Always help customers."}],"model_config":{"temperature":0.2,"extra":{"user":"x"}}}`
	apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, "/v1/prompts/"+prompt.Id.String()+"/versions", version, as), http.StatusCreated)
	apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPost, "/v1/datasets", map[string]any{"project_id": project.Id, "name": "it's refused"}, as), http.StatusCreated)

	done := apitest.Must[contract.FindingPromoted](t, e.Do(t, http.MethodPost, promote, both+"}", as), http.StatusOK)
	assert.Equal(t, 2, *done.Prompt.Version)
	assert.False(t, done.Prompt.IsNew)
	assert.Equal(t, 8, done.Dataset.Added)
	assert.Equal(t, contract.FindingPromptVersion{Id: prompt.Id, Version: 2}, *done.Finding.PromotedPrompt)
	items := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+done.Dataset.Id.String()+"/items", nil, as), http.StatusOK).Data
	require.Len(t, items, 8)
	assert.Equal(t, "null", string(items[0].ReferenceOutput), "what it said is not what it should have said")
	assert.Contains(t, string(items[0].Input), "cancel my order")
	gate := done.Gate
	assert.Equal(t, `looptrace gate --name 'it'\''s refused' --metric 'it'\''s done'`, gate.Command)
	assert.Contains(t, gate.Python, `looptrace.evaluate("it's refused", task, graders=[json.loads("{\"name\":`)
	body, err := json.Marshal(gate.EvalRun)
	require.NoError(t, err)
	apitest.Must[contract.EvalRun](t, e.Do(t, http.MethodPost, "/v1/eval-runs", string(body), as), http.StatusCreated)

	again := apitest.Must[contract.FindingPromoted](t, e.Do(t, http.MethodPost, promote, strings.Replace(both, "it's", " it's", 1)+"}", as), http.StatusOK)
	assert.Equal(t, done.Finding, again.Finding)
	assert.Equal(t, 2, *again.Prompt.Version)
	assert.Equal(t, done.Dataset.Revision, again.Dataset.Revision)
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM prompt_versions"))
	assert.Equal(t, 8, e.Count(t, "SELECT count(*) FROM dataset_items"))

	e.CreatePrompt(t, as, project.Id, "another", "one")
	for body, location := range map[string]string{
		`{}`:                            "body",
		`{"prompt":{"name":"none"}}`:    "body.prompt",
		`{"prompt":{"name":"another"}}`: "body.prompt",
		`{"prompt":{}}`:                 "body.prompt",
		`{"dataset":{"name":"other"}}`:  "body.dataset",
		`{"dataset":{"id":"` + uuid.NewString() + `"}}`: "body.dataset.id",
	} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, promote, body, as), http.StatusUnprocessableEntity)
		require.NotNil(t, refused.Errors, body)
		assert.Equal(t, location, (*refused.Errors)[0].Location, body)
	}
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite, contract.ScopeReplaysRead, contract.ScopeDatasetsRead, contract.ScopeDatasetsWrite).Key)
	apitest.WantProblem(t, e.Do(t, http.MethodPost, promote, both+"}", key), http.StatusForbidden)
}

// TestPromoteNamesNothingForeign gives the same answer for what another tenant has and for what nobody has.
func TestPromoteNamesNothingForeign(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	_, fingerprint := group(t, e, as, address, project.Id, "book")
	promote := "/v1/findings/" + e.FillFinding(t, as, project.Id.String(), fingerprint) + "/_actions/promote"
	other := apitest.Cookie(e.AddMember(t, "bob@example.com", "owner", uuid.Nil))
	theirs := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, other), http.StatusOK).Projects[0].Id
	for member, id := range map[string]uuid.UUID{
		"prompt": e.CreatePrompt(t, other, theirs, "triage", "one").Id, "dataset": e.CreateDataset(t, other, theirs, "faq", "a").Id,
	} {
		body := func(id uuid.UUID) string { return fmt.Sprintf(`{%q:{"id":%q}}`, member, id) }
		got, want := e.Do(t, http.MethodPost, promote, body(id), as), e.Do(t, http.MethodPost, promote, body(uuid.New()), as)
		assert.Equal(t, http.StatusUnprocessableEntity, got.Code, got.Body)
		assert.Equal(t, apitest.WithoutRequestID(want), apitest.WithoutRequestID(got), member)
	}
	apitest.WantProblem(t, e.Do(t, http.MethodPost, promote, `{"dataset":{"name":"triage"}}`, as), http.StatusUnprocessableEntity)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM datasets"), "a refused promotion creates nothing")
}
