package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/prices"
)

// ListPrices lists what tokens cost a project.
func (a *api) ListPrices(ctx context.Context, req ListPricesRequestObject) (ListPricesResponseObject, error) {
	own, err := a.identity.PriceOverrides(ctx, callOf(ctx).principal, req.ProjectId)
	if err != nil {
		return nil, err
	}
	page := pageOf(req.Params.Limit, req.Params.Offset)
	source := valueOf(req.Params.Source, "")
	search := strings.ToLower(valueOf(req.Params.Search, ""))
	table := prices.Default()
	found := make([]Price, 0, page.Limit+1)
	at := 0
	add := func(provider, model string, price func() Price) {
		if !strings.Contains(provider+" "+model, search) {
			return
		}
		if at >= page.Offset && len(found) <= page.Limit {
			found = append(found, price())
		}
		at++
	}
	if source != PriceSourceTable {
		for i := range own {
			add(own[i].Provider, own[i].Model, func() Price { return ownPriceOf(&own[i]) })
		}
	}
	if source != PriceSourceProject {
		for _, p := range table.Prices {
			add(p.Provider, p.Pattern, func() Price { return tablePriceOf(p) })
		}
	}
	more := len(found) > page.Limit
	return ListPrices200JSONResponse{
		Data: found[:min(len(found), page.Limit)], Limit: page.Limit, Offset: page.Offset, HasMore: more, TableVersion: table.Version,
	}, nil
}

// CreatePrice gives a project a price of its own.
func (a *api) CreatePrice(ctx context.Context, req CreatePriceRequestObject) (CreatePriceResponseObject, error) {
	own, err := a.identity.CreatePriceOverride(ctx, callOf(ctx).principal, req.ProjectId, overrideOf(req.Body))
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + req.ProjectId.String() + "/prices/" + own.ID.String()
	return CreatePrice201JSONResponse{
		Body: ownPriceOf(&own), Headers: CreatePrice201ResponseHeaders{Location: &location},
	}, nil
}

// SetPrice replaces a project's own price.
func (a *api) SetPrice(ctx context.Context, req SetPriceRequestObject) (SetPriceResponseObject, error) {
	own, err := a.identity.SetPriceOverride(ctx, callOf(ctx).principal, req.ProjectId, req.PriceId, overrideOf(req.Body))
	if err != nil {
		return nil, err
	}
	return SetPrice200JSONResponse(ownPriceOf(&own)), nil
}

// DeletePrice takes a project's own price away.
func (a *api) DeletePrice(ctx context.Context, req DeletePriceRequestObject) (DeletePriceResponseObject, error) {
	if err := a.identity.DeletePriceOverride(ctx, callOf(ctx).principal, req.ProjectId, req.PriceId); err != nil {
		return nil, err
	}
	return DeletePrice204Response{}, nil
}

// unpricedSince is how far back models without a price are looked for.
const unpricedSince = 7 * 24 * time.Hour

// ListUnpricedModels lists the models that the project used lately and whose price is not known.
func (a *api) ListUnpricedModels(ctx context.Context, req ListUnpricedModelsRequestObject) (ListUnpricedModelsResponseObject, error) {
	scope, err := readable(ctx, &req.ProjectId)
	if err != nil {
		return nil, err
	}
	own, err := a.identity.PriceOverrides(ctx, callOf(ctx).principal, req.ProjectId)
	if err != nil {
		return nil, err
	}
	models, err := a.runs.UncostedModels(ctx, scope, time.Now().Add(-unpricedSince))
	if err != nil {
		return nil, err
	}
	overrides := make([]prices.Override, len(own))
	for i := range own {
		overrides[i] = own[i].Override
	}
	return ListUnpricedModels200JSONResponse{Data: unpricedOf(models, prices.Default().WithOverrides(overrides))}, nil
}

// unpricedOf leaves out the models that have a price by now, and adds up those of one name.
func unpricedOf(models []runs.UncostedModel, matcher *prices.Matcher) []UnpricedModel {
	type name struct{ provider, model string }
	found := map[name]*UnpricedModel{}
	for _, m := range models {
		if matcher.Price(&prices.Call{
			Provider: m.Provider, RequestModel: m.RequestModel, ResponseModel: m.ResponseModel, Start: m.LastStart,
		}) != nil {
			continue
		}
		key := name{m.Provider, cmp.Or(m.ResponseModel, m.RequestModel)}
		sum, ok := found[key]
		if !ok {
			sum = &UnpricedModel{Provider: key.provider, Model: key.model}
			found[key] = sum
		}
		sum.SpanCount += int64(m.Spans)
		if m.LastStart.After(sum.LastSeen) {
			sum.LastSeen = m.LastStart.UTC()
		}
	}
	list := make([]UnpricedModel, 0, len(found))
	for _, sum := range found {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b UnpricedModel) int {
		return cmp.Or(cmp.Compare(b.SpanCount, a.SpanCount), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider))
	})
	return list
}

func overrideOf(body *PriceWrite) prices.Override {
	return prices.Override{
		Provider: valueOf(body.Provider, ""), Model: body.Model, From: valueOf(body.ValidFrom, time.Time{}),
		Rates: prices.Rates{
			Input: body.Input, Output: body.Output, CacheRead: body.CacheRead,
			CacheWrite: body.CacheWrite, CacheWrite1h: body.CacheWrite1h, Reasoning: body.Reasoning,
		},
	}
}

func ownPriceOf(own *identity.PriceOverride) Price {
	return priceOf(&own.ID, PriceSourceProject, &prices.Price{
		Provider: own.Provider, Pattern: own.Model, From: own.From, Rates: own.Rates, Version: prices.VersionOf(own.Revision),
	})
}

func tablePriceOf(p *prices.Price) Price { return priceOf(nil, PriceSourceTable, p) }

func priceOf(id *uuid.UUID, source PriceSource, p *prices.Price) Price {
	price := Price{
		Id: id, Source: source, Version: p.Version, Provider: p.Provider, Model: p.Pattern, ValidFrom: present(p.From),
		Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWrite1h: p.CacheWrite1h,
		Reasoning: p.Reasoning, Tiers: make([]PriceTier, len(p.Tiers)), Url: known(p.Source),
	}
	for i, t := range p.Tiers {
		price.Tiers[i] = PriceTier{
			Above: t.Above, Input: t.Input, Output: t.Output, CacheRead: t.CacheRead,
			CacheWrite: t.CacheWrite, CacheWrite1h: t.CacheWrite1h, Reasoning: t.Reasoning,
		}
	}
	return price
}
