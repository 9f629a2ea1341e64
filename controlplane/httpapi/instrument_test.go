package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
)

func TestInstrumentGuide(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, engines.Postgres(t), apitest.AbsentClickHouse)
	session, project := e.SetUp(t)
	path := "/v1/agent/instrument-guide?project_id=" + project.Id.String()
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeIngestWrite).Key)
	throughWeb := func(host, proto string) apitest.Option {
		return func(r *http.Request) {
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("X-Forwarded-Host", host)
			r.Header.Set("X-Forwarded-Proto", proto)
		}
	}

	all := apitest.Must[contract.InstrumentGuide](t, e.Do(t, http.MethodGet, path, nil, key), http.StatusOK)
	assert.Equal(t, "http://127.0.0.1:7090", all.Endpoint)
	assert.Nil(t, all.Recipe)
	assert.Greater(t, len(all.Frameworks), 20)
	var steps []string
	for _, step := range all.Steps {
		steps = append(steps, step.Id)
	}
	assert.Equal(t, []string{"key", "environment", "detect", "send", "check"}, steps)

	one := apitest.Must[contract.InstrumentGuide](t, e.Do(t, http.MethodGet, path+"&framework=strands-agents", nil, key, throughWeb("looptrace.example.com", "https")), http.StatusOK)
	require.NotNil(t, one.Recipe)
	assert.Equal(t, "strands", one.Recipe.Id)
	assert.Equal(t, "https://looptrace.example.com", one.Endpoint)
	assert.Contains(t, one.SelfTest.Send, "https://looptrace.example.com/v1/runs ")
	assert.Contains(t, one.SelfTest.Check, one.SelfTest.RunId.String())
	assert.Contains(t, one.Environment, contract.EnvironmentVariable{Name: "LOOPTRACE_ENDPOINT", Value: "https://looptrace.example.com"})

	odd := apitest.Must[contract.InstrumentGuide](t, e.Do(t, http.MethodGet, path, nil, key, throughWeb("$(id)", "https")), http.StatusOK)
	assert.Equal(t, "http://127.0.0.1:7090", odd.Endpoint, "it goes into commands")

	got := apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"&framework=cobol", nil, key), http.StatusUnprocessableEntity)
	assert.Equal(t, "query.framework", (*got.Errors)[0].Location)
	assert.Equal(t, http.StatusUnprocessableEntity, e.Do(t, http.MethodGet, "/v1/agent/instrument-guide", nil, key).Code)
	other := e.CreateProject(t, session, project.WorkspaceId, "other")
	apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path, nil, apitest.Bearer(e.Mint(t, session, other.Id, contract.ScopeAdmin).Key)))

	text := e.Do(t, http.MethodGet, "/llms.txt", nil, throughWeb("looptrace.example.com", "https"))
	require.Equal(t, http.StatusOK, text.Code)
	assert.Equal(t, "text/plain; charset=utf-8", text.Header().Get("Content-Type"))
	assert.True(t, strings.HasPrefix(text.Body.String(), "# Looptrace\n"))
	assert.Contains(t, text.Body.String(), "https://looptrace.example.com/mcp")
	assert.NotContains(t, text.Body.String(), project.Id.String())
}
