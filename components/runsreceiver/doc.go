//go:generate go tool mdatagen metadata.yaml

// Package runsreceiver is the door of ingest: native runs, OTLP traces and the GenAI events of OTLP logs over HTTP, each
// answered only once the next consumer has taken what was sent.
package runsreceiver
