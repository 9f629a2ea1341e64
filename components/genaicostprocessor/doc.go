//go:generate go tool mdatagen metadata.yaml

// Package genaicostprocessor sets the cost of model calls on their spans. It reads the newest attribute names of the
// OpenTelemetry GenAI semantic conventions, so it comes after processors that translate older ones.
package genaicostprocessor
