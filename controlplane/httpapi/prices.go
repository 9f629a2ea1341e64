package httpapi

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type priceHandlers struct {
	pricing *pricing.Service
}

// ListPrices lists the token prices of a project.
func (h priceHandlers) ListPrices(ctx context.Context, req contract.ListPricesRequestObject) (contract.ListPricesResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	source := valueOf(req.Params.Source, "")
	list, more, err := h.pricing.List(ctx, grantOf(ctx), pricing.Query{
		Own: source != contract.PriceSourceTable, Table: source != contract.PriceSourceProject,
		Search: valueOf(req.Params.Search, ""), Page: page,
	})
	if err != nil {
		return nil, err
	}
	data := make([]contract.Price, len(list))
	for i := range list {
		data[i] = priceOf(&list[i])
	}
	return contract.ListPrices200JSONResponse{
		Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more, TableVersion: prices.Default().Version,
	}, nil
}

// CreatePrice adds a price to a project.
func (h priceHandlers) CreatePrice(ctx context.Context, req contract.CreatePriceRequestObject) (contract.CreatePriceResponseObject, error) {
	own, err := h.pricing.Create(ctx, grantOf(ctx), overrideOf(req.Body))
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + req.ProjectId.String() + "/prices/" + own.ID.String()
	return contract.CreatePrice201JSONResponse{
		Body: priceOf(&own), Headers: contract.CreatePrice201ResponseHeaders{Location: &location},
	}, nil
}

// SetPrice replaces a project's own price.
func (h priceHandlers) SetPrice(ctx context.Context, req contract.SetPriceRequestObject) (contract.SetPriceResponseObject, error) {
	own, err := h.pricing.Set(ctx, grantOf(ctx), req.PriceId, overrideOf(req.Body))
	if err != nil {
		return nil, err
	}
	return contract.SetPrice200JSONResponse(priceOf(&own)), nil
}

// DeletePrice deletes a project's own price.
func (h priceHandlers) DeletePrice(ctx context.Context, req contract.DeletePriceRequestObject) (contract.DeletePriceResponseObject, error) {
	if err := h.pricing.Delete(ctx, grantOf(ctx), req.PriceId); err != nil {
		return nil, err
	}
	return contract.DeletePrice204Response{}, nil
}

// ListUnpricedModels lists recently used models without a known price.
func (h priceHandlers) ListUnpricedModels(ctx context.Context, _ contract.ListUnpricedModelsRequestObject) (contract.ListUnpricedModelsResponseObject, error) {
	models, err := h.pricing.Unpriced(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	data := make([]contract.UnpricedModel, len(models))
	for i, m := range models {
		data[i] = contract.UnpricedModel{Provider: m.Provider, Model: m.Model, SpanCount: count(m.Spans), LastSeen: m.LastSeen.UTC()}
	}
	return contract.ListUnpricedModels200JSONResponse{Data: data}, nil
}

// ListCostDifferences lists clients whose costs differ from the computed ones.
func (h priceHandlers) ListCostDifferences(ctx context.Context, _ contract.ListCostDifferencesRequestObject) (contract.ListCostDifferencesResponseObject, error) {
	differences, err := h.pricing.Differences(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	data := make([]contract.CostDifference, len(differences))
	for i, d := range differences {
		data[i] = contract.CostDifference{
			Client: d.Client, Version: d.Version, Model: d.Model, SpanCount: count(d.Spans), SentUsd: runmodel.RoundUSD(d.Sent, 15),
			ComputedUsd: runmodel.RoundUSD(d.Computed, 15), LastSeen: d.LastSeen.UTC(),
		}
	}
	return contract.ListCostDifferences200JSONResponse{Data: data}, nil
}

func overrideOf(body *contract.PriceWrite) prices.Override {
	return prices.Override{
		Provider: valueOf(body.Provider, ""), Model: body.Model, From: valueOf(body.ValidFrom, time.Time{}),
		Rates: prices.Rates{
			Input: body.Input, Output: body.Output, CacheRead: body.CacheRead,
			CacheWrite: body.CacheWrite, CacheWrite1h: body.CacheWrite1h, Reasoning: body.Reasoning,
		},
	}
}

func priceOf(p *pricing.Price) contract.Price {
	source := contract.PriceSourceTable
	if p.ID != nil {
		source = contract.PriceSourceProject
	}
	price := contract.Price{
		Id: p.ID, Source: source, Version: p.Version, Provider: p.Provider, Model: p.Pattern, ValidFrom: present(p.From),
		Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWrite1h: p.CacheWrite1h,
		Reasoning: p.Reasoning, Tiers: make([]contract.PriceTier, len(p.Tiers)), Url: known(p.Source),
	}
	for i, t := range p.Tiers {
		price.Tiers[i] = contract.PriceTier{
			Above: t.Above, Input: t.Input, Output: t.Output, CacheRead: t.CacheRead,
			CacheWrite: t.CacheWrite, CacheWrite1h: t.CacheWrite1h, Reasoning: t.Reasoning,
		}
	}
	return price
}
