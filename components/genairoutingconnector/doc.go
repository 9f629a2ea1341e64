//go:generate go tool mdatagen metadata.yaml

// Package genairoutingconnector sends the spans of agents to one set of pipelines and all others to another.
package genairoutingconnector
