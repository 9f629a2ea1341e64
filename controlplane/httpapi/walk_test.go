package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

const walkTable = "testdata/walk.txt"

var roles = []access.Role{access.RoleOwner, access.RoleAdmin, access.RoleMember, access.RoleViewer}

// walker is a caller of the walk, named by its column.
type walker struct {
	name  string
	as    apitest.Option
	email string
}

// TestWalk sends every operation as every kind of caller and compares who was let in with a table: nobody, the owner of another
// organization, each role in the organization and in the workspace, and a key with each scope.
func TestWalk(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	mine := tenant{session: owner, project: project}
	ours, run := tenantRuns(project.Id, "ours")
	apitest.StoreSpans(t, address, ours...)
	fill(t, e, &mine, "ours", run)
	x := &existence{env: e, names: map[string]named{}}
	for name, thing := range mine.things {
		x.names[name] = named{mine: thing}
	}

	callers := []walker{{name: "nobody", as: func(*http.Request) {}}}
	add := func(name, email, session string) {
		callers = append(callers, walker{name, apitest.Cookie(session), email})
	}
	add("foreign", "foreign@example.com", e.AddMember(t, "foreign@example.com", "owner", uuid.Nil))
	for _, role := range roles {
		email := "organization-" + string(role) + "@example.com"
		add("o:"+string(role), email, e.AddMember(t, email, string(role), project.OrganizationId))
	}
	for _, role := range roles {
		email := "workspace-" + string(role) + "@example.com"
		add("w:"+string(role), email, e.AddWorkspaceMember(t, email, string(role), project.WorkspaceId))
	}
	for _, scope := range apikey.Scopes() {
		callers = append(callers, walker{name: scope, as: apitest.Bearer(e.Mint(t, owner, project.Id, contract.Scope(scope)).Key)})
	}

	models := provider.Start(t, provider.Options{})
	walked := e.Connect(t, apitest.Cookie(owner), project.Id, "openai", models, "")
	// What a caller deletes is made anew for each.
	fresh := map[string]func() string{
		"key_id": func() string { return e.Mint(t, owner, project.Id, contract.ScopeRunsRead).Id.String() },
		"price_id": func() string {
			return x.create(t, owner, "/prices", contract.PriceWrite{Model: "m" + uuid.NewString()})
		},
		"view_id": func() string {
			return x.create(t, owner, "/views", contract.ViewCreate{Page: contract.ViewPageRuns, Name: uuid.NewString()})
		},
		"prompt_id": func() string {
			id, name := uuid.New(), uuid.NewString()
			fillPrompt(t, e, owner, project.Id, id, name)
			x.names["alias"] = named{mine: name + "-alias"}
			return id.String()
		},
		"dataset_id": func() string {
			dataset, item, imported := fillDataset(t, e, owner, project.Id, uuid.NewString())
			x.names["item_id"], x.names["import_id"] = named{mine: item}, named{mine: imported}
			return dataset
		},
		"provider_id": func() string {
			return e.Connect(t, apitest.Cookie(owner), project.Id, "openai", models, "").Id.String()
		},
		"scenario_id": func() string {
			return createScenario(t, e, apitest.Cookie(owner), project.Id, uuid.NewString()).Id.String()
		},
		"comparison_id": func() string {
			comparison, evalRun, item := e.FillEvaluations(t, apitest.Cookie(owner), project.Id, walked.Id, uuid.NewString())
			x.names["eval_run_id"], x.names["dataset_item_id"] = named{mine: evalRun}, named{mine: item}
			return comparison
		},
		"eval_run_id": func() string {
			_, evalRun, item := e.FillEvaluations(t, apitest.Cookie(owner), project.Id, walked.Id, uuid.NewString())
			x.names["dataset_item_id"] = named{mine: item}
			return evalRun
		},
		"eval_rule_id": func() string { return fillRule(t, e, apitest.Cookie(owner), project.Id, uuid.NewString()) },
		"replay_id":    func() string { return e.FillReplay(t, apitest.Cookie(owner), mine.things["run_id"]) },
		"batch_id": func() string {
			return e.FillReplayBatch(t, apitest.Cookie(owner), mine.project.Id.String(), mine.things["run_id"])
		},
		"diagnosis_id": func() string {
			return e.FillDiagnosis(t, apitest.Cookie(owner), mine.project.Id.String(), walked.Id.String(), mine.things["fingerprint"])
		},
		"finding_id": func() string {
			return e.FillFinding(t, apitest.Cookie(owner), mine.project.Id.String(), mine.things["fingerprint"])
		},
		"member_id": func() string {
			email := uuid.NewString() + "@example.com"
			e.InsertUser(t, email)
			e.Exec(t, `INSERT INTO organization_members (organization_id, user_id, role) VALUES ($1, $2, 'viewer')`, project.OrganizationId, e.UserID(t, email))
			e.Exec(t, `INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ($1, $2, 'viewer')`, project.WorkspaceId, e.UserID(t, email))
			return e.UserID(t, email).String()
		},
		"invitation_id": func() string {
			w := e.Do(t, http.MethodPost, "/v1/invitations", contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: contract.RoleViewer}, apitest.Cookie(owner))
			return apitest.Must[contract.InvitationWithLink](t, w, http.StatusCreated).Id.String()
		},
		"score_id": func() string {
			w := e.Do(t, http.MethodPost, "/v1/runs/"+mine.things["run_id"]+"/scores", `{"comment":"good"}`, apitest.Cookie(owner))
			return apitest.Must[contract.Score](t, w, http.StatusCreated).Id.String()
		},
	}
	// A link that was used up: a caller who may use links gets 409.
	used := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations",
		contract.InvitationCreate{OrganizationId: &project.OrganizationId, Role: contract.RoleViewer}, apitest.Cookie(owner)), http.StatusCreated)
	_, token, _ := strings.Cut(used.Url, "#")
	apitest.Must[contract.Me](t, e.Do(t, http.MethodPost, "/v1/invitations/_actions/accept",
		contract.InvitationAccept{Token: token, Email: "joined@example.com", Password: apitest.Password}), http.StatusOK)

	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("Which callers each operation lets in: nobody without a credential, the owner of a foreign organization, the roles in the\n" +
		"organization (o:) and in the workspace (w:), and keys with one scope. Others get the status that is given.\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			operation := item.Operations()[method]
			// Public operations and MCP are open to all; logout ends the caller's session.
			if operation.Tags[0] == "ingest" || httpapi.IsPublic(operation) || path == "/mcp" || path == "/v1/logout" {
				continue
			}
			for _, target := range targetsOf(item, operation) {
				answers := map[string]string{}
				for i, caller := range callers {
					for name, create := range fresh {
						if name == "provider_id" || name == "scenario_id" || name == "eval_rule_id" { // a project has only so many
							if strings.Contains(path, "{"+name+"}") && (method == http.MethodDelete || i == 0) {
								x.names[name] = named{mine: create()}
							}
							continue
						}
						if (method != http.MethodGet || name == "prompt_id" || name == "dataset_id" || name == "replay_id" || name == "batch_id" || name == "diagnosis_id" || name == "finding_id") && strings.Contains(path, "{"+name+"}") || path == "/v1/runs/_actions/add-to-dataset" && name == "dataset_id" {
							x.names[name] = named{mine: create()}
						}
					}
					if strings.Contains(path, "{user_session_id}") && caller.email != "" {
						x.names["user_session_id"] = named{mine: sessionID(t, e, caller.email)}
					}
					answers[caller.name] = x.walk(t, caller, method, path, target, token, item, operation)
				}
				writeRow(&table, method+" "+path, target, operation, callers, answers)
			}
		}
	}
	t.Log(table.String())
	if apitest.Updating() {
		require.NoError(t, os.WriteFile(walkTable, []byte(table.String()), 0o644))
		return
	}
	want, err := os.ReadFile(walkTable)
	require.NoError(t, err)
	assert.Equal(t, string(want), table.String())
}

