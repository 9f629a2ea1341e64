//go:generate go tool mdatagen metadata.yaml

// Package genaisemconvprocessor maps the spans of every known GenAI instrumentation to the newest OpenTelemetry GenAI
// semantic conventions. What was received stays; each dialect has a table of its own in a file named dialect_*.go.
package genaisemconvprocessor
