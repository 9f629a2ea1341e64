//go:generate go tool mdatagen metadata.yaml

// Package genaisemconvprocessor maps the spans of known GenAI instrumentations to the newest OpenTelemetry GenAI
// semantic conventions. It keeps all received attributes. Each dialect has a table in a file named dialect_*.go.
package genaisemconvprocessor
