package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
)

// TestTextThatIsNone sends text that the stores cannot hold in every parameter and in every text of a body, of all operations.
func TestTextThatIsNone(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	mine := tenant{session: owner, project: project}
	ours, run := tenantRuns(project.Id, "ours")
	apitest.StoreSpans(t, address, ours...)
	fill(t, e, &mine, "ours", run)
	x := &existence{env: e, names: map[string]named{}}
	for name, thing := range mine.things {
		x.names[name] = named{mine: thing}
	}
	as := apitest.Cookie(owner)
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			operation := item.Operations()[method]
			if operation.Tags[0] == "ingest" || operation.Tags[0] == "service" || httpapi.IsPublic(operation) || path == "/mcp" || path == "/v1/logout" {
				continue
			}
			parameters := slices.Concat(item.Parameters, operation.Parameters)
			for _, ref := range parameters {
				p := ref.Value
				names := []string{p.Name}
				if p.Style == openapi3.SerializationDeepObject {
					names = []string{p.Name + "[a]", p.Name + "[a\x00]"}
				}
				for _, text := range []string{"\x00", "a\x00b", "\xff"} {
					switch p.In {
					case openapi3.ParameterInPath:
						target := httpapi.PathParameter.ReplaceAllString(path, url.PathEscape(text))
						assert.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType}, e.Do(t, method, target, nil, as).Code, "%s %s", method, target)
					case openapi3.ParameterInQuery:
						for _, name := range names {
							target := httpapi.PathParameter.ReplaceAllString(path, apitest.NoSuchID) + "?" + url.QueryEscape(name) + "=" + url.QueryEscape(text)
							fields := apitest.Refusal(t, e, method, target, nil, as)
							assert.Contains(t, places(fields), "query."+name, "%s %s", method, target)
						}
					}
				}
			}
			if operation.RequestBody == nil || operation.RequestBody.Value.Content.Get("application/json") == nil {
				continue
			}
			schema := operation.RequestBody.Value.Content.Get("application/json").Schema.Value
			base := func() request { return x.base(t, method, path, parameters, operation, nil) }
			send := func(r request, at string) {
				w := x.sendAs(t, r, as)
				assert.Less(t, w.Status, http.StatusInternalServerError, "%s %s: %s", method, path, at)
			}
			for name, property := range schema.Properties {
				if property.Value.Type.Includes(openapi3.TypeString) && property.Value.Enum == nil {
					r := base()
					r.body.(map[string]any)[name] = "a\x00b"
					send(r, name)
				}
			}
			for i := range breakText(plain(t, base().body), -1) {
				r := base()
				r.body = plain(t, r.body)
				breakText(r.body, i)
				send(r, fmt.Sprint("text ", i))
			}
		}
	}
}

// plain returns a value as JSON has it.
func plain(t *testing.T, value any) (read any) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &read))
	return read
}

// breakText makes one of the texts in a value one that the stores cannot hold, and returns how many there are.
func breakText(value any, which int) (count int) {
	each := func(inner any, set func(any)) {
		if text, ok := inner.(string); ok {
			if count == which {
				set(text + "\x00")
			}
			count++
			return
		}
		count += breakText(inner, which-count)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			each(value[name], func(broken any) { value[name] = broken })
		}
	case []any:
		for i := range value {
			each(value[i], func(broken any) { value[i] = broken })
		}
	}
	return count
}
