package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPromptsRefuseTextThatCannotBeStored(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	owner, _ := e.setUp(t)
	for _, name := range []string{"search", "tag", "folder"} {
		for _, text := range []string{"%00", "%ff"} {
			refused := wantProblem(t, e.do(t, http.MethodGet, "/v1/prompts?"+name+"="+text, nil, cookie(owner)), http.StatusUnprocessableEntity)
			require.Len(t, *refused.Errors, 1)
			assert.Equal(t, "query."+name, (*refused.Errors)[0].Location)
		}
	}
}
