package execute

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// tryWait is how long a call of a judge that somebody tries waits for a place, and tryAttempts how often it is tried.
	tryWait, tryAttempts = time.Minute, 2
	// trySeed is that of a canary that somebody tries.
	trySeed = 1
)

// JudgeSample is an output that a judge is tried on.
type JudgeSample struct {
	Item   judge.Item
	Output judge.Output
}

// Tried is what a judge was asked, and its vote.
type Tried struct {
	Question *judge.Question
	Vote     evaluations.Vote
}

// TryJudge asks a judge of scores once about each sample, and about its canary. It stores no vote.
func (s *Worker) TryJudge(ctx context.Context, grant access.Grant, stored *evaluations.Judge, samples []JudgeSample, maxCost providers.Money) ([]Tried, Tried, judge.Finding, error) {
	var canaryTried Tried
	project, err := grant.Project()
	if err != nil {
		return nil, canaryTried, "", err
	}
	one, err := stored.Ready("body.judge")
	if err != nil {
		return nil, canaryTried, "", err
	}
	if one.Definition().Type != judge.TypeScore {
		return nil, canaryTried, "", problem.InvalidField("body.judge.type", "must be score: a preference is tried in a comparison")
	}
	panels := []evaluations.ReadyPanel{{Panel: &evaluations.Panel{Name: one.Name, Kind: judge.TypeScore, Judges: []evaluations.Judge{*stored}}, Scale: one.Definition().Scale, All: []evaluations.ReadyJudge{one}}}
	a := s.apart(panels, completions.Caller{
		Projects: grant.Projects, Project: project, Feature: providers.FeatureEvaluation, Source: runmodel.SourceEvaluation, User: grant.CreatedBy(), KeyName: grant.CreatedByKey(),
		Attempts: tryAttempts, MaxWait: tryWait,
	}, &maxCost, true)
	if _, err := s.providers.Connect(ctx, grant.Projects, one.Definition().ProviderID, one.Config.Model); err != nil {
		if problem.Is(err, problem.NotFound) {
			err = problem.InvalidField("body.judge.provider_id", "is no connection of the project")
		}
		return nil, canaryTried, "", err
	}
	canary := one.Canary(trySeed)
	list := make([]Tried, len(samples)+1)
	group, ctx := errgroup.WithContext(ctx)
	for i := range list {
		at, question := "", &judge.Question{}
		if i < len(samples) {
			at = fmt.Sprintf("body.samples[%d]", i)
			question, err = one.Ask(&samples[i].Item, &samples[i].Output, trySeed)
		} else {
			question, err = canary.Ask("", trySeed)
		}
		if refused := problem.Of(err); refused != nil {
			return nil, canaryTried, "", problem.InvalidField(at, "cannot be judged: "+refused.Error())
		}
		if err != nil {
			return nil, canaryTried, "", fmt.Errorf("ask the judge: %w", err)
		}
		list[i].Question = question
		group.Go(func() error {
			vote, err := a.ask(ctx, &voteRequest{VoteKey: evaluations.VoteKey{Number: int32(i + 1), Repeat: 1, Vote: 1}, question: question})
			if err == nil && vote == nil {
				err = &problem.Error{Kind: problem.PaymentRequired, Code: "budget_exceeded", Detail: "The votes cost more than max_cost_usd, or than the connection's budget allows. Raise it, or take fewer samples."}
			}
			if err == nil {
				list[i].Vote = a.panels[0].Shown(vote)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, canaryTried, "", err //nolint:wrapcheck // by those who ask
	}
	canaryTried = list[len(samples)]
	v := &canaryTried.Vote
	return list[:len(samples)], canaryTried, canary.Check(&judge.Vote{Status: v.Status, Value: v.Value, Label: optional.Value(v.Label)}), nil
}
