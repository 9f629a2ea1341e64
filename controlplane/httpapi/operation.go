package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/idempotency"
)

// Extensions of an operation in the document. Package access reads more.
const (
	maxBodyExtension      = "x-max-body-bytes"
	writeTimeoutExtension = "x-write-timeout-seconds" // for an answer, or for each piece of a stream
	compressExtension     = "x-compress"              // for answers that are not JSON: reads of JSON are compressed
	memberOrderExtension  = "x-member-order"          // whether the order of members in the body is kept
	streamBodyExtension   = "x-stream-body"           // whether the handler reads the body, which may be large
)

// Defaults of operations without these extensions.
const (
	defaultMaxBody      = 1 << 20
	defaultWriteTimeout = time.Minute
)

// operation is an operation of the document with the limits of its requests.
type operation struct {
	id           string
	route        *routers.Route // for the validation of requests
	public       bool
	idempotent   bool
	compress     bool
	memberOrder  bool
	streamBody   bool
	maxBody      int64
	writeTimeout time.Duration
	class        class
	places       int           // that a request takes
	deadline     time.Duration // if the class is bounded
	// namesInBody is whether the body may name the project, the workspace or the organization.
	namesInBody bool
}

// readOperations returns the operations of the document by method and Gin's path, and the access policy.
func readOperations(doc *openapi3.T) (map[string]*operation, access.Policy, error) {
	operations, policy := map[string]*operation{}, access.Policy{}
	for path, item := range doc.Paths.Map() {
		for method, spec := range item.Operations() {
			op := &operation{
				id:     spec.OperationID,
				route:  &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: forValidation(spec)},
				public: isPublic(spec), idempotent: spec.Parameters.GetByInAndName(openapi3.ParameterInHeader, idempotency.Header) != nil,
				compress: spec.Extensions[compressExtension] == true || method == http.MethodGet && answersJSON(spec), memberOrder: spec.Extensions[memberOrderExtension] == true,
				streamBody: spec.Extensions[streamBodyExtension] == true,
				maxBody:    defaultMaxBody, writeTimeout: defaultWriteTimeout,
			}
			if n, ok := spec.Extensions[maxBodyExtension].(float64); ok {
				op.maxBody = int64(n)
			}
			if n, ok := spec.Extensions[writeTimeoutExtension].(float64); ok {
				op.writeTimeout = time.Duration(n) * time.Second
			}
			if spec.RequestBody != nil {
				if media := spec.RequestBody.Value.Content.Get(typeJSON); media != nil {
					members := media.Schema.Value.Properties
					op.namesInBody = members["project_id"] != nil || members["workspace_id"] != nil || members["organization_id"] != nil
				}
			}
			if err := op.readWork(spec.Extensions); err != nil {
				return nil, nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if !op.public {
				if err := policy.Add(op.id, spec.Extensions); err != nil {
					return nil, nil, fmt.Errorf("%s %s: %w", method, path, err)
				}
			}
			operations[method+" "+ginPath(path)] = op
		}
	}
	return operations, policy, nil
}

// isPublic reports whether an operation needs no credential.
func isPublic(spec *openapi3.Operation) bool { return spec.Security != nil && len(*spec.Security) == 0 }

// answersJSON reports whether the answer to a successful request is JSON.
func answersJSON(spec *openapi3.Operation) bool {
	answer := spec.Responses.Status(http.StatusOK)
	return answer != nil && answer.Value.Content.Get(typeJSON) != nil
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// ginPath converts a path of the document to Gin's syntax.
func ginPath(path string) string { return pathParameter.ReplaceAllString(path, ":$1") }

// begin finds the operation of the request and sets its write deadline.
func (a *api) begin(c *gin.Context) {
	request := callOf(c.Request.Context())
	request.operation = a.operations[c.Request.Method+" "+c.FullPath()]
	if err := request.extend(http.NewResponseController(c.Writer)); err != nil {
		a.fail(c, err)
		return
	}
	c.Next()
}
