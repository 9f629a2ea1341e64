package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
}

func TestServedDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	w := e.Do(t, http.MethodGet, "/v1/openapi.json", nil)
	require.Equal(t, http.StatusOK, w.Code)
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	assert.Equal(t, "3.1.0", doc.OpenAPI)

	documented := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			documented[method+" "+httpapi.GinPath(path)] = operation
		}
	}
	served := map[string]bool{}
	for _, route := range e.API.Routes() {
		name := route.Method + " " + route.Path
		served[name] = true
		if !strings.HasPrefix(name, "GET /v1/docs/") { // parts of the page
			assert.Contains(t, documented, name, "is served and not documented")
		}
	}
	for name, operation := range documented {
		if operation.Tags[0] != "ingest" { // another service's
			assert.True(t, served[name], "%s is documented and not served", name)
		}
	}
}

// TestEveryRouteAsksForACredential where the document says so: with the database away, a request without a
// credential gets 401 there and never elsewhere.
func TestEveryRouteAsksForACredential(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Tags[0] == "ingest" {
				continue
			}
			target := httpapi.PathParameter.ReplaceAllString(path, apitest.NoSuchID)
			w := e.Do(t, method, target, nil)
			assert.Equal(t, !httpapi.IsPublic(operation), w.Code == http.StatusUnauthorized, "%s %s: %d", method, path, w.Code)
		}
	}
}

// TestDescriptionsNameAccess compares the last sentence of each description with the operation's extensions.
func TestDescriptionsNameAccess(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			text, access, found := strings.Cut(operation.Description, "Requires ")
			scope, role := operation.Extensions["x-scope"], operation.Extensions["x-role"]
			switch {
			case httpapi.IsPublic(operation):
				assert.False(t, found, "%s %s", method, path)
			case operation.Extensions["x-user"] != nil:
				assert.Equal(t, "the session of a user.\n", access, "%s %s", method, path)
			case role != nil && role != "any":
				assert.Equal(t, fmt.Sprintf("a user with the role `%s` or higher.\n", role), access, "%s %s", method, path)
			case scope == "any", role == "any":
				assert.Equal(t, "an API key or a session, with any scope or role.\n", access, "%s %s", method, path)
			default:
				want := fmt.Sprintf("the scope `%s`.\n", scope)
				if list, ok := scope.([]any); ok {
					last := len(list) - 1
					want = "the scopes "
					for _, name := range list[:last] {
						want += fmt.Sprintf("`%s`, ", name)
					}
					want = strings.TrimSuffix(want, ", ") + fmt.Sprintf(" and `%s`.\n", list[last])
				}
				assert.Equal(t, want, access, "%s %s", method, path)
			}
			assert.NotContains(t, text, "Scope `", "%s %s: x-scope adds the sentence", method, path)
		}
	}
}

