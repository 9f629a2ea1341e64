package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

// TestSamplesWithoutIngest: nothing is left if ingest does not accept the runs. TestDemo loads them where it does.
func TestSamplesWithoutIngest(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	body := contract.SamplesLoad{WorkspaceId: project.WorkspaceId}
	assert.Equal(t, problem.CodeDependency, apitest.CodeOf(t, e.Do(t, http.MethodPost, "/v1/samples", body, apitest.Cookie(session)), http.StatusServiceUnavailable))
	for _, table := range []string{"prompts", "datasets", "evaluations", "api_keys"} {
		assert.Zero(t, e.Count(t, "SELECT count(*) FROM "+table), table)
	}
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM projects"))
}

func TestSamplesAreRefused(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	load := func(as apitest.Option, workspace uuid.UUID) (code string, status int) {
		w := e.Do(t, http.MethodPost, "/v1/samples", contract.SamplesLoad{WorkspaceId: workspace}, as)
		return apitest.CodeOf(t, w, w.Code), w.Code
	}
	check := func(wantCode string, wantStatus int, as apitest.Option, workspace uuid.UUID) {
		t.Helper()
		code, status := load(as, workspace)
		assert.Equal(t, wantCode, code)
		assert.Equal(t, wantStatus, status)
	}
	check("scope_missing", http.StatusForbidden, apitest.Cookie(e.AddMember(t, "member@example.com", "member", project.OrganizationId)), project.WorkspaceId)
	check("scope_missing", http.StatusForbidden, apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeAdmin).Key), project.WorkspaceId)
	check("not_found", http.StatusNotFound, apitest.Cookie(session), uuid.New())

	e.CreateProject(t, session, project.WorkspaceId, "Samples")
	check("name_taken", http.StatusConflict, apitest.Cookie(session), project.WorkspaceId)
	e.Exec(t, "UPDATE projects SET sample = true WHERE name = 'Samples'")
	check("samples_exist", http.StatusConflict, apitest.Cookie(session), project.WorkspaceId)
	e.Exec(t, "UPDATE projects SET name = 'Tour' WHERE sample")
	check("samples_exist", http.StatusConflict, apitest.Cookie(session), project.WorkspaceId)

	me := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)), http.StatusOK)
	marked := map[string]bool{}
	for _, one := range me.Projects {
		marked[one.Name] = one.Sample
	}
	assert.Equal(t, map[string]bool{"Default": false, "Tour": true}, marked)
}
