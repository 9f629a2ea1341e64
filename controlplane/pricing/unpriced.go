package pricing

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/prices"
)

// runReader finds the models of stored spans that have no cost, and the clients whose costs differ from the computed ones.
type runReader interface {
	UncostedModels(ctx context.Context, projects access.Projects, since time.Time) ([]runs.UncostedModel, error)
	CostDifferences(ctx context.Context, projects access.Projects, since time.Time) ([]runs.CostDifference, error)
}

// unpricedPeriod is the period in which models without a price, and differences of costs, are searched.
const unpricedPeriod = 7 * 24 * time.Hour

// Differences returns the clients that sent the project other costs in the last 7 days than their tokens have by the prices.
func (s *Service) Differences(ctx context.Context, grant access.Grant) ([]runs.CostDifference, error) {
	return s.runs.CostDifferences(ctx, grant.Projects, s.now().Add(-unpricedPeriod))
}

// UnpricedModel is a model without a known price.
type UnpricedModel struct {
	Provider, Model string
	Spans           uint64
	LastSeen        time.Time
}

// Unpriced returns the models that the project used in the last 7 days and that have no price, sorted by the number of
// spans in descending order.
func (s *Service) Unpriced(ctx context.Context, grant access.Grant) ([]UnpricedModel, error) {
	rows, err := s.overrides(ctx, grant)
	if err != nil {
		return nil, err
	}
	models, err := s.runs.UncostedModels(ctx, grant.Projects, s.now().Add(-unpricedPeriod))
	if err != nil {
		return nil, err
	}
	overrides := make([]prices.Override, len(rows))
	for i := range rows {
		overrides[i] = rows[i].override()
	}
	matcher := prices.Default().WithOverrides(overrides)
	type name struct{ provider, model string }
	sums := map[name]UnpricedModel{}
	for _, m := range models {
		if matcher.Price(&prices.Call{
			Provider: m.Provider, RequestModel: m.RequestModel, ResponseModel: m.ResponseModel, Start: m.LastStart,
		}) != nil {
			continue
		}
		key := name{m.Provider, cmp.Or(m.ResponseModel, m.RequestModel)}
		sum := sums[key]
		sum.Provider, sum.Model, sum.Spans = key.provider, key.model, sum.Spans+m.Spans
		if m.LastStart.After(sum.LastSeen) {
			sum.LastSeen = m.LastStart
		}
		sums[key] = sum
	}
	list := make([]UnpricedModel, 0, len(sums))
	for _, sum := range sums {
		list = append(list, sum)
	}
	slices.SortFunc(list, func(a, b UnpricedModel) int {
		return cmp.Or(cmp.Compare(b.Spans, a.Spans), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider))
	})
	return list, nil
}
