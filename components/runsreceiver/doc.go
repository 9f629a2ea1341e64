//go:generate go tool mdatagen metadata.yaml

// Package runsreceiver is the door of ingest: native runs and OTLP traces over HTTP, each answered only
// once the next consumer has taken what was sent.
package runsreceiver
