//go:generate go tool mdatagen metadata.yaml

// Package apikeyauthextension authenticates requests by Looptrace API keys, which are stored in PostgreSQL.
//
// It is an authenticator and a middleware. The authenticator refuses bad keys. Clients do not retry after any of its
// errors, so the middleware answers in two other cases: a key that cannot be checked because PostgreSQL is away, and
// a key without the required scope.
package apikeyauthextension
