//go:generate go tool mdatagen metadata.yaml

// Package genaisemconvprocessor maps the spans of known GenAI instrumentations to the newest OpenTelemetry GenAI
// semantic conventions, with package genaispans. It keeps all received attributes.
package genaisemconvprocessor
