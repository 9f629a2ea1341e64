package execute

import (
	"context"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
)

// Estimate estimates what a number of outputs costs that are like some samples, and fills in the names of connections. Each judge is asked
// once, escalations perhaps.
func (sc *Scorer) Estimate(ctx context.Context, grant access.Grant, samples []*grader.Sample, outputs int64) (*evaluations.Estimate, error) {
	e := &evaluations.Estimate{Items: outputs, Low: new(providers.Money(0)), High: new(providers.Money(0)), UnpricedModels: []string{}}
	for i := range sc.panels {
		ready := &sc.panels[i]
		for j := range ready.All {
			one := &ready.All[j]
			input, err := sc.judgeTokens(one, samples)
			if err != nil {
				return nil, err
			}
			calls, before := outputs*int64(one.Repeats), e.Low
			one.Stored.ProviderName, err = e.AddCosts(ctx, sc.providers, grant.Projects, ready.JudgePath("body.panels", i, j), one.Definition().ProviderID, &one.Config, input, calls)
			if err != nil {
				return nil, err
			}
			if j == len(ready.Judges) { // that may be asked about none
				e.Low = before
				continue
			}
			e.Calls += calls
		}
	}
	e.JudgeCalls = e.Calls
	if len(samples) == 0 {
		e.Low, e.High = nil, nil
	}
	return e, nil
}

// Votes returns how many votes an output has, without escalations.
func (sc *Scorer) Votes() (votes int64) {
	for i := range sc.panels {
		for _, one := range sc.panels[i].Regular() {
			votes += int64(one.Repeats)
		}
	}
	return votes
}

// judgeTokens returns the mean number of tokens that a judge is asked about samples. It is 0 without any.
func (sc *Scorer) judgeTokens(one *evaluations.ReadyJudge, samples []*grader.Sample) (mean float64, err error) {
	for _, sample := range samples {
		output, err := sc.one(&ScoreRequest{Sample: sample})
		if err != nil {
			return 0, err
		}
		question, err := one.Ask(&output.item, &output.output, 0)
		if err != nil {
			return 0, fmt.Errorf("ask the judge %s: %w", one.Name, err)
		}
		counted, err := evaluations.CountTokens(question.Messages)
		if err != nil {
			return 0, err
		}
		mean += float64(counted) / float64(len(samples))
	}
	return mean, nil
}
