package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
)

type providerHandlers struct {
	providers *providers.Service
}

// ListProviders lists connections to model providers.
func (h providerHandlers) ListProviders(ctx context.Context, req contract.ListProvidersRequestObject) (contract.ListProvidersResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.providers.List(ctx, grantOf(ctx), page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Provider, len(list))
	for i := range list {
		data[i] = providerOf(&list[i])
	}
	return contract.ListProviders200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateProvider creates a connection.
func (h providerHandlers) CreateProvider(ctx context.Context, req contract.CreateProviderRequestObject) (contract.CreateProviderResponseObject, error) {
	b := req.Body
	change := providers.Change{
		Name: &b.Name, Kind: llm.Kind(b.Kind), BaseURL: b.BaseUrl, APIKey: &b.ApiKey, Headers: valueOf(b.Headers, nil), MaxConcurrency: b.MaxConcurrency,
		RequestsPerMinute: &b.RequestsPerMinute, AllowUnpriced: b.AllowUnpriced,
	}
	if b.MonthlyBudgetUsd != nil {
		change.MonthlyBudget = new(new(providers.MoneyOf(*b.MonthlyBudgetUsd)))
	}
	created, err := h.providers.Create(ctx, grantOf(ctx), change)
	if err != nil {
		return nil, err
	}
	location := "/v1/providers/" + created.ID.String()
	return contract.CreateProvider201JSONResponse{
		Body: providerOf(&created), Headers: contract.CreateProvider201ResponseHeaders{Location: &location},
	}, nil
}

// GetProvider reads a connection.
func (h providerHandlers) GetProvider(ctx context.Context, req contract.GetProviderRequestObject) (contract.GetProviderResponseObject, error) {
	found, err := h.providers.Get(ctx, grantOf(ctx).Projects, req.ProviderId)
	if err != nil {
		return nil, err
	}
	return contract.GetProvider200JSONResponse(providerOf(&found)), nil
}

// UpdateProvider changes a connection.
func (h providerHandlers) UpdateProvider(ctx context.Context, req contract.UpdateProviderRequestObject) (contract.UpdateProviderResponseObject, error) {
	b := req.Body
	change := providers.Change{Name: b.Name, BaseURL: b.BaseUrl, MaxConcurrency: b.MaxConcurrency, AllowUnpriced: b.AllowUnpriced}
	if b.Headers != nil {
		change.Headers = *b.Headers
	}
	var err error
	if change.APIKey, err = nullable[string]("api_key", b.ApiKey); err != nil {
		return nil, err
	}
	if change.RequestsPerMinute, err = nullable[int]("requests_per_minute", b.RequestsPerMinute); err != nil {
		return nil, err
	}
	budget, err := nullable[float64]("monthly_budget_usd", b.MonthlyBudgetUsd)
	if err != nil {
		return nil, err
	}
	if budget != nil {
		change.MonthlyBudget = new(*providers.Money)
		if *budget != nil {
			*change.MonthlyBudget = new(providers.MoneyOf(**budget))
		}
	}
	updated, err := h.providers.Update(ctx, grantOf(ctx), req.ProviderId, change)
	if err != nil {
		return nil, err
	}
	return contract.UpdateProvider200JSONResponse(providerOf(&updated)), nil
}

// nullable reads a member of a change: nil if it is absent, a pointer to nil if it is null.
func nullable[T any](name string, raw json.RawMessage) (**T, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // it is absent
	}
	value := new(*T)
	if jsontext.IsNull(raw) {
		return value, nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return nil, problem.InvalidField("body."+name, fmt.Sprintf("must be of the type %T, or null", **value))
	}
	return value, nil
}

// DeleteProvider deletes a connection with its key.
func (h providerHandlers) DeleteProvider(ctx context.Context, req contract.DeleteProviderRequestObject) (contract.DeleteProviderResponseObject, error) {
	if err := h.providers.Delete(ctx, grantOf(ctx), req.ProviderId); err != nil {
		return nil, err
	}
	return contract.DeleteProvider204Response{}, nil
}