// targetsOf returns the names of the ways to name the target, if there is a choice.
func targetsOf(item *openapi3.PathItem, operation *openapi3.Operation) []string {
	if operation.RequestBody != nil {
		members := operation.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties
		if members["organization_id"] != nil && members["workspace_id"] != nil {
			return []string{"organization_id", "workspace_id"}
		}
	}
	parameters := slices.Concat(item.Parameters, operation.Parameters)
	if parameters.GetByInAndName(openapi3.ParameterInQuery, "organization_id") != nil && parameters.GetByInAndName(openapi3.ParameterInQuery, "workspace_id") != nil {
		return []string{"organization_id", "workspace_id"}
	}
	return []string{""}
}

// walk sends the operation and returns "yes" if the caller was let in, else the status.
func (x *existence) walk(
	t *testing.T, caller walker, method, path, target, usedToken string, item *openapi3.PathItem, operation *openapi3.Operation,
) string {
	t.Helper()
	at := map[string]string{}
	if target == "workspace_id" {
		at["query workspace_id"] = x.names["workspace_id"].mine
	}
	parameters := slices.Concat(item.Parameters, operation.Parameters)
	if method == http.MethodDelete {
		at["query confirm"] = "" // refused after authorization
	}
	r := x.base(t, method, path, parameters, operation, at)
	if at["query workspace_id"] == "" || parameters.GetByInAndName(openapi3.ParameterInQuery, "workspace_id") == nil {
		r.query.Del("workspace_id")
	}
	if parameters.GetByInAndName(openapi3.ParameterInQuery, "confirm") == nil {
		r.query.Del("confirm")
	}
	if body, ok := r.body.(map[string]any); ok {
		if target == "workspace_id" {
			delete(body, "organization_id")
			body["workspace_id"] = x.names["workspace_id"].mine
		}
		if path == "/v1/me/_actions/leave" { // refused by the operation itself
			body["organization_id"], body["workspace_id"] = x.names["organization_id"].mine, x.names["workspace_id"].mine
		}
		if body["name"] != nil && method == http.MethodPost {
			body["name"] = uuid.NewString()
		}
		if body["token"] != nil {
			body["token"] = usedToken
		}
		if body["run_ids"] != nil && operation.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["dry_run"] != nil {
			body["dry_run"] = true
		}
	}
	got := x.sendAs(t, r, caller.as)
	name := fmt.Sprintf("%s: %s %s %s: %s", caller.name, method, r.path, target, got.Body)
	switch got.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return fmt.Sprint(got.Status)
	case http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return "yes"
	default:
		assert.Less(t, got.Status, 300, name)
		return "yes"
	}
}

