package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// defaultTokenBudget is the budget of a view where the request does not say.
const defaultTokenBudget = 4000

type agentViewHandlers struct {
	runs excerptReader
	// fenceKey decides the marks around recorded text.
	fenceKey []byte
}

type excerptReader interface {
	outlineReader
	Excerpts(ctx context.Context, outline runs.Outline, spanIDs []uint64) ([]runs.Span, error)
}

// GetAgentView reads a run within a budget of tokens.
func (h agentViewHandlers) GetAgentView(ctx context.Context, req contract.GetAgentViewRequestObject) (contract.GetAgentViewResponseObject, error) {
	options := agentview.Options{
		Budget:   valueOf(req.Params.TokenBudget, defaultTokenBudget),
		Encoding: string(valueOf(req.Params.Encoding, agentview.EncodingO200k)),
		Format:   string(valueOf(req.Params.Format, agentview.FormatJSON)),
		Focus:    valueOf(req.Params.Focus, ""),
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

// calls name a view's further requests.
type calls struct{ format string }

// Focus is the view around a span, in the same format.
func (c calls) Focus(runID uuid.UUID, spanID string) string {
	call := "GET /v1/runs/" + runID.String() + "/agent-view?focus=" + spanID
	if c.format == agentview.FormatText {
		call += "&format=" + c.format
	}
	return call
}

// Span is the span itself.
func (calls) Span(runID uuid.UUID) string {
	return "GET /v1/runs/" + runID.String() + "/spans/{span_id}"
}

// sentView is a view byte for byte: its tokens are counted.
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