// ListProviderModels lists the models of a connection.
func (h providerHandlers) ListProviderModels(ctx context.Context, req contract.ListProviderModelsRequestObject) (contract.ListProviderModelsResponseObject, error) {
	found, err := h.providers.Get(ctx, grantOf(ctx).Projects, req.ProviderId)
	if err != nil {
		return nil, err
	}
	models, unlisted, err := h.providers.Models(ctx, &found)
	if err != nil {
		return nil, err
	}
	data := make([]contract.ProviderModel, len(models))
	for i, m := range models {
		data[i] = contract.ProviderModel{Id: m.ID, Listed: m.Listed, Notes: make([]contract.ModelParameterNote, len(m.Notes)), OutputStrategy: (*contract.OutputStrategy)(m.OutputStrategy)}
		if m.Price != nil {
			data[i].Price = &contract.ProviderModelPrice{Input: m.Price.Input, Output: m.Price.Output}
		}
		for j, note := range m.Notes {
			data[i].Notes[j] = contract.ModelParameterNote{Parameter: note.Parameter, Message: note.Message, LearnedAt: note.LearnedAt.UTC()}
		}
	}
	return contract.ListProviderModels200JSONResponse{Data: data, Listed: unlisted == "", Message: known(unlisted)}, nil
}

// TestProvider tests a connection.
func (h providerHandlers) TestProvider(ctx context.Context, req contract.TestProviderRequestObject) (contract.TestProviderResponseObject, error) {
	grant := grantOf(ctx)
	found, err := h.providers.Get(ctx, grant.Projects, req.ProviderId)
	if err != nil {
		return nil, err
	}
	result, err := h.providers.Test(ctx, grant, &found, valueOf(req.Body.Model, ""))
	if err != nil {
		return nil, err
	}
	answer := contract.ProviderTestResult{Reachable: result.Reachable, Authenticated: result.Authenticated, DurationMs: milliseconds(result.Duration)}
	answer.Features.Chat, answer.Features.Streaming = result.Chat, result.Streaming
	answer.Features.Tools, answer.Features.JsonSchema = result.Tools, result.JSONSchema
	if p := result.Problem; p != nil {
		answer.Message, answer.Code = &p.Detail, &p.Code
	}
	return contract.TestProvider200JSONResponse(answer), nil
}

// GetSpending reads what calls of models cost.
func (h providerHandlers) GetSpending(ctx context.Context, req contract.GetSpendingRequestObject) (contract.GetSpendingResponseObject, error) {
	now := time.Now().UTC()
	start := valueOf(req.Params.Start, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)).UTC()
	end := valueOf(req.Params.End, now).UTC()
	by := providers.Group(valueOf(req.Params.GroupBy, contract.SpendingGroupProvider))
	found, err := h.providers.Spending(ctx, grantOf(ctx), start, end, by)
	if err != nil {
		return nil, err
	}
	answer := contract.GetSpending200JSONResponse{Start: start, End: end, Total: spendingOf(&found.Total), Rows: make([]contract.SpendingRow, len(found.Rows))}
	for i := range found.Rows {
		row := &found.Rows[i]
		answer.Rows[i] = contract.SpendingRow{Key: row.Key, Label: valueOf(row.Label, row.Key), Totals: spendingOf(&row.Totals)}
	}
	if found.Other != nil {
		answer.Other = new(spendingOf(found.Other))
	}
	return answer, nil
}

func spendingOf(t *providers.Totals) contract.SpendingTotals {
	return contract.SpendingTotals{
		CallCount: t.Calls, FailedCount: t.Failed, RunningCount: t.Running, CostUsd: t.Cost.Dollars(), BoundedUsd: t.Bounded.Dollars(),
		BoundedCount: t.BoundedCalls, UnpricedCount: t.Unpriced, ReservedUsd: t.Reserved.Dollars(),
	}
}

func providerOf(p *providers.Provider) contract.Provider {
	shown := contract.Provider{
		Id: p.ID, ProjectId: p.ProjectID, Name: p.Name, Kind: contract.ProviderKind(p.Kind), BaseUrl: p.BaseURL, KeyHint: p.KeyHint,
		KeyReadable: p.KeyReadable, HeaderNames: p.HeaderNames, MaxConcurrency: p.MaxConcurrency, RequestsPerMinute: p.RequestsPerMinute,
		AllowUnpriced: p.AllowUnpriced, CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
		Month:     contract.ProviderMonth{Start: p.Month.UTC(), SpentUsd: p.Spent.Dollars(), ReservedUsd: p.Reserved.Dollars()},
		Activity:  contract.ProviderActivity{ConcurrencyLimit: p.ConcurrencyLimit, Running: p.Running, LastLimitedAt: p.LimitedAt, PausedUntil: p.PausedUntil},
		CreatedBy: contract.Author{Email: p.AuthorEmail, Key: p.AuthorKey},
	}
	if p.MonthlyBudget != nil {
		shown.MonthlyBudgetUsd = new(p.MonthlyBudget.Dollars())
	}
	return shown
}
