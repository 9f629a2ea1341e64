package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// effectTime is the time within which settings take effect everywhere.
const effectTime = 5 * time.Second

// TestRevokedKey revokes a key in the browser. Every endpoint refuses it from then on.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	minted := p.mint(t, bearer(p.adminKey), "e2e short-lived", "ingest:write", "runs:read")
	endpoints := map[string]func(ctx context.Context) (product.Answer, error){
		"ingest": func(ctx context.Context) (product.Answer, error) {
			return product.Post(ctx, p.product.Ports.URL(product.Ingest)+"/v1/runs", minted.Key, product.JSON, []byte(`{}`))
		},
		"the OTLP port": func(ctx context.Context) (product.Answer, error) {
			return product.Post(ctx, p.product.Ports.URL(product.OTLPHTTP)+"/v1/traces", minted.Key, product.JSON, []byte(`{}`))
		},
		"the API": func(ctx context.Context) (product.Answer, error) {
			return product.Do(ctx, http.MethodGet, p.web()+"/v1/runs?project_id="+p.ProjectID, bearer(minted.Key), nil)
		},
	}
	for name, ask := range endpoints {
		answer, err := ask(t.Context())
		require.NoError(t, err)
		require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, answer.Status, "the key works at %s: %s", name, answer.Body)
	}

	p.play(t, "revoke", map[string]any{"name": "e2e short-lived"}, nil)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), effectTime)
	defer cancel()
	for name, ask := range endpoints {
		require.NoError(t, product.Wait(ctx, func(ctx context.Context) error {
			answer, err := ask(ctx)
			if err != nil || answer.Status == http.StatusUnauthorized {
				return err
			}
			return fmt.Errorf("%s answers %d to a revoked key", name, answer.Status)
		}))
	}
	t.Logf("refused everywhere %.0f ms after the page has shown it", time.Since(begin).Seconds()*1000)
}
