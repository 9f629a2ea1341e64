package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestSavedViews(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/projects/" + project.Id.String() + "/views"
	list := func(as apitest.Option) []contract.View {
		t.Helper()
		return apitest.Must[contract.ViewList](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK).Data
	}
	assert.Empty(t, list(apitest.Cookie(owner)))

	// What one makes, everybody in the project sees; viewers change nothing.
	member := apitest.Cookie(e.AddMember(t, "mia@example.com", "member", project.OrganizationId))
	viewer := apitest.Cookie(e.AddMember(t, "vic@example.com", "viewer", project.OrganizationId))
	w := e.Do(t, http.MethodPost, path, `{"page":"runs","name":" Slow failures ","query":"status=error&min_duration_ms=5000&status=cancelled"}`, member)
	slow := apitest.Must[contract.View](t, w, http.StatusCreated)
	assert.Equal(t, path+"/"+slow.Id.String(), w.Header().Get("Location"))
	assert.Equal(t, "Slow failures", slow.Name)
	assert.Equal(t, "min_duration_ms=5000&status=error&status=cancelled", slow.Query)
	require.NotNil(t, slow.CreatedBy)
	assert.Equal(t, "mia@example.com", *slow.CreatedBy)
	byKey := apitest.Must[contract.View](t, e.Do(t, http.MethodPost, path, contract.ViewCreate{Page: contract.ViewPageDashboards, Name: "slow failures"},
		apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeRunsWrite).Key)), http.StatusCreated)
	assert.Nil(t, byKey.CreatedBy)
	assert.Equal(t, []contract.View{byKey, slow}, list(viewer), "by page and name")
	one := path + "/" + slow.Id.String()
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, path, contract.ViewCreate{Page: contract.ViewPageRuns, Name: "x"}},
		{http.MethodPatch, one, `{"name":"x"}`},
		{http.MethodDelete, one, nil},
	} {
		assert.Equal(t, http.StatusForbidden, e.Do(t, r.method, r.path, r.body, viewer).Code, r.method)
	}
	assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodGet, path, nil, apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeIngestWrite).Key)).Code)

	// A page has one view of a name.
	assert.Equal(t, problem.CodeNameTaken, apitest.WantProblem(t, e.Do(t, http.MethodPost, path, contract.ViewCreate{Page: contract.ViewPageRuns, Name: "SLOW failures"}, member), http.StatusConflict).Code)
	other := apitest.Must[contract.View](t, e.Do(t, http.MethodPost, path, contract.ViewCreate{Page: contract.ViewPageRuns, Name: "Other"}, member), http.StatusCreated)
	assert.Equal(t, problem.CodeNameTaken, apitest.WantProblem(t, e.Do(t, http.MethodPatch, path+"/"+other.Id.String(), `{"name":"Slow failures"}`, member), http.StatusConflict).Code)

	// One thing changes, the other stays.
	renamed := apitest.Must[contract.View](t, e.Do(t, http.MethodPatch, one, `{"name":"Slow"}`, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, slow.Query, renamed.Query)
	assert.Equal(t, slow.CreatedBy, renamed.CreatedBy)
	moved := apitest.Must[contract.View](t, e.Do(t, http.MethodPatch, one, `{"query":"kind=llm"}`, apitest.Cookie(owner)), http.StatusOK)
	assert.Equal(t, "Slow kind=llm", moved.Name+" "+moved.Query)

	assert.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, one, nil, member).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodDelete, one, nil, member).Code)
	assert.Equal(t, http.StatusNotFound, e.Do(t, http.MethodPatch, one, `{"name":"x"}`, member).Code)
	assert.Equal(t, []contract.View{byKey, other}, list(viewer))
}

func TestSavedViewsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/projects/" + project.Id.String() + "/views"
	for body, want := range map[string][]string{
		`{}`:                                     {"body.name", "body.page", "body.query"},
		`{"page":"keys","name":"x","query":""}`:  {"body.page"},
		`{"page":"runs","name":"  ","query":""}`: {"body.name"},
		`{"page":"runs","name":"` + strings.Repeat("x", 101) + `","query":""}`:      {"body.name"},
		`{"page":"runs","name":"a\u0007b","query":"a=%zz"}`:                         {"body.name", "body.query"},
		`{"page":"runs","name":"x","query":"` + strings.Repeat("x", 8001) + `"}`:    {"body.query"},
		`{"page":"runs","name":"x","query":"` + strings.Repeat("ü&", 4000) + `"}`:   {"body.query"}, // longer once it is escaped
		`{"page":"runs","name":"x","query":"","created_by":"somebody@example.com"}`: {"body.created_by"},
	} {
		assert.Equal(t, want, apitest.Locations(t, e.Do(t, http.MethodPost, path, body, apitest.Cookie(owner))), body)
	}
	_, err := e.DB.Exec(t.Context(), `INSERT INTO saved_views (project_id, page, name, query)
		SELECT $1, 'runs', 'view ' || n, '' FROM generate_series(1, 200) AS n`, project.Id)
	require.NoError(t, err)
	assert.Equal(t, []string{"body.name"}, apitest.Locations(t, e.Do(t, http.MethodPost, path, contract.ViewCreate{Page: contract.ViewPageRuns, Name: "one more"}, apitest.Cookie(owner))))
}
