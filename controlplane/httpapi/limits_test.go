package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestProjectLimits(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/projects/" + project.Id.String() + "/limits"
	read := func(as apitest.Option) contract.ProjectLimits {
		t.Helper()
		return apitest.Must[contract.ProjectLimits](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	}
	assert.JSONEq(t, `{}`, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(owner)).Body.String())

	const set = `{"key":{"requests":{"rate":0}},"project":{"bytes":{"rate":1000000},"spans":{"rate":0.5,"burst":1000000000000}}}`
	w := e.Do(t, http.MethodPut, path, set, apitest.Cookie(owner))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.JSONEq(t, set, w.Body.String())
	assert.JSONEq(t, set, e.Do(t, http.MethodGet, path, nil, apitest.Cookie(owner)).Body.String())

	// What is stored is what ingest reads, by its names.
	var stored map[string]float64
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT limits FROM projects WHERE id = $1", project.Id).Scan(&stored))
	assert.Equal(t, map[string]float64{
		"key_requests_per_second": 0, "project_bytes_per_second": 1e6, "project_spans_per_second": 0.5, "project_spans_burst": 1e12,
	}, stored)

	// Who sees the project sees them; who administers it sets them.
	var organization uuid.UUID
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT id FROM organizations").Scan(&organization))
	member := apitest.Cookie(e.AddMember(t, "bob@example.com", "member", organization))
	reader := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeRunsRead).Key)
	for _, who := range []apitest.Option{member, reader} {
		assert.NotNil(t, read(who).Project)
		assert.Equal(t, "scope_missing", apitest.WantProblem(t, e.Do(t, http.MethodPut, path, "{}", who), http.StatusForbidden).Code)
	}
	admin := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeAdmin).Key)
	require.Equal(t, http.StatusOK, e.Do(t, http.MethodPut, path, "{}", admin).Code)
	assert.Equal(t, contract.ProjectLimits{}, read(member), "all of them are replaced")
}
