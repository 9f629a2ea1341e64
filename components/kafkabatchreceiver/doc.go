//go:generate go tool mdatagen metadata.yaml

// Package kafkabatchreceiver reads OTLP traces from a Kafka topic in large batches, hands each batch to the
// next consumer synchronously, and commits the offsets of its records only after the consumer took it.
//
// What can never be handed on goes to a dead-letter topic with its reason, so that one bad record neither
// stops its partition nor takes its neighbours along.
package kafkabatchreceiver
