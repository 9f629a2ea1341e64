package evaluations

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/problem"
)

// Estimate is what an evaluation will do, and what it may cost.
type Estimate struct {
	Items       int64  `json:"items"`
	Calls       int64  `json:"calls"`
	InputTokens *int64 `json:"input_tokens"`
	// Low is the cost of the inputs alone, High that with the longest outputs. They are nil if unknown.
	Low            *providers.Money `json:"low"`
	High           *providers.Money `json:"high"`
	Basis          string           `json:"basis"`
	UnpricedModels []string         `json:"unpriced_models"`
	Incompatible   int64            `json:"incompatible"`
	Missing        []Missing        `json:"missing"`
}

// The bases of estimates.
const (
	BasisTokens = "tokens"
	BasisPilot  = "pilot"
)

// Missing is why items cannot be rendered.
type Missing struct {
	Side     string   `json:"side"`
	Variable string   `json:"variable"`
	Reason   string   `json:"reason"`
	Items    int64    `json:"items"`
	Examples []string `json:"examples"`
}

// estimate estimates the cost from the items of the pilot.
func (s *Service) estimate(ctx context.Context, grant access.Grant, n *Wanted, p *plan) error {
	e := &p.estimate
	e.Items, e.Basis, e.UnpricedModels, e.Missing = int64(len(p.items)), BasisTokens, []string{}, []Missing{}
	for i := range p.items {
		if p.items[i].skipped != "" {
			e.Incompatible++
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(p.missing), func(a, b missingKey) int {
		return cmp.Or(cmp.Compare(p.missing[b].Items, p.missing[a].Items), cmp.Compare(a.side+a.variable, b.side+b.variable))
	}) {
		e.Missing = append(e.Missing, *p.missing[key])
	}
	low, high := new(providers.Money(0)), new(providers.Money(0))
	tokens := int64(0)
	for i, r := range p.renderers {
		if r == nil {
			continue
		}
		perSide := (e.Items - e.Incompatible) * int64(n.Repeats)
		e.Calls += perSide
		connection, err := s.providers.Connect(ctx, grant.Projects, r.side.ProviderID, r.config.Model)
		if err != nil {
			if problem.Is(err, problem.NotFound) {
				err = problem.InvalidField("body."+SideNames[i]+".provider_id", "is no connection of the project")
			}
			return err //nolint:wrapcheck // it is for the client
		}
		r.side.ProviderName = connection.Provider.Name
		if !connection.Priced() && !slices.Contains(e.UnpricedModels, r.config.Model) {
			e.UnpricedModels = append(e.UnpricedModels, r.config.Model)
		}
		input, err := r.pilotTokens(p.pilot)
		if err != nil {
			return err
		}
		tokens += int64(input * float64(perSide))
		one, most := connection.Estimate(int64(input), r.config.MaxOutputTokens)
		low, high = sum(low, one, perSide), sum(high, most, perSide)
	}
	if len(p.pilot) > 0 {
		e.InputTokens = &tokens
	}
	e.Low, e.High = low, high
	return nil
}

// sum adds an amount a number of times. The sum with an unknown amount is unknown.
func sum(total, one *providers.Money, times int64) *providers.Money {
	if total == nil || one == nil {
		return nil
	}
	return new(*total + *one*providers.Money(times))
}

// pilotTokens returns the mean number of tokens of the pilot's items.
func (r *renderer) pilotTokens(items []datasets.Item) (float64, error) {
	total := 0
	for i := range items {
		rendered, _, err := r.render(&items[i])
		if err != nil {
			return 0, err
		}
		count, err := rendered.Tokens()
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		total += count
	}
	return float64(total) / float64(max(1, len(items))), nil
}
