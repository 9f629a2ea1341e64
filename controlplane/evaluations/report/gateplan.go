package report

import (
	"context"
	"fmt"
	"strconv"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// GatePlan says which margin the items of a gate support.
type GatePlan struct {
	// Margin is the one that was asked, or Default, which follows the items. Unsupported is whether Default is the widest that is taken by
	// itself, and these items need a wider one.
	Margin, Default float64
	Unsupported     bool
	// Items are those that both sides have; Needed how many let a candidate that is as good as the baseline pass at Margin in 80% of cases, nil
	// if that is not known.
	Items    int
	Needed   *compare.Count
	Sentence string
}

// PlanGate says which margin the items of a gate support, and how many items a margin needs. It decides nothing.
func (s *Reporter) PlanGate(ctx context.Context, grant access.Grant, q *GateQuestion) (*GatePlan, error) {
	read, err := s.readGate(ctx, grant, q)
	if err != nil {
		return nil, err
	}
	decided, err := read.decide(nil, q.Repeated)
	if err != nil && q.Margin == nil {
		return nil, err
	}
	p := &GatePlan{Margin: decided.Margin, Default: decided.Margin, Unsupported: decided.Unsupported, Items: decided.Comparison.Items.Paired}
	if q.Margin != nil {
		p.Margin = *q.Margin
	}
	if noise, ok := compare.NoiseOf(read.Items, !read.metric.IsShare()); ok && decided.Comparison.Judged == nil {
		p.Needed = new(noise.Items(p.Margin, evaluations.Level, results.DefaultPower))
	}
	p.Sentence = p.sentence(read.metric, q.Margin == nil)
	return p, nil
}

func (p *GatePlan) sentence(m *results.Metric, isDefault bool) string {
	have, margin := "you have "+wording.Thousands(p.Items), marginText(m, p.Margin)
	needs := ""
	if p.Needed != nil {
		needs = wording.CountRange(*p.Needed, "items")
	}
	switch {
	case isDefault && !p.Unsupported:
		return fmt.Sprintf("A margin of %s is what these %s support: an unchanged system passes in 8 of 10 cases.", margin, wording.Items(int64(p.Items)))
	case p.Needed == nil:
		return fmt.Sprintf("How many items a margin of %s needs is not known; %s.", margin, have)
	case needs == "":
		return fmt.Sprintf("No number of items decides a margin of %s.", margin)
	case isDefault:
		return fmt.Sprintf("The margin is %s unless you name one, which needs %s; %s.", margin, needs, have)
	}
	return fmt.Sprintf("A margin of %s needs %s; %s.", margin, needs, have)
}

// marginText writes a margin. That of an amount may be a part of a mean, which has many digits.
func marginText(m *results.Metric, margin float64) string {
	u := wording.UnitOf(m.Kind)
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(margin, 'g', 4, 64), 64); err == nil && !m.IsShare() {
		margin = rounded
	}
	return u.Exact(margin) + u.Name
}
