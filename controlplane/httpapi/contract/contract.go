// Package contract is the API's contract in Go: the OpenAPI document, and what is generated from it. The files to edit are those in
// ../openapi, one per subject.
package contract

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:generate go run ../openapi/bundle ../openapi openapi.gen.yaml ../../../docs/routes.md ../../../ui/src/api/answers.gen.ts
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.gen.yaml

// Document is the OpenAPI document, in YAML.
//
//go:embed openapi.gen.yaml
var Document []byte

// Read parses the document once. Nobody may change the result.
var Read = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(Document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return doc, nil
})
