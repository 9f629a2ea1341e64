package providers

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
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

// Preview returns the request that [Connection.Complete] would make. It needs no secrets.
func (s *Service) Preview(ctx context.Context, projects access.Projects, provider uuid.UUID, call Call) (Preview, error) {
	connection, err := s.connect(ctx, projects, provider, call.Request.Model)
	if err != nil {
		return Preview{}, err
	}
	c := &completion{Connection: connection, call: &call, request: call.Request}
	c.adjust()
	p := &c.Provider
	shown := Preview{Provider: *p, Most: most(c.price, &c.request), Priced: c.price != nil}
	if shown.Notes, err = c.learned.notes(); err != nil {
		return Preview{}, err
	}
	headers := map[string]string{}
	for _, name := range p.HeaderNames {
		headers[name] = ""
	}
	conn := llm.Connection{Kind: p.Kind, BaseURL: p.BaseURL, Headers: headers}
	if p.KeyHint != nil {
		conn.APIKey = "unknown"
	}
	if shown.HTTPRequest, err = client.Build(conn, c.request, call.OnDelta != nil); err != nil {
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
