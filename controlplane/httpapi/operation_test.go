package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

const upload = `
openapi: 3.1.0
info: { title: t, version: "1" }
security: [{ bearer: [] }]
paths:
  /v1/things/{thing_id}/imports:
    post:
      operationId: importThings
      x-scope: [datasets:write, runs:read]
      x-class: bounded
      x-deadline-seconds: 20
      x-max-body-bytes: 33554432
      x-write-timeout-seconds: 300
      requestBody:
        content:
          text/csv: { schema: { type: string } }
          application/json: { schema: { type: object, properties: { project_id: { type: string } } } }
      responses: { "200": { description: done } }
`

func TestOperationsSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(upload))
	require.NoError(t, err)
	operations, policy, err := readOperations(doc)
	require.NoError(t, err)
	op := operations["POST /v1/things/:thing_id/imports"]
	require.NotNil(t, op)
	assert.Contains(t, policy, "importThings")
	assert.Equal(t, int64(32<<20), op.maxBody)
	assert.Equal(t, 5*time.Minute, op.writeTimeout)
	assert.True(t, op.namesInBody)
	assert.Equal(t, bounded, op.class)
	assert.Equal(t, defaultPlaces, op.places)
	assert.Equal(t, 20*time.Second, op.deadline)
	assert.False(t, op.public || op.idempotent || op.compress)

	body := func(media, text string) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text))
		require.NoError(t, err)
		r.Header.Set("Content-Type", media)
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = r
		_, err = readBody(c, op)
		return err
	}
	require.NoError(t, body("text/csv; charset=utf-8", "a,b\n1,2\n"))
	require.ErrorIs(t, body("application/json", "{"), errMalformedBody)
	require.EqualError(t, body("application/xml", "<a/>"), "The body must be application/json or text/csv without content encoding.")
	require.ErrorAs(t, body("text/csv", strings.Repeat("x", 32<<20+1)), new(*http.MaxBytesError))
}

func TestReadsOfJSONAreCompressed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	operations, _, err := readOperations(doc)
	require.NoError(t, err)
	for name, want := range map[string]bool{
		"GET /v1/runs": true, "GET /v1/runs/:run_id/outline": true, "GET /v1/me": true, "GET /v1/runs/export": true,
		"GET /v1/runs/stream": false, "POST /v1/keys": false,
	} {
		require.NotNil(t, operations[name], name)
		assert.Equal(t, want, operations[name].compress, name)
	}
}

func TestOperationWithoutAccess(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(strings.Replace(upload, "x-scope", "x-scopes", 1)))
	require.NoError(t, err)
	_, _, err = readOperations(doc)
	require.ErrorContains(t, err, "importThings must have exactly one of x-scope, x-role and x-user: true")

	doc, err = openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	operations, policy, err := readOperations(doc)
	require.NoError(t, err)
	for name, op := range operations {
		_, needs := policy[op.id]
		assert.NotEqual(t, op.public, needs, name)
	}
}
