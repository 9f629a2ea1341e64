package replays

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Judges open panels of judges. A panel and a vote are JSON that only they read.
type Judges interface {
	// Panel checks a panel. An error names the members below body.panel.
	Panel(panel json.RawMessage) (JudgePanel, error)
}

// JudgePanel is a panel that can vote on answers.
type JudgePanel interface {
	// Estimate says what the votes on a number of answers take that are like a sample.
	Estimate(ctx context.Context, grant access.Grant, sample *grader.Sample, answers int64) (*Estimate, error)
	// Stored is the panel with its defaults, and after an estimate with the names of connections.
	Stored() (json.RawMessage, error)
	// Most is the most that the missing votes can cost if each is asked for once.
	Most(ctx context.Context, j *Judging) (providers.Money, error)
	// Judge asks for the votes that are missing. An error that is [problem.Invalid] says why judges cannot be asked about the answer.
	Judge(ctx context.Context, j *Judging) (*Judged, error)
}

// Judging is an answer to vote on.
type Judging struct {
	Project uuid.UUID
	// Replay is that which pays. User or KeyName is who asked for it.
	Replay  uuid.UUID
	User    *uuid.UUID
	KeyName *string
	Sample  *grader.Sample
	// Votes were made before.
	Votes []json.RawMessage
	// MaxCost limits the votes to ask for, nil for no limit. Attempts is how often each is tried.
	MaxCost       *providers.Money
	AllowUnpriced bool
	Attempts      int
	About         map[string]any
	// Keep stores a vote under its name. It is called by several goroutines.
	Keep func(ctx context.Context, name string, vote json.RawMessage) error
}

// Judged is what a panel says.
type Judged struct {
	// Outcome is from 0 to 1. It is nil if the panel has no score: Why says why.
	Outcome *float64
	Why     string
	Spent   providers.Money
	// Unaffordable is whether votes are missing because of MaxCost. Stopped is why no vote can be made any more, and Busy why one must wait.
	Unaffordable  bool
	Stopped, Busy *problem.Error
}

// priceJudges adds what the votes on the answers of all attempts take.
func (s *Service) priceJudges(ctx context.Context, grant access.Grant, p *Plan) error {
	sample := &grader.Sample{Input: jsonOf(p.source.run.Inputs), Output: json.RawMessage(`""`), ToolCalls: []grader.ToolCall{}}
	if answer := answerIn(p.Recording); answer != nil {
		sample.Output = textOf(*answer)
	}
	votes, err := p.panel.Estimate(ctx, grant, sample, int64(p.Controls+p.Treatments))
	if err != nil {
		return err //nolint:wrapcheck // it is for the client
	}
	e := &p.Estimate
	e.Calls, e.Low, e.High = e.Calls+votes.Calls, providers.AddMoney(e.Low, votes.Low), providers.AddMoney(e.High, votes.High)
	e.Unpriced = append(e.Unpriced, votes.Unpriced...)
	p.Config.Panel, err = p.panel.Stored()
	return err //nolint:wrapcheck // it says what it does
}

// judged returns the outcome of an attempt: what the grader or the panel says of its answer, nil if that is unknown. What judges say is paid
// within the cap of the replay.
func (m *making) judged(ctx context.Context, made *engine.Attempt) (*float64, error) {
	if m.panel == nil || made.Answer == nil {
		return m.graded(ctx, made.Answer), nil
	}
	j := &Judging{
		Project: m.r.ProjectID, Replay: m.r.ID, User: m.r.CreatedByID, KeyName: m.r.AuthorKey, AllowUnpriced: m.r.AllowUnpriced,
		Sample: &grader.Sample{Input: jsonOf(m.source.run.Inputs), Output: textOf(*made.Answer), ToolCalls: m.toolCalls(made)},
		About:  map[string]any{metaReplay: m.r.ID, "judged_run_id": m.a.RunID},
		Keep: func(ctx context.Context, name string, vote json.RawMessage) error {
			return work.Change(ctx, m.db, "store vote", pgx.NamedArgs{"id": m.r.ID, "try": m.id, "number": m.a.Number, "vote": name, "content": utf8text.Storable(string(vote))})
		},
	}
	for before := -1; ; {
		votes, err := postgres.Many[struct{ Content string }](ctx, m.db, "list votes", pgx.NamedArgs{"id": m.r.ID, "number": m.a.Number})
		if err != nil {
			return nil, err
		}
		j.Votes = make([]json.RawMessage, len(votes))
		for i := range votes {
			j.Votes[i] = json.RawMessage(votes[i].Content)
		}
		if m.isStopped() {
			return nil, errStopped
		}
		said, err := m.vote(ctx, j)
		if refused := problem.Of(err); refused != nil && refused.Kind == problem.Invalid {
			said, err = &Judged{Why: refused.Error()}, nil
		}
		switch {
		case err != nil:
			return nil, err
		case said.Busy != nil:
			return nil, said.Busy
		case said.Stopped != nil && said.Stopped.Kind == problem.PaymentRequired:
			m.stopAll(StopBudget, nil)
			return nil, errStopped
		case said.Stopped != nil:
			said.Why = said.Stopped.Error()
		case said.Unaffordable && len(votes) > before: // the votes so far are kept: more money, if there is some
			before = len(votes)
			continue
		}
		if said.Outcome == nil {
			m.warn([]string{"The outcome is unknown. " + said.Why})
		}
		return said.Outcome, nil
	}
}

// vote asks for the votes that are missing, within the cap.
func (m *making) vote(ctx context.Context, j *Judging) (*Judged, error) {
	var most *providers.Money
	if m.budget.Limited() {
		j.Attempts = 1
		each, err := m.panel.Most(ctx, j)
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what it does
		}
		most = &each
	}
	var said *Judged
	err := m.budget.Spend(ctx, most, callAttempts, func(maxCost *providers.Money, attempts int) (_ providers.Money, err error) {
		j.MaxCost, j.Attempts = maxCost, attempts
		said, err = m.panel.Judge(ctx, j)
		switch {
		case err == nil:
			return said.Spent, nil
		case maxCost != nil: // what failed may have cost that
			return *maxCost, err //nolint:wrapcheck // it says what it does
		}
		return 0, err //nolint:wrapcheck // it says what it does
	})
	if errors.Is(err, providers.ErrSpent) {
		m.stopAll(StopMaxCost, nil)
		return nil, errStopped
	}
	return said, err //nolint:wrapcheck // it is of the panel or the context
}

// toolCalls are those of an attempt.
func (m *making) toolCalls(made *engine.Attempt) []grader.ToolCall {
	calls := []grader.ToolCall{}
	for i := range made.Steps {
		step := &made.Steps[i]
		call := step.Tool
		if call == nil && step.Recorded >= 0 {
			call = m.source.recording.Steps[step.Recorded].Tool
		}
		if step.Kind != recorded.KindTool || step.Source == engine.SourceNotReached || call == nil {
			continue
		}
		one := grader.ToolCall{ID: call.CallID, Name: call.Name, Arguments: jsonOf(&call.Arguments), Result: jsonOf(call.Result)}
		if step.ErrorType != "" || step.ErrorMessage != "" {
			one.Error = new(fmt.Sprintf("%s: %s", step.ErrorType, step.ErrorMessage))
		}
		calls = append(calls, one)
	}
	return calls
}

// textOf returns a text as JSON.
func textOf(text string) json.RawMessage {
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil // a text always encodes
	}
	return encoded
}
