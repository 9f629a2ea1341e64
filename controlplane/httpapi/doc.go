// Package httpapi is the HTTP API of the control plane. Its contract is the OpenAPI document in the folder openapi, a file per subject.
// Package contract has the handlers' interface and types, generated from it. The document also declares the access that each operation
// needs, requests are validated against it, and it is served as JSON and as a page.
//
// A request passes the middleware in the order of [New], and then the handlers of its subject, in the file of that name.
package httpapi
