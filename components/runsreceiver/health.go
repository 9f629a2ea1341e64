package runsreceiver

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/collector/component"
)

// readinessChecker is an extension that knows whether the collector does its work: whether it is ready, and the state of each
// thing that it looks at.
type readinessChecker interface {
	CheckReadiness(ctx context.Context) (ready bool, checks map[string]string)
}

// findReadiness returns the extension that is configured, nil where none is.
func (c *Config) findReadiness(host component.Host) (readinessChecker, error) {
	if c.Readiness == nil {
		return nil, nil // none is asked for
	}
	checker, ok := host.GetExtensions()[*c.Readiness].(readinessChecker)
	if !ok {
		return nil, fmt.Errorf("readiness: %s is no extension of this collector that tells readiness", c.Readiness)
	}
	return checker, nil
}

// healthOver answers for the health of the process to whoever asks, before keys are looked at: load balancers and
// orchestrators have none.
func healthOver(next http.Handler, checker readinessChecker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Method != http.MethodGet && req.Method != http.MethodHead:
			next.ServeHTTP(w, req)
		case req.URL.Path == "/healthz":
			answerHealth(w, true, nil)
		case req.URL.Path == "/readyz" && checker != nil:
			ready, checks := checker.CheckReadiness(req.Context())
			answerHealth(w, ready, checks)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// answerHealth answers as the other services do.
func answerHealth(w http.ResponseWriter, ok bool, checks map[string]string) {
	status, text := http.StatusOK, "ok"
	if !ok {
		status, text = http.StatusServiceUnavailable, "unavailable"
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(marshalJSON(struct { // who asked may be gone
		Status string            `json:"status"`
		Checks map[string]string `json:"checks,omitempty"`
	}{text, checks}), '\n'))
}
