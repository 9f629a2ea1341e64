package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// TestOtherTenantsSeeNothing takes every route that names something from the router, and asks as others for
// what is one tenant's: the answer is the one for an id that does not exist.
func TestOtherTenantsSeeNothing(t *testing.T) {
	t.Parallel()
	url := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), url)
	owner, project := e.SetUp(t)
	key := e.Mint(t, owner, project.Id, contract.ScopeRunsRead)
	run := apitest.StoreRun(t, url, project.Id)
	fingerprint := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String(), nil, apitest.Cookie(owner)), http.StatusOK).Failure.Fingerprint

	sibling := e.CreateProject(t, owner, project.WorkspaceId, "Sibling")
	others := map[string]apitest.Option{
		"another tenant":                 apitest.Cookie(e.AddMember(t, "bob@example.com", "owner", uuid.Nil)),
		"key of another project (admin)": apitest.Bearer(e.Mint(t, owner, sibling.Id, contract.ScopeAdmin).Key),
	}
	price := apitest.Must[contract.Price](t, e.Do(t, http.MethodPost, "/v1/projects/"+project.Id.String()+"/prices",
		contract.PriceWrite{Model: "m", Input: 1, Output: 2}, apitest.Cookie(owner)), http.StatusCreated)
	view := apitest.Must[contract.View](t, e.Do(t, http.MethodPost, "/v1/projects/"+project.Id.String()+"/views",
		contract.ViewCreate{Page: contract.ViewPageRuns, Name: "mine"}, apitest.Cookie(owner)), http.StatusCreated)
	score := apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, "/v1/runs/"+run.String()+"/scores", `{"comment":"good"}`, apitest.Cookie(owner)), http.StatusCreated)
	e.AddMember(t, "carol@example.com", "viewer", project.OrganizationId)
	member := e.UserID(t, "carol@example.com").String()
	invitation := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations",
		contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: contract.RoleViewer}, apitest.Cookie(owner)), http.StatusCreated)
	require.Equal(t, http.StatusOK, e.Login(t, apitest.Password).Code)
	sessions := apitest.Must[contract.SessionList](t, e.Do(t, http.MethodGet, "/v1/me/sessions", nil, apitest.Cookie(owner)), http.StatusOK)
	require.Len(t, sessions.Data, 2)
	second := sessions.Data[0]
	if second.Current {
		second = sessions.Data[1]
	}
	prompt := e.CreatePrompt(t, apitest.Cookie(owner), project.Id, "triage", "one", "two")
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, "/v1/prompts/"+prompt.Id.String()+"/aliases", `{"alias":"production","version":1}`, apitest.Cookie(owner)), http.StatusCreated)
	dataset := e.CreateDataset(t, apitest.Cookie(owner), project.Id, "faq", "a", "b")
	items := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String()+"/items", nil, apitest.Cookie(owner)), http.StatusOK)
	imported := e.SendFile(t, apitest.Cookie(owner), dataset.Id, "", apitest.TypeCSV, "input\n1\n")
	e.CheckNearDuplicates(t, apitest.Cookie(owner), dataset.Id, "{}", http.StatusAccepted)
	connection := e.Connect(t, apitest.Cookie(owner), project.Id, "openai", provider.Start(t, provider.Options{}), "")
	comparison, evalRun, evaluated := e.FillEvaluations(t, apitest.Cookie(owner), project.Id, connection.Id, "theirs")
	theirs := map[string]string{
		"comparison_id": comparison, "eval_run_id": evalRun, "dataset_item_id": evaluated, "eval_rule_id": fillRule(t, e, apitest.Cookie(owner), project.Id, "theirs"), "replay_id": e.FillReplay(t, apitest.Cookie(owner), run.String()),
		"batch_id": e.FillReplayBatch(t, apitest.Cookie(owner), project.Id.String(), run.String()), "diagnosis_id": e.FillDiagnosis(t, apitest.Cookie(owner), project.Id.String(), connection.Id.String(), fingerprint),
		"finding_id":  e.FillFinding(t, apitest.Cookie(owner), project.Id.String(), fingerprint),
		"provider_id": connection.Id.String(), "scenario_id": createScenario(t, e, apitest.Cookie(owner), project.Id, "mine").Id.String(),
		"import_id": imported.Id.String(), "dataset_id": dataset.Id.String(), "item_id": items.Data[0].Id.String(), "revision": "0", "other_revision": "1",
		"prompt_id": prompt.Id.String(), "version": "1", "other_version": "2", "alias": "production",
		"organization_id": project.OrganizationId.String(), "workspace_id": project.WorkspaceId.String(), "member_id": member,
		"invitation_id": invitation.Id.String(), "user_session_id": second.Id.String(),
		"project_id": project.Id.String(), "key_id": key.Id.String(),
		"run_id": run.String(), "other_run_id": run.String(), "fingerprint": fingerprint, "span_id": apitest.RootSpan, "price_id": price.Id.String(),
		"view_id": view.Id.String(), "score_id": score.Id.String(), "session_id": "s1",
	}
	unknown := map[string]string{
		"comparison_id": apitest.NoSuchID, "eval_run_id": apitest.NoSuchID, "dataset_item_id": apitest.NoSuchID, "eval_rule_id": apitest.NoSuchID, "replay_id": apitest.NoSuchID, "batch_id": apitest.NoSuchID, "diagnosis_id": apitest.NoSuchID, "finding_id": apitest.NoSuchID,
		"provider_id": apitest.NoSuchID, "scenario_id": apitest.NoSuchID,
		"import_id": apitest.NoSuchID, "dataset_id": apitest.NoSuchID, "item_id": apitest.NoSuchID, "revision": "0", "other_revision": "1",
		"prompt_id": apitest.NoSuchID, "version": "1", "other_version": "2", "alias": "production",
		"organization_id": apitest.NoSuchID, "workspace_id": apitest.NoSuchID, "member_id": apitest.NoSuchID, "invitation_id": apitest.NoSuchID, "user_session_id": apitest.NoSuchID,
		"project_id": apitest.NoSuchID, "key_id": apitest.NoSuchID,
		"run_id": apitest.NoSuchID, "other_run_id": apitest.NoSuchID, "fingerprint": "fp:v2:0000000000000000", "span_id": "00000000000000ff", "price_id": apitest.NoSuchID,
		"view_id": apitest.NoSuchID, "score_id": apitest.NoSuchID, "session_id": "none",
	}
	inOrganization := func(ids map[string]string) any { return map[string]string{"organization_id": ids["organization_id"]} }
	rename := func(map[string]string) any { return map[string]string{"name": "mine"} }
	bodies := map[string]func(ids map[string]string) any{
		"PATCH /v1/organizations/:organization_id": rename,
		"PATCH /v1/workspaces/:workspace_id":       rename,
		"PUT /v1/members/:member_id": func(ids map[string]string) any {
			return map[string]string{"organization_id": ids["organization_id"], "role": "member"}
		},
		"POST /v1/members/:member_id/_actions/deactivate":     inOrganization,
		"POST /v1/members/:member_id/_actions/reactivate":     inOrganization,
		"POST /v1/members/:member_id/_actions/reset-password": inOrganization,
		"PATCH /v1/projects/:project_id":                      rename,
		"PUT /v1/projects/:project_id/limits":                 func(map[string]string) any { return "{}" },
		"PUT /v1/projects/:project_id/signals":                func(map[string]string) any { return `{"off":[]}` },
		"PUT /v1/projects/:project_id/failed-scores":          func(map[string]string) any { return `{"scores":[]}` },
		"POST /v1/projects/:project_id/prices":                func(map[string]string) any { return contract.PriceWrite{Model: "other"} },
		"PUT /v1/projects/:project_id/prices/:price_id":       func(map[string]string) any { return contract.PriceWrite{Model: "mine"} },
		"POST /v1/projects/:project_id/views": func(map[string]string) any {
			return contract.ViewCreate{Page: contract.ViewPageRuns, Name: "theirs", Query: "status=error"}
		},
		"PATCH /v1/projects/:project_id/views/:view_id":                   func(map[string]string) any { return map[string]string{"name": "stolen"} },
		"POST /v1/datasets/:dataset_id/imports":                           func(map[string]string) any { return `[{"input":1}]` },
		"POST /v1/datasets/:dataset_id/imports/_actions/preview":          func(map[string]string) any { return `[{"input":1}]` },
		"POST /v1/datasets/:dataset_id/near-duplicates/_actions/check":    func(map[string]string) any { return "{}" },
		"PATCH /v1/providers/:provider_id":                                func(map[string]string) any { return `{"max_concurrency":2}` },
		"POST /v1/providers/:provider_id/_actions/test":                   func(map[string]string) any { return `{"model":"text"}` },
		"PATCH /v1/playground/scenarios/:scenario_id":                     func(map[string]string) any { return `{"content":{"messages":[]}}` },
		"PATCH /v1/comparisons/:comparison_id":                            rename,
		"POST /v1/comparisons/:comparison_id/_actions/resume":             func(map[string]string) any { return "{}" },
		"PATCH /v1/eval-rules/:eval_rule_id":                              rename,
		"POST /v1/eval-rules/:eval_rule_id/_actions/resume":               func(map[string]string) any { return "{}" },
		"PATCH /v1/eval-runs/:eval_run_id":                                rename,
		"POST /v1/eval-runs/:eval_run_id/_actions/resume":                 func(map[string]string) any { return "{}" },
		"PUT /v1/agent/failed-runs/:fingerprint/state":                    func(map[string]string) any { return `{"state":"muted"}` },
		"PUT /v1/eval-runs/:eval_run_id/items/:dataset_item_id/label":     func(map[string]string) any { return apitest.RightLabel },
		"PUT /v1/comparisons/:comparison_id/items/:dataset_item_id/label": func(map[string]string) any { return apitest.RightSideLabel },
		"POST /v1/eval-runs/:eval_run_id/results": func(ids map[string]string) any {
			return `{"items":[{"item_id":"` + ids["dataset_item_id"] + `","repeat":1,"output":1}]}`
		},
		"POST /v1/replays":               func(ids map[string]string) any { return apitest.ReplayBody(ids["run_id"], "") },
		"PATCH /v1/replays/:replay_id":   rename,
		"POST /v1/replay-batches":        func(ids map[string]string) any { return apitest.ReplayBatchBody(ids["project_id"], ids["run_id"], "") },
		"POST /v1/findings":              func(ids map[string]string) any { return apitest.FindingBody(ids["project_id"], ids["fingerprint"]) },
		"PATCH /v1/findings/:finding_id": func(map[string]string) any { return `{"status":"confirmed"}` },
		"POST /v1/findings/:finding_id/_actions/promote": func(ids map[string]string) any {
			return map[string]any{"prompt": map[string]string{"id": ids["prompt_id"]}}
		},
		"POST /v1/diagnoses": func(ids map[string]string) any {
			return apitest.DiagnosisBody(ids["project_id"], ids["provider_id"], ids["fingerprint"], "")
		},
		"PATCH /v1/replay-batches/:batch_id":                   rename,
		"POST /v1/replay-batches/:batch_id/_actions/extend":    func(map[string]string) any { return `{"controls":1}` },
		"POST /v1/replays/:replay_id/_actions/extend":          func(map[string]string) any { return `{"controls":1}` },
		"PATCH /v1/datasets/:dataset_id":                       func(map[string]string) any { return `{"description":"mine"}` },
		"POST /v1/datasets/:dataset_id/items":                  func(map[string]string) any { return `{"input":1}` },
		"PATCH /v1/datasets/:dataset_id/items/:item_id":        func(map[string]string) any { return `{"input":2}` },
		"PATCH /v1/prompts/:prompt_id":                         func(map[string]string) any { return `{"description":"mine"}` },
		"POST /v1/prompts/:prompt_id/versions":                 func(map[string]string) any { return apitest.PromptVersion("mine") },
		"POST /v1/prompts/:prompt_id/versions/:version/render": func(map[string]string) any { return "{}" },
		"POST /v1/prompts/:prompt_id/aliases":                  func(map[string]string) any { return `{"alias":"production","version":2}` },
		"PATCH /v1/prompts/:prompt_id/aliases/:alias":          func(map[string]string) any { return `{"protected":false}` },
		"POST /v1/runs/:run_id/scores":                         func(map[string]string) any { return `{"name":"good","value":true}` },
		"POST /v1/runs/_actions/add-to-dataset": func(ids map[string]string) any {
			return map[string]any{"dataset_id": ids["dataset_id"], "run_ids": []string{ids["run_id"]}}
		},
		"POST /v1/keys": func(ids map[string]string) any {
			return contract.KeyCreate{ProjectId: uuid.MustParse(ids["project_id"]), Name: "mine", Scopes: []contract.Scope{contract.ScopeRunsRead}}
		},
	}
	parameter := regexp.MustCompile(`:(\w+)`)
	ofTenant := regexp.MustCompile(`:(organization|workspace|member|invitation|user_session)_id`)
	fill := func(path string, ids map[string]string) string {
		return parameter.ReplaceAllStringFunc(path, func(name string) string {
			id, ok := ids[name[1:]]
			require.True(t, ok, "the test has no id for %s", name)
			return id
		})
	}
	type request struct{ method, route, query string }
	queries := map[string]string{
		"DELETE /v1/members/:member_id":                                      "?organization_id=:organization_id",
		"GET /v1/members/:member_id/keys":                                    "?organization_id=:organization_id",
		"DELETE /v1/eval-runs/:eval_run_id/items/:dataset_item_id/label":     "?panel=right&repeat=1",
		"DELETE /v1/comparisons/:comparison_id/items/:dataset_item_id/label": "?panel=right&side=a&repeat=1",
		"PUT /v1/agent/failed-runs/:fingerprint/state":                       "?project_id=:project_id",
		"GET /v1/agent/failed-runs/:fingerprint/candidates":                  "?project_id=:project_id",
		"DELETE /v1/projects/:project_id":                                    "?confirm=mine",
		"DELETE /v1/workspaces/:workspace_id":                                "?confirm=mine",
		"DELETE /v1/organizations/:organization_id":                          "?confirm=mine",
	}
	var requests []request
	for _, route := range e.API.Routes() {
		if strings.HasPrefix(route.Path, "/v1/runs/fields") {
			continue // with the project it asks for, below
		}
		if query, ok := queries[route.Method+" "+route.Path]; ok {
			requests = append(requests, request{route.Method, route.Path, query})
			continue
		}
		if strings.Contains(route.Path, ":") && route.Path != "/v1/threads/:session_id" && route.Path != "/v1/agent/failed-runs/:fingerprint" { // below, with the project that it needs
			requests = append(requests, request{method: route.Method, route: route.Path})
		}
	}
	require.NotEmpty(t, requests)
	requests = append(requests,
		request{http.MethodGet, "/v1/runs", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/runs/stats", "?project_id=:project_id&group_by=name"},
		request{http.MethodGet, "/v1/runs/fields", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/runs/fields/name/values", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/runs/:run_id", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/threads", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/runs/export", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/agents", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/agents/releases", "?project_id=:project_id&agent=helper"},
		request{http.MethodGet, "/v1/threads/:session_id", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/agent/failed-runs", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/agent/failed-runs/:fingerprint", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/runs/:run_id/spans", "?full=true"},
		request{http.MethodPost, "/v1/runs/:run_id/scores", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/datasets", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/prompts", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/prompts/resolve", "?project_id=:project_id&name=triage"},
		request{http.MethodGet, "/v1/members", "?organization_id=:organization_id"},
		request{http.MethodGet, "/v1/members", "?workspace_id=:workspace_id"},
		request{http.MethodGet, "/v1/invitations", "?organization_id=:organization_id"},
		request{http.MethodGet, "/v1/workspaces", "?organization_id=:organization_id"},
		request{http.MethodGet, "/v1/keys", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/providers", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/spending", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/playground/scenarios", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/comparisons", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/eval-rules", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/eval-runs", "?project_id=:project_id"},
		request{http.MethodGet, "/v1/replays", "?project_id=:project_id"},
		request{http.MethodPost, "/v1/replays", ""},
		request{http.MethodGet, "/v1/findings", "?project_id=:project_id"},
		request{http.MethodPost, "/v1/findings", ""},
		request{http.MethodGet, "/v1/replay-batches", "?project_id=:project_id"},
		request{http.MethodPost, "/v1/replay-batches", ""},
		request{http.MethodGet, "/v1/diagnoses", "?project_id=:project_id"},
		request{http.MethodPost, "/v1/diagnoses", ""},
		request{http.MethodPost, "/v1/runs/_actions/add-to-dataset", ""},
		request{http.MethodPost, "/v1/keys", ""},
	)
	ask := func(r request, ids map[string]string, as apitest.Option) *httptest.ResponseRecorder {
		var body any
		if bodyOf := bodies[r.method+" "+r.route]; bodyOf != nil {
			body = bodyOf(ids)
		}
		return e.Do(t, r.method, fill(r.route+r.query, ids), body, as)
	}
	for _, r := range requests {
		for who, as := range others {
			if strings.HasPrefix(who, "key") && !strings.Contains(r.route+r.query, "project_id") && ofTenant.MatchString(r.route+r.query) {
				continue // the key belongs to the organization, too
			}
			got, want := ask(r, theirs, as), ask(r, unknown, as)
			name := who + ": " + r.method + " " + r.route + r.query
			assert.Equal(t, http.StatusNotFound, got.Code, "%s: %s", name, got.Body)
			assert.Equal(t, apitest.WithoutRequestID(want), apitest.WithoutRequestID(got), name)
			assert.Equal(t, headersOf(want), headersOf(got), name)
		}
	}
	// The same requests succeed for the owner, those that change something last, and those that delete much at the very end.
	much := func(r request) int {
		return slices.Index([]string{"/v1/replays/:replay_id/_actions/cancel", "/v1/replay-batches/:batch_id/_actions/cancel", "/v1/diagnoses/:diagnosis_id/_actions/cancel", "/v1/comparisons/:comparison_id/_actions/cancel", "/v1/comparisons/:comparison_id", "/v1/eval-runs/:eval_run_id/_actions/finish", "/v1/eval-runs/:eval_run_id/_actions/cancel", "/v1/eval-runs/:eval_run_id", "/v1/datasets/:dataset_id", "/v1/prompts/:prompt_id", "/v1/projects/:project_id", "/v1/workspaces/:workspace_id", "/v1/organizations/:organization_id"}, r.route)
	}
	slices.SortStableFunc(requests, func(a, b request) int { return much(a) - much(b) })
	refused := map[string]string{ // it waits for results from outside
		"/v1/eval-runs/:eval_run_id/_actions/resume": "evaluation_running", "/v1/eval-runs/:eval_run_id/_actions/rerun": "target_external",
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete} {
		for _, r := range requests {
			if r.method == method {
				w := ask(r, theirs, apitest.Cookie(owner))
				if code := refused[r.route]; code != "" {
					assert.Equal(t, code, apitest.WantProblem(t, w, http.StatusConflict).Code, r.route)
					continue
				}
				assert.Less(t, w.Code, 300, "%s %s%s: %s", r.method, r.route, r.query, w.Body)
			}
		}
	}
	lists := apitest.Must[contract.ProjectPage](t, e.Do(t, http.MethodGet, "/v1/projects", nil, others["another tenant"]), http.StatusOK)
	require.Len(t, lists.Data, 1)
	assert.Equal(t, "Other", lists.Data[0].Name)
}

func headersOf(w *httptest.ResponseRecorder) string {
	h := w.Header().Clone()
	h.Del("X-Request-Id")
	var b bytes.Buffer
	_ = h.Write(&b) // a buffer takes everything
	return b.String()
}
