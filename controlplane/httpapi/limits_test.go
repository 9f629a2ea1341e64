package httpapi

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestProjectLimits(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, project := e.setUp(t)
	path := "/v1/projects/" + project.Id.String() + "/limits"
	read := func(as option) contract.ProjectLimits {
		t.Helper()
		return must[contract.ProjectLimits](t, e.do(t, http.MethodGet, path, nil, as), http.StatusOK)
	}
	assert.JSONEq(t, `{}`, e.do(t, http.MethodGet, path, nil, cookie(owner)).Body.String())

	const set = `{"key":{"requests":{"rate":0}},"project":{"bytes":{"rate":1000000},"spans":{"rate":0.5,"burst":1000000000000}}}`
	w := e.do(t, http.MethodPut, path, set, cookie(owner))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.JSONEq(t, set, w.Body.String())
	assert.JSONEq(t, set, e.do(t, http.MethodGet, path, nil, cookie(owner)).Body.String())

	// What is stored is what ingest reads, by its names.
	var stored map[string]float64
	require.NoError(t, e.db.QueryRow(t.Context(), "SELECT limits FROM projects WHERE id = $1", project.Id).Scan(&stored))
	assert.Equal(t, map[string]float64{
		"key_requests_per_second": 0, "project_bytes_per_second": 1e6, "project_spans_per_second": 0.5, "project_spans_burst": 1e12,
	}, stored)

	// Who sees the project sees them; who administers it sets them.
	var organization uuid.UUID
	require.NoError(t, e.db.QueryRow(t.Context(), "SELECT id FROM organizations").Scan(&organization))
	member := cookie(e.addMember(t, "bob@example.com", "member", organization))
	reader := bearer(e.mint(t, owner, project.Id, contract.ScopeRunsRead).Key)
	for _, who := range []option{member, reader} {
		assert.NotNil(t, read(who).Project)
		assert.Equal(t, "scope_missing", wantProblem(t, e.do(t, http.MethodPut, path, "{}", who), http.StatusForbidden).Code)
	}
	admin := bearer(e.mint(t, owner, project.Id, contract.ScopeAdmin).Key)
	require.Equal(t, http.StatusOK, e.do(t, http.MethodPut, path, "{}", admin).Code)
	assert.Equal(t, contract.ProjectLimits{}, read(member), "all of them are replaced")
}
