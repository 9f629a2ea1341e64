package start

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/providers"
)

// estimate estimates the cost from the items of the pilot.
func (s *Starter) estimate(ctx context.Context, grant access.Grant, n *Wanted, p *plan) error {
	e := &p.estimate
	e.Runs = n.Config.Target.Found
	e.Items, e.Basis, e.UnpricedModels, e.Missing = int64(len(p.items)), evaluations.BasisTokens, []string{}, []evaluations.Missing{}
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
		input, err := pilotTokens(r, p.pilot)
		if err != nil {
			return err
		}
		location := "body." + evaluations.SideNames[i]
		if n.Kind == evaluations.EvalRun {
			location = "body.target.config"
		}
		e.Calls += times
		all += int64(input * float64(times))
		if r.Side.ProviderName, err = e.AddCosts(ctx, s.providers, grant.Projects, location, r.Side.ProviderID, &r.Config, input, times); err != nil {
			return err
		}
	}
	for i := range p.panels {
		for j := range p.panels[i].All {
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

// judgedTokens is what an output is taken to have where it is not known yet.
const judgedTokens = 300

// estimateJudge adds the calls of a judge to the estimate, and returns its tokens. An escalation may be asked about every output.
func (s *Starter) estimateJudge(ctx context.Context, grant access.Grant, n *Wanted, p *plan, at, j int) (int64, error) {
	e, ready, one := &p.estimate, &p.panels[at], &p.panels[at].All[j]
	outputs := (e.Items - e.Incompatible) * int64(n.Config.Repeats())
	votes := outputs * int64(one.Repeats)
	location := ready.JudgePath("body.panels", at, j)
	input := 0.0
	for i := range p.pilot {
		question, err := one.Try(evaluations.JudgeItem(&p.pilot[i]))
		if err != nil {
			return 0, err
		}
		counted, err := evaluations.CountTokens(question.Messages)
		if err != nil {
			return 0, err
		}
		input += float64(counted+judgedTokens) / float64(len(p.pilot))
	}
	calls, before := votes+1, e.Low // and its canary
	e.Calls += calls
	e.JudgeCalls += calls
	name, err := e.AddCosts(ctx, s.providers, grant.Projects, location, one.Definition().ProviderID, &one.Config, input, calls)
	one.Stored.ProviderName = name
	if j == len(ready.Judges) { // that may be asked about none
		e.Low = before
	}
	return int64(input * float64(calls)), err
}

// pilotTokens returns the mean number of tokens of the pilot's items.
func pilotTokens(r *evaluations.Renderer, items []datasets.Item) (float64, error) {
	total := 0
	for i := range items {
		rendered, _, err := r.Render(&items[i])
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