// writeRow writes who was let in, and the others by their status.
func writeRow(table *strings.Builder, operation, target string, spec *openapi3.Operation, callers []walker, answers map[string]string) {
	by := map[string][]string{}
	for _, caller := range callers {
		by[answers[caller.name]] = append(by[answers[caller.name]], caller.name)
	}
	if target != "" {
		operation += "  by " + target
	}
	for _, extension := range []string{"x-scope", "x-role", "x-user"} {
		if required, ok := spec.Extensions[extension]; ok {
			operation += fmt.Sprintf("  (%s: %v)", extension, required)
		}
	}
	fmt.Fprintf(table, "\n%s\n", operation)
	all := strings.Join(apikey.Scopes(), " ")
	for _, answer := range []string{"yes", "401", "403", "404"} {
		if len(by[answer]) > 0 {
			fmt.Fprintf(table, "  %s  %s\n", answer, strings.Replace(strings.Join(by[answer], " "), all, "all keys", 1))
		}
	}
}

// create makes something below the project and returns its id.
func (x *existence) create(t *testing.T, session, path string, body any) string {
	t.Helper()
	w := x.env.Do(t, http.MethodPost, "/v1/projects/"+x.names["project_id"].mine+path, body, apitest.Cookie(session))
	return apitest.Must[struct {
		ID string `json:"id"`
	}](t, w, http.StatusCreated).ID
}

// sessionID makes a session of the user and returns its id.
func sessionID(t *testing.T, e *apitest.Env, email string) (id string) {
	t.Helper()
	require.NoError(t, e.DB.QueryRow(t.Context(), `INSERT INTO sessions (token_sha256, user_id, expires_at)
		VALUES (sha256(uuidv7()::text::bytea), $1, now() + interval '1 day') RETURNING id::text`, e.UserID(t, email)).Scan(&id))
	return id
}
