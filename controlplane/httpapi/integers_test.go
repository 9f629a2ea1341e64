package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestPlainIntegers(t *testing.T) {
	t.Parallel()
	integer, number := openapi3.NewIntegerSchema(), openapi3.NewFloat64Schema()
	maybe := &openapi3.Schema{Type: &openapi3.Types{"integer", "null"}}
	schema := openapi3.NewObjectSchema().WithProperty("i", integer).WithProperty("f", number).WithProperty("n", maybe).
		WithProperty("list", openapi3.NewArraySchema().WithItems(integer)).
		WithProperty("one", openapi3.NewOneOfSchema(openapi3.NewStringSchema(), openapi3.NewObjectSchema().WithProperty("i", integer))).
		WithProperty("map", openapi3.NewObjectSchema().WithAdditionalProperties(integer)).
		WithProperty("any", openapi3.NewSchema())
	for given, want := range map[string]string{
		`{"i":1}`:                               `{"i":1}`,
		`{"i":1.0}`:                             `{"i":1}`,
		`{"i" : -1.50e1 , "f" : 1.0 }`:          `{"i" : -15 , "f" : 1.0 }`,
		`{"i":1.5,"n":2e2,"list":[1.0,2,3.00]}`: `{"i":1.5,"n":200,"list":[1,2,3]}`,
		`{"one":{"i":1e0,"f":1e0},"map":{"a":0.0,"b":-0.0}}`:       `{"one":{"i":1,"f":1e0},"map":{"a":0,"b":0}}`,
		`{"any":{"i":1.0,"x":[1.0]},"unknown":1.0,"list":[[1.0]]}`: `{"any":{"i":1.0,"x":[1.0]},"unknown":1.0,"list":[[1.0]]}`,
		`{"i":1e999999999}`: `{"i":1e999999999}`,
		`1.0`:               `1.0`, `"1.0"`: `"1.0"`, `null`: `null`, `[1.0]`: `[1.0]`,
	} {
		got, err := httpapi.PlainIntegers([]byte(given), schema)
		require.NoError(t, err, given)
		assert.Equal(t, want, string(got), given)
	}
}

func TestIntegersInBodies(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	prompt := e.CreatePrompt(t, as, project.Id, "a", "one", "two")
	path := "/v1/prompts/" + prompt.Id.String() + "/aliases"
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, path, `{"alias":"b","version":1.0}`, as), http.StatusCreated)
	for _, version := range []string{"99999999999999999999", "1e300", "1.5", "-1"} {
		fields := apitest.Refusal(t, e, http.MethodPost, path, `{"alias":"b","version":`+version+`}`, as)
		assert.Equal(t, "body.version", fields[0].Location, version)
		assert.NotContains(t, strings.ToLower(fields[0].Message), "go ", version)
	}
}

// TestNamesOfGoStayInside: what the generated types cannot hold is told without their names.
func TestNamesOfGoStayInside(t *testing.T) {
	t.Parallel()
	var body contract.PromptAliasMove
	for text, want := range map[string]string{
		`{"version":1.5}`: "body.version is number 1.5, which is not an integer or out of range",
		`{"version":[]}`:  "body.version is of type array, which does not belong here",
		`[]`:              "body is of type array, which does not belong here",
	} {
		err := json.Unmarshal([]byte(text), &body)
		require.ErrorContains(t, err, "Go ")
		refused := problem.Of(httpapi.Unheld(err))
		require.Len(t, refused.Fields, 1)
		assert.Equal(t, want, refused.Fields[0].Location+" "+refused.Fields[0].Message)
	}
	for _, text := range []string{"Invalid format for parameter limit: strconv.ParseInt: value out of range", "unexpected EOF in contract.Run"} {
		refused := problem.Of(httpapi.Unheld(errors.New(text)))
		require.Len(t, refused.Fields, 1)
		assert.Equal(t, "has a value that cannot be read or is out of range", refused.Fields[0].Message)
	}
}
