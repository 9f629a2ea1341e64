//go:generate go tool mdatagen metadata.yaml

// Package discardexporter ends the pipelines of signals that are not kept. Without it a client that sends them gets an
// error, which SDKs log at every export.
package discardexporter
