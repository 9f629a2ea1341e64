// Package identity stores users, their sessions and project keys, and authenticates credentials.
package identity
