package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestQueryIsHeldToTheDocument: a parameter that is misspelt would select everything.
func TestQueryIsHeldToTheDocument(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	list := "/v1/runs?project_id=" + project.Id.String()
	long := strings.Repeat("x", 1001)
	for query, want := range map[string]problem.Field{
		"&statuss=error":               {Location: "query.statuss", Message: "is not a parameter of this operation"},
		"&Status=error":                {Location: "query.Status", Message: "is not a parameter of this operation"},
		"&status[0]=error":             {Location: "query.status[0]", Message: "is not a parameter of this operation"},
		"&x" + long + "=1":             {Location: "query.x" + long[:99] + "…", Message: "is not a parameter of this operation"},
		"&metadata=x":                  {Location: "query.metadata", Message: "must be given as metadata[KEY]=VALUE"},
		"&metadata[a=x":                {Location: "query.metadata[a", Message: "must be given as metadata[KEY]=VALUE"},
		"&metadata[]=x":                {Location: "query.metadata[]", Message: "must be given as metadata[KEY]=VALUE"},
		"&metadata[a]b=x":              {Location: "query.metadata[a]b", Message: "must be given as metadata[KEY]=VALUE"},
		"&metadata[a]=1&metadata[a]=2": {Location: "query.metadata[a]", Message: "must be given once"},
		"&metadata[a]=" + long:         {Location: "query.metadata[a]", Message: "must have at most 1000 characters"},
		"&metadata[a]b]=" + long:       {Location: "query.metadata[a]b]", Message: "must have at most 1000 characters"},
		"&limit=1&limit=2":             {Location: "query.limit", Message: "must be given once"},
		"&limit=":                      {Location: "query.limit", Message: "must not be empty"},
		"&cursor=":                     {Location: "query.cursor", Message: "must have at least 1 characters"},
		"&status=error;limit=1":        {Location: "query", Message: "cannot be read: invalid semicolon separator in query"},
		"&status=%zz":                  {Location: "query", Message: `cannot be read: invalid URL escape "%zz"`},
	} {
		got := apitest.Refusal(t, e, http.MethodGet, list+query, nil, apitest.Cookie(session))
		got[0].Value = nil
		assert.Equal(t, []problem.Field{want}, got, query)
	}
	many := ""
	for i := range 21 {
		many += "&metadata[" + string(rune('a'+i)) + "]=x"
	}
	assert.Equal(t, "must have at most 20 members", apitest.Refusal(t, e, http.MethodGet, list+many, nil, apitest.Cookie(session))[0].Message)
	body := map[string]any{"filter": map[string]any{"project_id": project.Id, "metadata": map[string]string{"a": long}}, "dry_run": true}
	assert.Equal(t, []problem.Field{{Location: "body.filter.metadata.a", Message: "must have at most 1000 characters"}},
		apitest.Refusal(t, e, http.MethodPost, "/v1/runs/_actions/delete", body, apitest.Cookie(session)))
	// Writes too.
	assert.Equal(t, "query.dry_run", apitest.Refusal(t, e, http.MethodPost, "/v1/runs/_actions/delete?dry_run=true", body, apitest.Cookie(session))[0].Location)
	assert.Equal(t, "query.x", apitest.Refusal(t, e, http.MethodGet, "/v1/me?x=1", nil, apitest.Cookie(session))[0].Location)
	assert.Equal(t, "query.x", apitest.Refusal(t, e, http.MethodGet, "/v1/setup?x=1", nil)[0].Location)
}

// TestEveryOperationRefusesWhatItDoesNotTake with the database of runs away: nothing was looked for.
func TestEveryOperationRefusesWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, _ := e.SetUp(t)
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	cursors := 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if !strings.HasPrefix(path, "/v1/") || operation.Tags[0] == "ingest" || operation.Tags[0] == "service" || operation.OperationID == "logout" {
				continue
			}
			target := httpapi.PathParameter.ReplaceAllString(path, apitest.NoSuchID)
			assert.Contains(t, places(apitest.Refusal(t, e, method, target+"?nothing=1", nil, apitest.Cookie(session))), "query.nothing", "%s %s", method, path)
			if operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, "cursor") != nil {
				cursors++
				assert.Contains(t, places(apitest.Refusal(t, e, method, target+"?cursor=", nil, apitest.Cookie(session))), "query.cursor", path)
			}
			if operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, "metadata") != nil {
				assert.Contains(t, places(apitest.Refusal(t, e, method, target+"?metadata[a]="+strings.Repeat("x", 1001), nil, apitest.Cookie(session))), "query.metadata[a]", path)
			}
		}
	}
	assert.Equal(t, 6, cursors)
}

func places(fields []problem.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Location
	}
	return names
}

// TestMetadataKeysWithBrackets: KEY is what stands between the first bracket and the last.
func TestMetadataKeysWithBrackets(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	keys := []string{"a", "a[0]", "a[0", "[", "]", "[]", "a][b", "[x", "x]", "ü b"}
	spans := make([]runmodel.Span, len(keys))
	start := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	for i, key := range keys {
		spans[i] = runmodel.Span{
			ProjectID: project.Id, RunID: uuid.New(), SpanID: uint64(i + 1), Version: 1, StartTime: start, EndTime: start.Add(time.Second),
			Kind: "agent", Name: key, IsRun: true, Metadata: map[string]string{key: "v"},
		}
	}
	each := make([][]runmodel.Span, len(spans))
	for i := range spans {
		each[i] = spans[i : i+1]
	}
	apitest.StoreSpans(t, address, each...)
	for _, key := range keys {
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+"&"+url.QueryEscape("metadata["+key+"]")+"=v", nil, apitest.Cookie(session)), http.StatusOK)
		require.Len(t, page.Data, 1, key)
		assert.Equal(t, key, page.Data[0].Name)
	}
	both := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+"&metadata[a]=v&metadata[a[0]]=v", nil, apitest.Cookie(session)), http.StatusOK)
	assert.Empty(t, both.Data)
}
