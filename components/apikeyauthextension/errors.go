package apikeyauthextension

import (
	"go.opentelemetry.io/otel/metric"
)

// refusal is an error of Authenticate. Clients see its text. It reveals nothing about a key whose secret was not
// presented.
type refusal struct {
	text   string
	result metric.MeasurementOption
}

func (r *refusal) Error() string { return r.text }

var (
	errMissingKey   = &refusal{text: "missing key", result: attributes("result", "missing")}
	errMalformedKey = &refusal{text: "malformed key", result: attributes("result", "malformed")}
	errUnknownKey   = &refusal{text: "unknown key", result: attributes("result", "unknown")}
	errRevokedKey   = &refusal{text: "revoked key", result: attributes("result", "revoked")}
	errExpiredKey   = &refusal{text: "expired key", result: attributes("result", "expired")}

	// errUnguarded replaces the middleware's answer if no receiver has listed the middleware.
	errUnguarded = &refusal{text: "the key cannot be accepted: the receiver lacks the middleware apikeyauth"}
)
