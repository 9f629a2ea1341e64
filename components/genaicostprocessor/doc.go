//go:generate go tool mdatagen metadata.yaml

// Package genaicostprocessor sets the cost of model calls on their spans. It reads attributes by the newest names of the
// OpenTelemetry GenAI semantic conventions, so that it stands behind whatever translates older ones.
package genaicostprocessor
