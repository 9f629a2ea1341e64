package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// TestProjectLimits sets a limit of a project in the browser, and removes it. Every ingest endpoint applies it.
func TestProjectLimits(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	endpoints := []string{
		p.product.Ports.URL(product.Ingest) + "/v1/runs", p.product.Ports.URL(product.Ingest) + "/v1/traces",
		p.product.Ports.URL(product.OTLPHTTP) + "/v1/traces", p.web() + "/v1/traces",
	}
	p.play(t, "limits", map[string]any{"rate": "0.001"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), effectTime)
	defer cancel()
	for _, endpoint := range endpoints {
		require.NoError(t, product.Wait(ctx, func(ctx context.Context) error {
			answer, err := product.Post(ctx, endpoint, p.ingestKey, product.JSON, []byte(`{}`))
			if err != nil || answer.Status != http.StatusTooManyRequests {
				return errors.Join(err, fmt.Errorf("%s answers %d over the limit", endpoint, answer.Status))
			}
			assert.NotEmpty(t, answer.Header.Get("Retry-After"), endpoint)
			assert.Equal(t, "1", answer.Header.Get("RateLimit-Limit"), endpoint)
			assert.Equal(t, "0", answer.Header.Get("RateLimit-Remaining"), endpoint)
			return nil
		}))
	}
	p.play(t, "limits", nil, nil)
	eventually(t, func(ctx context.Context) error {
		answer, err := product.Post(ctx, endpoints[1], p.ingestKey, product.JSON, []byte(`{}`))
		if err != nil || answer.Status != http.StatusAccepted {
			return errors.Join(err, fmt.Errorf("%s answers %d without the limit", endpoints[1], answer.Status))
		}
		return nil
	})
}
