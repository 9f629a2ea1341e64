//go:generate go tool mdatagen metadata.yaml

// Package readinessextension answers whether the collector is up, and whether it does its work: whether the queue can
// be written to, and what its components say of themselves (component status).
package readinessextension
