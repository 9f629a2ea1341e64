// Package client makes one attempt of a call of a model over HTTP, and explains why one failed.
package client
