package execute

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// maxRaw is the most characters that are kept of an answer.
const maxRaw = 4000

// voteRequest is a vote to ask a judge for.
type voteRequest struct {
	evaluations.VoteKey
	question *judge.Question
	// cacheKey is the hash of what the vote depends on.
	cacheKey []byte
	// made is a vote that was made before for the same question.
	made *evaluations.VoteRow
	item *datasets.Item // nil for a canary
}

// vote makes the votes that are missing on the items with numbers after one and up to another: first those of all judges, then those of
// escalations, which depend on the others.
func (a *attempt) vote(ctx context.Context, after, last int32) error {
	escalates := false
	for i := range a.panels {
		escalates = escalates || a.panels[i].Escalation != nil
	}
	for _, escalated := range []bool{false, true} {
		if len(a.panels) == 0 || escalated && !escalates {
			return nil
		}
		err := pool(ctx, a, a.storeVotes,
			func(ctx context.Context, requests chan<- voteRequest) error {
				return a.findVotes(ctx, after, last, escalated, requests)
			},
			func(ctx context.Context, b voteRequest) (*evaluations.VoteRow, error) { return a.ask(ctx, &b) })
		if err != nil || a.stopped() {
			return err
		}
	}
	return nil
}

// storeVotes stores votes.
func (a *attempt) storeVotes(ctx context.Context, batch []evaluations.VoteRow) error {
	text, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode votes: %w", err)
	}
	changed, err := a.db.Exec(ctx, "store votes", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "rows": string(text)})
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}

// ask asks for a vote, once more if the answer is malformed. It returns nil if the cap does not allow it, or if its judge was stopped.
func (a *attempt) ask(ctx context.Context, b *voteRequest) (*evaluations.VoteRow, error) {
	if b.made != nil {
		return b.made, nil
	}
	if a.stoppedJudges.stopped(b.Panel, b.Judge) {
		return nil, nil //nolint:nilnil // it stays missing
	}
	made := evaluations.VoteRow{VoteKey: b.VoteKey, CacheKey: hex.EncodeToString(b.cacheKey), Truncated: len(b.question.Cut) > 0, CreatedAt: a.now()}
	one := &a.panels[b.Panel].All[b.Judge]
	messages := b.question.Messages
	for try := 1; ; try++ {
		done, err := a.completeVote(ctx, one, b, messages, &made)
		if err != nil {
			return a.failedVote(ctx, &made, b, err)
		}
		if done == nil {
			if try > 1 { // the malformed answer stays
				return &made, nil
			}
			return nil, nil //nolint:nilnil // it stays missing
		}
		ctx = work.WithoutPreemption(ctx) // the answer is paid
		vote := b.question.Read(done.Last.Result)
		setAnswer(&made, &vote)
		if vote.Status != judge.StatusParseError && vote.Status != judge.StatusOffScale || try == voteTries {
			a.stoppedJudges.note(b.Panel, b.Judge, nil)
			return &made, nil
		}
		messages = append(messages[:len(messages):len(messages)], b.question.Reminder())
	}
}

// voteTries is how often a judge is asked whose answer is malformed.
const voteTries = 2

// completeVote calls the model of a judge, and adds what that took to the vote. It returns nil if the money is spent.
func (a *attempt) completeVote(ctx context.Context, one *evaluations.ReadyJudge, b *voteRequest, messages []json.RawMessage, made *evaluations.VoteRow) (*completions.Completion, error) {
	caller := a.caller
	caller.Metadata = map[string]any{"panel": a.panels[b.Panel].Name, "judge": one.Name, "judge_version": one.Stored.Version, "vote": b.Vote}
	maps.Copy(caller.Metadata, a.about)
	if b.item != nil {
		caller.Metadata["dataset_item_id"], caller.Metadata["side"], caller.Metadata["repeat"] = b.item.ItemID, evaluations.SideNames[b.Side], b.Repeat
	}
	completing, err := a.begin(ctx, &caller, one.Stored.ProviderName, &completions.Request{
		Provider: one.Definition().ProviderID, Messages: messages, ResponseFormat: b.question.ResponseFormat, Config: one.Config, MaxRounds: 1,
		MaxCost: a.e.MaxCostNanousd, AllowUnpriced: a.e.AllowUnpriced, Prompt: one.Stored.Prompt,
	})
	if err != nil {
		return nil, err
	}
	done, err := a.complete(ctx, one.Stored.ProviderName, completing)
	if done == nil && err == nil {
		return nil, nil //nolint:nilnil // the money is spent
	}
	addCall(made, done)
	return done, err
}

