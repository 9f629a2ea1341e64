//go:generate go tool mdatagen metadata.yaml

// Package ratelimitextension limits what each key and each project sends: requests, bytes and spans. It is a
// middleware of HTTP and gRPC servers and runs after the authenticator, whose auth data names key and project.
//
// Requests and bytes are known before the body is decoded, spans only afterwards: the decoding component calls
// ratelimit.ChargeSpans with the context of the request, and the bucket may go into debt. If it does not, spans are
// estimated from the bytes of an accepted request.
//
// Replicas share what they have admitted over a Kafka topic. internal/ratelimit describes how, and proves how far a
// limit may be exceeded.
package ratelimitextension
