// Package httpapi is the HTTP API of the control plane. Its contract is the OpenAPI document in the folder openapi, a file per subject:
// the interface that the handlers implement and the types they answer with are generated from it (package contract), it says what each
// operation needs of its caller, requests are validated against it, and it is served as a document and as a page.
//
// A request passes middleware in the order of [New], and ends in the handlers of its subject, in the file of that name.
package httpapi
