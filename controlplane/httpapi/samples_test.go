package httpapi

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

// TestSamplesWithoutIngest: nothing is left if ingest does not accept the runs. TestDemo loads them where it does.
func TestSamplesWithoutIngest(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	body := contract.SamplesLoad{WorkspaceId: project.WorkspaceId}
	assert.Equal(t, problem.CodeDependency, codeOf(t, e.do(t, http.MethodPost, "/v1/samples", body, cookie(session)), http.StatusServiceUnavailable))
	for _, table := range []string{"prompts", "datasets", "evaluations", "api_keys"} {
		assert.Zero(t, e.count(t, "SELECT count(*) FROM "+table), table)
	}
	assert.Equal(t, 1, e.count(t, "SELECT count(*) FROM projects"))
}

func TestSamplesAreRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	session, project := e.setUp(t)
	load := func(as option, workspace uuid.UUID) (code string, status int) {
		w := e.do(t, http.MethodPost, "/v1/samples", contract.SamplesLoad{WorkspaceId: workspace}, as)
		return codeOf(t, w, w.Code), w.Code
	}
	check := func(wantCode string, wantStatus int, as option, workspace uuid.UUID) {
		t.Helper()
		code, status := load(as, workspace)
		assert.Equal(t, wantCode, code)
		assert.Equal(t, wantStatus, status)
	}
	check("scope_missing", http.StatusForbidden, cookie(e.addMember(t, "member@example.com", "member", project.OrganizationId)), project.WorkspaceId)
	check("scope_missing", http.StatusForbidden, bearer(e.mint(t, session, project.Id, contract.ScopeAdmin).Key), project.WorkspaceId)
	check("not_found", http.StatusNotFound, cookie(session), uuid.New())

	e.createProject(t, session, project.WorkspaceId, "Samples")
	check("name_taken", http.StatusConflict, cookie(session), project.WorkspaceId)
	e.exec(t, "UPDATE projects SET sample = true WHERE name = 'Samples'")
	check("samples_exist", http.StatusConflict, cookie(session), project.WorkspaceId)
	e.exec(t, "UPDATE projects SET name = 'Tour' WHERE sample")
	check("samples_exist", http.StatusConflict, cookie(session), project.WorkspaceId)

	me := must[contract.Me](t, e.do(t, http.MethodGet, "/v1/me", nil, cookie(session)), http.StatusOK)
	marked := map[string]bool{}
	for _, one := range me.Projects {
		marked[one.Name] = one.Sample
	}
	assert.Equal(t, map[string]bool{"Default": false, "Tour": true}, marked)
}
