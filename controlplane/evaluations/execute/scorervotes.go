package execute

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/problem"
)

func compareVotes(a, b evaluations.VoteKey) int {
	return slices.Compare([]int{a.Panel, a.Judge, a.Vote}, []int{b.Panel, b.Judge, b.Vote})
}

// ask asks for votes, several at once, until one says that no more can be made.
func (o *scoringOne) ask(ctx context.Context, keys []evaluations.VoteKey) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(votesAtOnce)
	for _, key := range keys {
		one := &o.panels[key.Panel].All[key.Judge]
		question, err := one.Ask(&o.item, &o.output, 0)
		if err != nil {
			return err //nolint:wrapcheck // it is for the user
		}
		group.Go(func() error {
			if o.over() {
				return nil
			}
			row, err := o.attempt.ask(ctx, &voteRequest{VoteKey: key, question: question})
			if err != nil {
				return err
			}
			return o.keep(ctx, key, one, row)
		})
	}
	return group.Wait() //nolint:wrapcheck // by those who do the work
}

// over reports whether no more votes can be made now.
func (o *scoringOne) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Stopped != nil || o.out.Busy != nil || o.out.Unaffordable
}

// keep keeps a vote, or notes why there is none.
func (o *scoringOne) keep(ctx context.Context, key evaluations.VoteKey, one *evaluations.ReadyJudge, row *evaluations.VoteRow) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case row == nil && o.reason() == evaluations.StopBudget:
		o.out.Stopped = &problem.Error{
			Kind: problem.PaymentRequired, Code: "budget_exceeded",
			Detail: fmt.Sprintf("The monthly budget of the connection %q does not allow another call of the judge %q.", one.Stored.ProviderName, one.Name),
		}
		return nil
	case row == nil:
		o.out.Unaffordable = true
		return nil
	case row.Requests == 0 && optional.Value(row.ErrorCode) == providers.CodeDeleted:
		o.out.Stopped = deletedFor(one)
		return nil
	case row.Requests == 0 && optional.Value(row.ErrorCode) == codeBusy:
		o.out.Busy = &problem.Error{Kind: problem.Unavailable, Code: codeBusy, Detail: optional.Value(row.ErrorDetail)}
		return nil
	}
	vote := o.panels[key.Panel].Shown(row)
	if err := work.Retry(context.WithoutCancel(ctx), func() error { return o.request.Keep(context.WithoutCancel(ctx), &vote) }); err != nil {
		return err
	}
	o.made[key] = &vote
	return nil
}

func (o *scoringOne) reason() evaluations.StopReason {
	o.stopping.mu.Lock()
	defer o.stopping.mu.Unlock()
	return o.stopping.reason
}

// panelScore makes the score of a panel of its votes.
func (o *scoringOne) panelScore(p int) (MadeScore, error) {
	ready := &o.panels[p]
	in := ready.Input(0)
	in.Outputs = []panel.Output{{Item: int(subject.Number), Length: math.NaN()}}
	var comments []string
	for j := range ready.All {
		one := &ready.All[j]
		for vote := 1; vote <= one.Repeats; vote++ {
			status := panel.Pending
			if j == len(ready.Judges) {
				status = panel.Skipped // unless it was asked
			}
			cast := ready.Vote(j, vote, false, status)
			key := evaluations.VoteKey{Number: subject.Number, Side: subject.Side, Repeat: subject.Repeat, Panel: p, Judge: j, Vote: vote}
			if v := o.made[key]; v != nil {
				ready.SetVote(&cast, v.Status, storedValue(ready, v))
				if v.Status == judge.StatusOK && v.Reason != "" {
					comments = append(comments, one.Name+": "+v.Reason)
				}
			}
			in.Votes = append(in.Votes, cast)
		}
	}
	_, outputs, err := panel.Measure(*in)
	if err != nil {
		return MadeScore{}, fmt.Errorf("measure a panel: %w", err)
	}
	made := MadeScore{Score: evaluations.Score{Name: ready.Name, Error: "No judge was asked."}, Boolean: ready.Scale.Type == judge.Binary, Missing: true}
	if s := results.ScoreOf(ready, &outputs[0]); s != nil {
		made.Score, made.Missing, made.Code = *s, outputs[0].Reason != "", results.NoScoreCode(outputs[0].Reason)
		made.Label = ""
		if ready.Scale.Type == judge.Categorical {
			made.Label = outputs[0].Label
		}
	}
	made.Comment = strings.Join(comments, "\n")
	return made, nil
}
