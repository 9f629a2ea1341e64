package apikeyauthextension

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Attribute sets of the metrics. They are used on every request, so they are built once.
var (
	hitOption  = attributes("outcome", "hit")
	missOption = attributes("outcome", "miss")

	knownOption   = attributes("kind", "known")
	refusedOption = attributes("kind", "refused")

	lookupFoundOption  = attributes("outcome", "found")
	lookupAbsentOption = attributes("outcome", "absent")
	lookupFailedOption = attributes("outcome", "failed")

	revalidationDoneOption   = attributes("outcome", "done")
	revalidationFailedOption = attributes("outcome", "failed")

	resultOK           = attributes("result", "ok")
	resultUnavailable  = attributes("result", "unavailable")
	resultScopeMissing = attributes("result", "scope_missing")
)

func attributes(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}
