//go:generate go tool mdatagen metadata.yaml

// Package genailogsconnector converts GenAI events in logs to versions of the spans that they name.
package genailogsconnector
