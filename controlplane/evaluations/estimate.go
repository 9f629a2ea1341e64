package evaluations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/tokens"
	"github.com/looptrace/looptrace/internal/problem"
)

// Estimate is what an evaluation will do, and what it may cost.
type Estimate struct {
	Items       int64  `json:"items"`
	Calls       int64  `json:"calls"`
	JudgeCalls  int64  `json:"judge_calls"`
	InputTokens *int64 `json:"input_tokens"`
	// Low is the cost of the inputs alone, High that with the longest outputs. They are nil if unknown.
	Low            *providers.Money `json:"low"`
	High           *providers.Money `json:"high"`
	Basis          string           `json:"basis"`
	UnpricedModels []string         `json:"unpriced_models"`
	Incompatible   int64            `json:"incompatible"`
	Missing        []Missing        `json:"missing"`
	// Runs are those that a filter found, nil for other targets.
	Runs *FoundRuns `json:"runs,omitempty"`
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
	e.Runs = n.Config.Target.Found
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
	e.Low, e.High = new(providers.Money(0)), new(providers.Money(0))
	all := int64(0)
	for i, r := range p.renderers {
		if r == nil {
			continue
		}
		times := (e.Items - e.Incompatible) * int64(n.Repeats)
		input, err := r.pilotTokens(p.pilot)
		if err != nil {
			return err
		}
		location := "body." + SideNames[i]
		if n.Kind == EvalRun {
			location = "body.target.config"
		}
		e.Calls += times
		all += int64(input * float64(times))
		if r.side.ProviderName, err = s.price(ctx, grant, location, r.side.ProviderID, &r.config, input, times, e); err != nil {
			return err
		}
	}
	for i := range p.panels {
		for j := range p.panels[i].judges {
			judgeTokens, err := s.estimateJudge(ctx, grant, n, p, i, j)
			if err != nil {
				return err
			}
			all += judgeTokens
		}
	}
	if len(p.pilot) > 0 {
		e.InputTokens = &all
	}
	return nil
}

// price adds the cost of calls to an estimate, and returns the name of their connection.
func (s *Service) price(
	ctx context.Context, grant access.Grant, location string, provider uuid.UUID, config *completions.Config, input float64, times int64, e *Estimate,
) (string, error) {
	connection, err := s.providers.Connect(ctx, grant.Projects, provider, config.Model)
	if err != nil {
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField(location+".provider_id", "is no connection of the project")
		}
		return "", err //nolint:wrapcheck // it is for the client
	}
	if !connection.Priced() && !slices.Contains(e.UnpricedModels, config.Model) {
		e.UnpricedModels = append(e.UnpricedModels, config.Model)
	}
	one, most := connection.Estimate(int64(input), config.MaxOutputTokens)
	e.Low, e.High = sum(e.Low, one, times), sum(e.High, most, times)
	return connection.Provider.Name, nil
}

// judgedTokens is what an output is taken to have where it is not known yet.
const judgedTokens = 300

// estimateJudge adds the calls of a judge to the estimate, and returns its tokens. An escalation may be asked about every output.
func (s *Service) estimateJudge(ctx context.Context, grant access.Grant, n *Wanted, p *plan, at, j int) (int64, error) {
	e, ready, one := &p.estimate, &p.panels[at], &p.panels[at].judges[j]
	outputs := (e.Items - e.Incompatible) * int64(n.Config.repeats())
	votes := outputs * int64(one.repeats)
	location := fmt.Sprintf("body.panels[%d].judges[%d]", at, j)
	if j == len(ready.Judges) {
		location = fmt.Sprintf("body.panels[%d].escalation", at)
	}
	input := 0.0
	for i := range p.pilot {
		item := &p.pilot[i]
		about := judge.Item{Input: raw(&item.Input), ReferenceOutput: raw(&item.ReferenceOutput), Metadata: raw(&item.Metadata)}
		question, err := one.try(&about)
		if err != nil {
			return 0, err
		}
		counted, err := countTokens(question.Messages)
		if err != nil {
			return 0, err
		}
		input += float64(counted+judgedTokens) / float64(len(p.pilot))
	}
	calls, before := votes+1, e.Low // and its canary
	e.Calls += calls
	e.JudgeCalls += calls
	name, err := s.price(ctx, grant, location, one.Definition().ProviderID, &one.config, input, calls, e)
	one.stored.ProviderName = name
	if j == len(ready.Judges) { // that may be asked about none
		e.Low = before
	}
	return int64(input * float64(calls)), err
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

// countTokens counts the tokens of messages, about.
func countTokens(messages []json.RawMessage) (int, error) {
	codec := tokens.Codec()
	total := 0
	for _, message := range messages {
		n, err := codec.Count(string(message))
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		total += n
	}
	return total, nil
}
