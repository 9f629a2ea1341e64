//go:generate go tool mdatagen metadata.yaml

// Package apikeyauthextension authenticates requests by Looptrace API keys, which it finds in PostgreSQL.
//
// It is an authenticator and a middleware at once. The authenticator refuses bad keys. What it cannot refuse
// there, since every error of an authenticator reads as "do not try again", it leaves to the middleware: a
// key that cannot be checked because PostgreSQL is away, and a key without the needed scope.
package apikeyauthextension