func TestPageOfTheAPI(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	w := e.Do(t, http.MethodGet, "/v1/docs", nil)
	require.Equal(t, http.StatusOK, w.Code)
	page := w.Body.String()
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'")
	for _, text := range []string{`id="listRuns"`, `id="schema-Run"`, `href="#schema-RunPage"`, "required", "Authorization: Bearer", "<p>Requires the scope <code>runs:read</code>.</p>", "&#34;start_time&#34;:&#34;2026-01-02T03:04:05Z&#34;"} {
		assert.Contains(t, page, text)
	}
	assert.Contains(t, page, `curl &#34;http://127.0.0.1:7090/v1/runs?project_id=$PROJECT_ID&#34;`)
	assert.NotContains(t, page, httpapi.OwnAddress)
	assert.Equal(t, []string{`<script src="/v1/docs/script.js">`}, regexp.MustCompile(`<script[^>]*>`).FindAllString(page, -1))
	assert.Less(t, strings.Index(page, "<h1"), strings.Index(page, "<h2"), "headings in order")
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if anchor, ok := strings.CutPrefix(link[1], "#"); ok {
			assert.Contains(t, page, `id="`+anchor+`"`, "a link leads nowhere")
			continue
		}
		assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, link[1], nil).Code, link[1])
	}
	style := e.Do(t, http.MethodGet, "/v1/docs/style.css", nil)
	assert.Equal(t, "text/css; charset=utf-8", style.Header().Get("Content-Type"))
	for _, address := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(style.Body.String(), -1) {
		assert.Regexp(t, `^"/fonts/[a-z-]+\.woff2"$`, address[1])
	}

	// A reader elsewhere gets the address that they are at.
	throughWeb := func(host string) apitest.Option {
		return func(r *http.Request) {
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("X-Forwarded-Host", host)
			r.Header.Set("X-Forwarded-Proto", "https")
		}
	}
	page = e.Do(t, http.MethodGet, "/v1/docs", nil, throughWeb("looptrace.example.com")).Body.String()
	assert.Contains(t, page, `curl &#34;https://looptrace.example.com/v1/runs?`)
	document := e.Do(t, http.MethodGet, "/v1/openapi.json", nil, throughWeb("looptrace.example.com")).Body.String()
	assert.Contains(t, document, `"servers":[{"url":"https://looptrace.example.com"}]`)
	assert.Equal(t, http.StatusMisdirectedRequest, e.Do(t, http.MethodGet, "/v1/docs", nil, throughWeb(`"$(id)<b>`)).Code)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	e := apitest.NewOn(t, absentPostgres, apitest.AbsentClickHouse)
	e.Do(t, http.MethodGet, "/v1/projects/"+apitest.NoSuchID, nil)
	e.Do(t, "INVENTED", "/"+apitest.NoSuchID, nil)
	text := e.Do(t, http.MethodGet, "/metrics", nil).Body.String()
	assert.Contains(t, text, `looptrace_http_request_duration_seconds_count{method="GET",route="/v1/projects/:project_id",status="401"} 1`)
	assert.Contains(t, text, `looptrace_http_request_duration_seconds_count{method="none",route="none",status="404"} 1`)
	assert.Contains(t, text, "go_goroutines")
	assert.NotContains(t, text, apitest.NoSuchID)
}

// TestEveryReadOfRunsTakesTheWholeFilter holds operations that take part of the filter to all of it. Failed runs have a
// window of their own, and are what a fingerprint is asked about.
func TestEveryReadOfRunsTakesTheWholeFilter(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	const prefix = "#/components/parameters/"
	var whole []string
	for name := range doc.Components.Parameters {
		if strings.HasPrefix(name, "Filter") {
			whole = append(whole, prefix+name)
		}
	}
	require.Contains(t, whole, prefix+"FilterSearch")
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			var taken []string
			for _, parameter := range operation.Parameters {
				if strings.HasPrefix(parameter.Ref, prefix+"Filter") {
					taken = append(taken, parameter.Ref)
				}
			}
			if slices.Contains(taken, prefix+"FilterSearch") && !strings.HasPrefix(path, "/v1/agent/failed-runs") {
				assert.ElementsMatch(t, whole, taken, "%s %s", method, path)
			}
		}
	}
}

// TestFilterRefusesWhatIsEmpty: an empty value is what a program sends whose variable was not set, and would select everything.
func TestFilterRefusesWhatIsEmpty(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	check := func(name string, schema *openapi3.Schema) {
		switch {
		case len(schema.Enum) > 0:
			assert.NotContains(t, schema.Enum, "", name)
		case schema.Type.Is(openapi3.TypeString) && schema.Format == "":
			assert.Equal(t, uint64(1), schema.MinLength, name)
		}
	}
	for name, parameter := range doc.Components.Parameters {
		if strings.HasPrefix(name, "Filter") {
			check(name, parameter.Value.Schema.Value)
		}
	}
	for name, member := range doc.Components.Schemas["RunFilter"].Value.Properties {
		check(name, member.Value)
		if member.Value.Type.Is(openapi3.TypeArray) {
			assert.Equal(t, uint64(1), member.Value.MinItems, name)
		}
	}
}
