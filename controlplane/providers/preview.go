package providers

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/llm"
)

// Preview is a request that was not made.
type Preview struct {
	*llm.HTTPRequest
	Provider Provider
	// Most is the most that it can cost, nil if that is unknown. Priced is whether the model has a price.
	Most   *Money
	Priced bool
	// Notes are what earlier calls of the model taught.
	Notes []Note
}

// Preview returns the request that [Service.Complete] would make.
func (s *Service) Preview(ctx context.Context, projects access.Projects, call Call) (Preview, error) {
	p, err := s.Get(ctx, projects, call.Provider)
	if err != nil {
		return Preview{}, err
	}
	c := &completion{Service: s, call: &call, provider: p, request: call.Request}
	if c.learned, err = s.learnedOf(ctx, p.ID, call.Request.Model); err != nil {
		return Preview{}, err
	}
	c.adjust()
	price, err := s.price(ctx, &p, call.Request.Model)
	if err != nil {
		return Preview{}, err
	}
	shown := Preview{Provider: p, Most: most(price, &c.request), Priced: price != nil}
	if shown.Notes, err = c.learned.notes(); err != nil {
		return Preview{}, err
	}
	// The secrets are not needed, only the names of headers.
	headers := map[string]string{}
	for _, name := range p.HeaderNames {
		headers[name] = ""
	}
	conn := llm.Connection{Kind: p.Kind, BaseURL: p.BaseURL, Headers: headers}
	if p.KeyHint != nil {
		conn.APIKey = "unknown"
	}
	if shown.HTTPRequest, err = llm.Build(conn, c.request, call.OnDelta != nil); err != nil {
		return Preview{}, c.previewError(err)
	}
	return shown, nil
}

// previewError returns the error for a request that cannot be written.
func (c *completion) previewError(err error) error {
	var failed *llm.Error
	if errors.As(err, &failed) {
		return c.failed(failed)
	}
	return fmt.Errorf("write the request: %w", err)
}
