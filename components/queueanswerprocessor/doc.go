//go:generate go tool mdatagen metadata.yaml

// Package queueanswerprocessor comes between a stock OTLP receiver and the exporter that writes to the queue. It
// limits the wait for the queue, and converts its errors to statuses that OTLP clients act on.
package queueanswerprocessor
