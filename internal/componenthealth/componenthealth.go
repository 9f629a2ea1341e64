// Package componenthealth is how a component of the Collector reports that something is away, and whether it works without that.
package componenthealth

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// AttributeReady is a boolean attribute of an error in a component's status. It reports whether the component still
// works.
const AttributeReady = "looptrace.ready"

// Report reports an error from which a component can recover, nil for none, and whether the component works meanwhile.
func Report(host component.Host, err error, ready bool) {
	if err == nil {
		componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
		return
	}
	attributes := pcommon.NewMap()
	attributes.PutBool(AttributeReady, ready)
	componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusRecoverableError,
		componentstatus.WithError(err), componentstatus.WithAttributes(attributes)))
}
