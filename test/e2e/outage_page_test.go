package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/test/product"
)

// playOutage plays what a reader sees while parts of the product hang or are stopped. The scenario says when.
func (p *project) playOutage(t *testing.T) {
	t.Helper()
	signal := func(name string, signal syscall.Signal) func(context.Context) error {
		return func(context.Context) error {
			pid, err := p.product.PID(name)
			if err != nil {
				return err
			}
			if pid == 0 {
				return fmt.Errorf("%s does not run", name)
			}
			return syscall.Kill(pid, signal)
		}
	}
	acts := map[string]func(context.Context) error{
		"/hang":           signal(product.ControlPlaneProcess, syscall.SIGSTOP),
		"/continue":       signal(product.ControlPlaneProcess, syscall.SIGCONT),
		"/hang-store":     signal(product.ClickHouseProcess, syscall.SIGSTOP),
		"/continue-store": signal(product.ClickHouseProcess, syscall.SIGCONT),
		"/down":           func(context.Context) error { return p.product.Down() },
		"/up":             p.product.Up,
	}
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		act := acts[r.URL.Path]
		if act == nil {
			http.NotFound(w, r)
			return
		}
		if err := act(t.Context()); !assert.NoError(t, err, r.URL.Path) { //nolint:contextcheck // the product outlives the request that starts it
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer control.Close()
	p.play(t, "outage", map[string]any{"control": control.URL}, nil)

	var away struct {
		Pages       int     `json:"pages"`
		Slowest     float64 `json:"slowest_s"`
		SlowestPath string  `json:"slowest_path"`
	}
	p.play(t, "pagesaway", map[string]any{"control": control.URL}, &away)
	t.Logf("%d pages said that the API hangs, the slowest after %.1f s: %s", away.Pages, away.Slowest, away.SlowestPath)
}
