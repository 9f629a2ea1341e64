package httpapi

import (
	"context"
	"time"
)

// pingTimeout is how long a dependency may take to count as ready.
const pingTimeout = 2 * time.Second

// Healthz tells that the process is up.
func (a *api) Healthz(context.Context, HealthzRequestObject) (HealthzResponseObject, error) {
	return Healthz200JSONResponse{Status: HealthStatusOk}, nil
}

// Readyz tells which dependencies answer.
func (a *api) Readyz(ctx context.Context, _ ReadyzRequestObject) (ReadyzResponseObject, error) {
	dependencies := map[string]func(context.Context) error{
		"postgresql": a.identity.Ping,
		"clickhouse": a.runs.Ping,
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(dependencies)) // room for all: no sender is left behind
	for name, ping := range dependencies {
		go func() { results <- result{name: name, err: ping(ctx)} }()
	}
	checks := make(map[string]string, len(dependencies))
	ready := true
	for len(checks) < len(dependencies) {
		select {
		case r := <-results:
			checks[r.name] = string(HealthStatusOk)
			if r.err != nil {
				ready = false
				checks[r.name] = string(HealthStatusUnavailable)
				a.log.WarnContext(ctx, "dependency does not answer", "request_id", callOf(ctx).id, "dependency", r.name, "error", r.err)
			}
		case <-ctx.Done(): // the ping of one that hangs may not heed it
			for name := range dependencies {
				if checks[name] == "" {
					ready = false
					checks[name] = string(HealthStatusUnavailable)
					a.log.WarnContext(ctx, "dependency does not answer", "request_id", callOf(ctx).id, "dependency", name, "error", ctx.Err())
				}
			}
		}
	}
	if !ready {
		return Readyz503JSONResponse{Status: HealthStatusUnavailable, Checks: &checks}, nil
	}
	return Readyz200JSONResponse{Status: HealthStatusOk, Checks: &checks}, nil
}
