//go:generate go tool mdatagen metadata.yaml

// Package ratelimitextension limits what each key and each project sends: requests, bytes and spans. It is a
// middleware of HTTP and gRPC servers and stands behind the authenticator, whose auth data names key and project.
//
// Requests and bytes are known before the body is decoded. Spans are known after: whoever has decoded them calls
// ratelimit.ChargeSpans with the context of the request, and the bucket goes into debt. Where nobody does, they
// are estimated from the bytes of a request that was accepted.
//
// What replicas have admitted they tell each other over a Kafka topic; internal/ratelimit says how, and derives
// how much may be admitted too much.
package ratelimitextension
