// Package identity keeps users, their sessions and the keys of projects, and finds out who presents a credential.
package identity