// addCall adds what a call took.
func addCall(v *evaluations.VoteRow, done *completions.Completion) {
	first := v.Requests == 0
	v.RunID = &done.Run
	if done.Last.Result != nil {
		v.Model = optional.NonZero(utf8text.Storable(done.Last.Model))
	}
	v.Requests += done.Attempts
	v.DurationMS = added(first, v.DurationMS, new(float64(done.Duration)/float64(time.Millisecond)))
	u := done.Usage
	v.Input, v.OutputTokens = added(first, v.Input, u.Input), added(first, v.OutputTokens, u.Output)
	v.CacheRead, v.CacheWrite = added(first, v.CacheRead, u.CacheRead), added(first, v.CacheWrite, u.CacheWrite)
	v.Reasoning = added(first, v.Reasoning, u.Reasoning)
	var cost *int64
	if done.Cost != nil {
		cost = new(int64(*done.Cost))
	}
	v.Cost = added(first, v.Cost, cost)
}

// added adds an amount to a sum. With one that is unknown the sum is unknown.
func added[N int64 | float64](first bool, sum, more *N) *N {
	switch {
	case first:
		return more
	case sum == nil || more == nil:
		return nil
	}
	return new(*sum + *more)
}

// setAnswer fills in what the judge said.
func setAnswer(v *evaluations.VoteRow, vote *judge.Vote) {
	v.Status, v.Value, v.Label, v.Reason = vote.Status, vote.Value, optional.NonZero(utf8text.Storable(vote.Label)), utf8text.Storable(vote.Reason)
	v.Raw = new(utf8text.Cut(utf8text.Storable(vote.Raw), maxRaw))
	v.ErrorCode, v.ErrorDetail = nil, nil
}

// failedVote stores a failure as the vote, unless it says that the attempt cannot go on.
func (a *attempt) failedVote(ctx context.Context, made *evaluations.VoteRow, b *voteRequest, err error) (*evaluations.VoteRow, error) {
	cause := err
	refused, stopped, err := a.failure(ctx, cause)
	if refused == nil || stopped {
		return nil, err
	}
	if a.stoppedJudges.note(b.Panel, b.Judge, refused) {
		if err := a.stopJudge(ctx, b.Panel, b.Judge, refused); err != nil {
			return nil, err
		}
	}
	if made.Requests == 0 { // it was not asked
		made.Cost = new(int64(0))
	}
	made.Status, made.ErrorCode, made.ErrorDetail, made.CreatedAt = judge.StatusProviderError, &refused.Code, new(utf8text.Storable(refused.Error())), a.now()
	var failed *llm.Error
	if errors.As(cause, &failed) && failed.Kind == llm.Timeout {
		made.Status = judge.StatusTimeout
	}
	return made, nil
}

func deletedConnection(name string) error {
	return &problem.Error{Kind: problem.NotFound, Code: providers.CodeDeleted, Detail: fmt.Sprintf("The connection %q was deleted. Start a new evaluation with another one.", name)}
}

// begin begins a call of a connection with a name.
func (a *attempt) begin(ctx context.Context, caller *completions.Caller, name string, request *completions.Request) (*completions.Completing, error) {
	completing, err := a.completions.Begin(ctx, caller, request)
	if refused := problem.Of(err); refused != nil && len(refused.Fields) == 1 && refused.Fields[0].Location == "body.provider_id" {
		err = deletedConnection(name)
	}
	return completing, err //nolint:wrapcheck // it is for the user
}

// complete completes a call of a connection with a name within the cap of the evaluation. It returns nil if the money is spent.
func (a *attempt) complete(ctx context.Context, name string, completing *completions.Completing) (*completions.Completion, error) {
	done, err := completing.CompleteWithin(ctx, a.budget)
	if errors.Is(err, providers.ErrSpent) {
		a.stopping.set(evaluations.StopMaxCost, nil)
		return nil, nil //nolint:nilnil // the money is spent
	}
	if refused := problem.Of(err); refused != nil && refused.Code == problem.CodeNotFound { // the rest was read before
		err = deletedConnection(name)
	}
	return &done, err //nolint:wrapcheck // it is for the user
}

// failure returns what an error says of an output or vote. It is stopped if money is spent. The error is nil unless the attempt cannot go on.
func (a *attempt) failure(ctx context.Context, err error) (refused *problem.Error, stopped bool, _ error) {
	refused = problem.Of(err)
	var failed *llm.Error
	switch provider := errors.As(err, &failed); {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case refused == nil, !provider && refused.Code == problem.CodeDependency:
		return nil, false, err
	case errors.Is(err, providers.ErrMaxCost): // an attempt that failed may have cost more than was reserved for it
		a.stopping.set(evaluations.StopMaxCost, nil)
		return refused, true, nil
	case refused.Kind == problem.PaymentRequired:
		a.stopping.set(evaluations.StopBudget, nil)
		return refused, true, nil
	}
	return refused, false, nil
}
