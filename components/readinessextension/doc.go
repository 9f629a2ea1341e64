//go:generate go tool mdatagen metadata.yaml

// Package readinessextension serves liveness and readiness: whether the collector is up, whether the queue can be
// written to, and what components report in their status.
package readinessextension
