package httpapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// pingTimeout is the time in which a ready dependency must answer.
const pingTimeout = 2 * time.Second

type healthHandlers struct {
	dependencies map[string]pinger
	log          *slog.Logger
}

type pinger interface {
	Ping(ctx context.Context) error
}

// Healthz reports that the process is up.
func (h healthHandlers) Healthz(context.Context, contract.HealthzRequestObject) (contract.HealthzResponseObject, error) {
	return contract.Healthz200JSONResponse{Status: contract.HealthStatusOk}, nil
}

// Readyz reports which dependencies answer.
func (h healthHandlers) Readyz(ctx context.Context, _ contract.ReadyzRequestObject) (contract.ReadyzResponseObject, error) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(h.dependencies)) // room for all, so that no sender blocks
	for name, dependency := range h.dependencies {
		go func() { results <- result{name: name, err: dependency.Ping(ctx)} }()
	}
	checks := make(map[string]string, len(h.dependencies))
	ready := true
	for len(checks) < len(h.dependencies) {
		select {
		case r := <-results:
			checks[r.name] = string(contract.HealthStatusOk)
			if r.err != nil {
				ready = false
				checks[r.name] = string(contract.HealthStatusUnavailable)
				h.log.WarnContext(ctx, "dependency does not answer", "request_id", callOf(ctx).id, "dependency", r.name, "error", r.err)
			}
		case <-ctx.Done(): // a hanging ping may ignore its context
			for name := range h.dependencies {
				if checks[name] == "" {
					ready = false
					checks[name] = string(contract.HealthStatusUnavailable)
					h.log.WarnContext(ctx, "dependency does not answer", "request_id", callOf(ctx).id, "dependency", name, "error", ctx.Err())
				}
			}
		}
	}
	if !ready {
		return contract.Readyz503JSONResponse{Status: contract.HealthStatusUnavailable, Checks: &checks}, nil
	}
	return contract.Readyz200JSONResponse{Status: contract.HealthStatusOk, Checks: &checks}, nil
}
