//go:generate go tool mdatagen metadata.yaml

// Package genailogsconnector takes the GenAI events out of logs and hands them on as versions of the spans that they
// name.
package genailogsconnector
