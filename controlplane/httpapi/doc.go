// Package httpapi is the HTTP face of the control plane. The contract is openapi.yaml: the interface that the
// handlers implement and the types they answer with are generated from it, requests are validated against it,
// and it is served as a document and as a page.
package httpapi

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
