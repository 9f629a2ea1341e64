//go:generate go tool mdatagen metadata.yaml

// Package clickhouserunsexporter writes spans to the run store in ClickHouse and keeps the totals of their runs up to
// date.
package clickhouserunsexporter
