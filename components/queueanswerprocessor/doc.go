//go:generate go tool mdatagen metadata.yaml

// Package queueanswerprocessor stands between a stock OTLP receiver and the exporter that writes to the queue. It
// bounds the wait for the queue, and turns the queue's errors into what an OTLP client acts on.
package queueanswerprocessor
