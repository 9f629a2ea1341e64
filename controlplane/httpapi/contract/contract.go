// Package contract is the API's contract in Go: the OpenAPI document, and what is generated from it. The files to edit are those in
// ../openapi, one per subject.
package contract

import _ "embed"

//go:generate go run ../openapi/bundle ../openapi openapi.gen.yaml
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.gen.yaml

// Document is the OpenAPI document, in YAML.
//
//go:embed openapi.gen.yaml
var Document []byte
