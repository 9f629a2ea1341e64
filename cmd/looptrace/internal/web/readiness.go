package web

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/readiness"
)

const (
	// askTime limits the requests to the other parts. Callers of web wait some seconds.
	askTime = 4 * time.Second
	// maxAge is how long a result is cached: anybody may ask, as often as they like.
	maxAge = time.Second
)

// health reports whether web and the parts behind it are ready. It names parts but no reasons: those contain
// addresses and errors of stores, and this address is open to anyone who can open the UI.
type health struct {
	index string
	parts []readiness.Part

	mu      sync.Mutex
	checked time.Time
	checks  map[string]string
}

func newHealth(c Config) *health {
	h := &health{index: filepath.Join(c.UI, indexFile), parts: []readiness.Part{{Name: "api", Base: c.API.String()}}}
	if c.Collector != nil {
		h.parts = append(h.parts, readiness.Part{Name: "collector", Base: c.Collector.String()})
	}
	return h
}

const (
	ok          = "ok"
	unavailable = "unavailable"
)

// serve answers for all parts.
func (h *health) serve(w http.ResponseWriter, r *http.Request) {
	checks := h.check(r.Context())
	for _, state := range checks {
		if state != ok {
			answerHealth(w, unavailable, checks)
			return
		}
	}
	answerHealth(w, ok, checks)
}

func (h *health) check(ctx context.Context) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.checked) < maxAge {
		return h.checks
	}
	// Without the caller's deadline, because the result is cached for others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	states := make([]string, len(h.parts))
	var asking sync.WaitGroup
	for i, part := range h.parts {
		asking.Go(func() {
			_, err := part.Ask(ctx)
			states[i] = stateOf(err)
		})
	}
	_, err := os.Stat(h.index)
	asking.Wait()

	h.checks = map[string]string{"ui": stateOf(err)}
	for i, part := range h.parts {
		h.checks[part.Name] = states[i]
	}
	h.checked = time.Now()
	return h.checks
}

func stateOf(err error) string {
	if err != nil {
		return unavailable
	}
	return ok
}

func answerHealth(w http.ResponseWriter, status string, checks map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	if status != ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(struct { // the client may be gone
		Status string            `json:"status"`
		Checks map[string]string `json:"checks,omitempty"`
	}{status, checks})
}
