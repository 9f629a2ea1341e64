package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// defaultTokenBudget is the budget of a view if the request has none.
const defaultTokenBudget = 4000

type agentViewHandlers struct {
	runs excerptReader
	// fenceKey is the key from which the marks around recorded text are derived.
	fenceKey []byte
}

type excerptReader interface {
	outlineReader
	Excerpts(ctx context.Context, outline runs.Outline, spanIDs []uint64) ([]runs.Span, error)
}

// GetAgentView reads a run within a token budget.
func (h agentViewHandlers) GetAgentView(ctx context.Context, req contract.GetAgentViewRequestObject) (contract.GetAgentViewResponseObject, error) {
	options := agentview.Options{
		Budget: valueOf(req.Params.TokenBudget, defaultTokenBudget),
		Format: string(valueOf(req.Params.Format, agentview.FormatJSON)),
		Focus:  valueOf(req.Params.Focus, ""),
	}
	options.Calls, options.Key = calls{options.Format}, h.fenceKey
	outline, err := h.runs.Outline(ctx, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	read := func(ids []uint64) ([]runs.Span, error) { return h.runs.Excerpts(ctx, outline, ids) }
	view, err := agentview.Build(outline, read, options)
	if err != nil {
		return nil, err
	}
	return sentView{view.Body, options.Format}, nil
}

// calls formats the requests that a view suggests.
type calls struct{ format string }

// Focus returns the request for the view around a span, in the same format.
func (c calls) Focus(runID uuid.UUID, spanID string) string {
	call := "GET /v1/runs/" + runID.String() + "/agent-view?focus=" + spanID
	if c.format == agentview.FormatText {
		call += "&format=" + c.format
	}
	return call
}

// Span returns the request for a span.
func (calls) Span(runID uuid.UUID) string {
	return "GET /v1/runs/" + runID.String() + "/spans/{span_id}"
}

// sentView is sent byte for byte, because its tokens are counted.
type sentView struct {
	body   []byte
	format string
}

// VisitGetAgentViewResponse writes the view.
func (v sentView) VisitGetAgentViewResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	if v.format == agentview.FormatText {
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	}
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(v.body)
	return err
}
