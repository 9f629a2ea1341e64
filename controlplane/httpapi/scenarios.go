package httpapi

import (
	"context"
	"encoding/json"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/playground"
)

// ListScenarios lists saved scenarios.
func (h playgroundHandlers) ListScenarios(ctx context.Context, req contract.ListScenariosRequestObject) (contract.ListScenariosResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.playground.ListScenarios(ctx, grantOf(ctx), page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.ScenarioSummary, len(found))
	for i := range found {
		data[i] = scenarioSummaryOf(&found[i])
	}
	return contract.ListScenarios200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateScenario saves a scenario.
func (h playgroundHandlers) CreateScenario(ctx context.Context, req contract.CreateScenarioRequestObject) (contract.CreateScenarioResponseObject, error) {
	created, err := h.playground.CreateScenario(ctx, grantOf(ctx), req.Body.Name, req.Body.Content)
	if err != nil {
		return nil, err
	}
	location := "/v1/playground/scenarios/" + created.ID.String()
	return contract.CreateScenario201JSONResponse{
		Body: scenarioOf(&created), Headers: contract.CreateScenario201ResponseHeaders{Location: &location},
	}, nil
}

// GetScenario reads a scenario.
func (h playgroundHandlers) GetScenario(ctx context.Context, req contract.GetScenarioRequestObject) (contract.GetScenarioResponseObject, error) {
	found, err := h.playground.GetScenario(ctx, grantOf(ctx), req.ScenarioId)
	if err != nil {
		return nil, err
	}
	return contract.GetScenario200JSONResponse(scenarioOf(&found)), nil
}

// UpdateScenario renames a scenario, or replaces its content.
func (h playgroundHandlers) UpdateScenario(ctx context.Context, req contract.UpdateScenarioRequestObject) (contract.UpdateScenarioResponseObject, error) {
	updated, err := h.playground.UpdateScenario(ctx, grantOf(ctx), req.ScenarioId, req.Body.Name, valueOf(req.Body.Content, nil))
	if err != nil {
		return nil, err
	}
	return contract.UpdateScenario200JSONResponse(scenarioOf(&updated)), nil
}

// DeleteScenario deletes a scenario.
func (h playgroundHandlers) DeleteScenario(ctx context.Context, req contract.DeleteScenarioRequestObject) (contract.DeleteScenarioResponseObject, error) {
	if err := h.playground.DeleteScenario(ctx, grantOf(ctx), req.ScenarioId); err != nil {
		return nil, err
	}
	return contract.DeleteScenario204Response{}, nil
}

func scenarioSummaryOf(s *playground.Scenario) contract.ScenarioSummary {
	return contract.ScenarioSummary{
		Id: s.ID, ProjectId: s.ProjectID, Name: s.Name, CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
		CreatedBy: contract.Author{Email: s.AuthorEmail, Key: s.AuthorKey},
	}
}

func scenarioOf(s *playground.Scenario) contract.Scenario {
	sum := scenarioSummaryOf(s)
	return contract.Scenario{
		Id: sum.Id, ProjectId: sum.ProjectId, Name: sum.Name, CreatedAt: sum.CreatedAt, UpdatedAt: sum.UpdatedAt, CreatedBy: sum.CreatedBy,
		Content: json.RawMessage(s.Content),
	}
}
