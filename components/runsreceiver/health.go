package runsreceiver

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/collector/component"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// readinessChecker is an extension that knows whether the collector is ready, and the state of each check.
type readinessChecker interface {
	CheckReadiness(ctx context.Context) (ready bool, checks map[string]string)
}

// findReadiness returns the configured extension, or nil if there is none.
func (c *Config) findReadiness(host component.Host) (readinessChecker, error) {
	if c.Readiness == nil {
		return nil, nil // none is configured
	}
	checker, ok := host.GetExtensions()[*c.Readiness].(readinessChecker)
	if !ok {
		return nil, fmt.Errorf("readiness: %s is not an extension of this collector that reports readiness", c.Readiness)
	}
	return checker, nil
}

// healthOver answers health checks before keys are checked: load balancers and orchestrators have none.
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

// answerHealth answers in the same form as the other services.
func answerHealth(w http.ResponseWriter, ok bool, checks map[string]string) {
	status, text := http.StatusOK, "ok"
	if !ok {
		status, text = http.StatusServiceUnavailable, "unavailable"
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(jsontext.MustEncode(struct { // the caller may be gone
		Status string            `json:"status"`
		Checks map[string]string `json:"checks,omitempty"`
	}{text, checks}), '\n'))
}
