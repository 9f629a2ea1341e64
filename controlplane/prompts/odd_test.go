package prompts_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestPromptsRefuseTextThatCannotBeStored(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, _ := e.SetUp(t)
	for _, name := range []string{"search", "tag", "folder"} {
		for _, text := range []string{"%00", "%ff"} {
			refused := apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/prompts?"+name+"="+text, nil, apitest.Cookie(owner)), http.StatusUnprocessableEntity)
			require.Len(t, *refused.Errors, 1)
			assert.Equal(t, "query."+name, (*refused.Errors)[0].Location)
		}
	}
}

func TestPromptAliasIfMatchAny(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	path := "/v1/prompts/" + e.CreatePrompt(t, apitest.Cookie(owner), project.Id, "a", "one", "two").Id.String() + "/aliases"
	move := func(version int) int {
		return e.Do(t, http.MethodPost, path, map[string]any{"alias": "b", "version": version}, apitest.Cookie(owner), apitest.Header("If-Match", "*")).Code
	}
	assert.Equal(t, http.StatusPreconditionFailed, move(1))
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path, `{"alias":"b","version":1}`, apitest.Cookie(owner)), http.StatusCreated)
	assert.Equal(t, http.StatusOK, move(2))
}

func TestPromptDefaultOutOfRange(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	for _, value := range []string{"1e400", `[{"a":1e400}]`} {
		refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/prompts/_actions/render", draft(project.Id, value), apitest.Cookie(owner)), http.StatusUnprocessableEntity)
		require.Len(t, *refused.Errors, 1)
		assert.Equal(t, "body.version.variables.x.default", (*refused.Errors)[0].Location)
	}
}

// draft returns the body of a version with a default of a variable.
func draft(project uuid.UUID, value string) string {
	return `{"project_id":"` + project.String() + `","version":{"messages":[{"role":"user","content":"{{x}}"}],"variables":{"x":{"default":` + value + `}}}}`
}
