//go:generate go tool mdatagen metadata.yaml

// Package kafkabatchreceiver reads OTLP traces from a Kafka topic in large batches, hands each batch to the next
// consumer synchronously, and commits its offsets only after the consumer accepted it.
//
// Records that can never be handed on go to a dead-letter topic with the reason, so that a bad record neither stops
// its partition nor affects its neighbours.
package kafkabatchreceiver
