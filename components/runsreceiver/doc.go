//go:generate go tool mdatagen metadata.yaml

// Package runsreceiver takes native runs, OTLP traces and the GenAI events of OTLP logs over HTTP. It answers once
// the next consumer has accepted them.
package runsreceiver
