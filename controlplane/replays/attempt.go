package replays

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// callAttempts and callWait limit the calls of a model. Nobody waits for one of them, and a place that is not free is no failure.
const (
	callAttempts = 5
	callWait     = 24 * time.Hour
)

// codeParameter is the code of a request that the provider does not take.
const codeParameter = "parameter_refused"

// making is an attempt while it is made.
type making struct {
	*try
	a *Attempt

	mu       sync.Mutex
	warnings []string
	// answered is whether a model has answered.
	answered bool
}

// storedStep is a step as it is stored. Warnings are those of the attempt so far.
type storedStep struct {
	engine.AttemptStep
	Warnings []string `json:"warnings,omitempty"`
}

// attempt makes an attempt, or what is missing of it, and records it as a run.
func (t *try) attempt(ctx context.Context, a *Attempt) error {
	m := &making{try: t, a: a}
	args := pgx.NamedArgs{"id": t.r.ID, "try": t.id, "number": a.Number}
	// The start that is stored is that of the run: an attempt that is recorded again must have the same.
	started := t.now()
	if err := work.Change(ctx, t.db, "begin attempt", args, pgx.NamedArgs{"now": started}); err != nil {
		return err
	}
	if a.StartedAt != nil {
		started = *a.StartedAt
	}
	done, err := m.done(ctx)
	if err != nil {
		return err
	}
	options, edits := t.config.options(), t.null
	options.Done, options.Store = done, m.store
	if a.Role == Treatment {
		edits = t.edits
	}
	made, err := engine.Replay(ctx, t.source.recording, edits, options, m.call)
	if err != nil {
		return err //nolint:wrapcheck // it is of call, of store, or of the context
	}
	result, details, err := m.result(ctx, made)
	if err != nil {
		return err
	}
	if err := work.Retry(ctx, func() error { return m.record(ctx, made, started) }); err != nil {
		return err
	}
	end := pgx.NamedArgs{"status": StatusSucceeded, "stop": made.Stop.Reason, "detail": nil, "remedy": nil, "now": t.now()}
	if end["result"], err = encode("result", result); err != nil {
		return err
	}
	if end["details"], err = encode("details", details); err != nil {
		return err
	}
	if made.Stop.Detail != "" {
		end["detail"], end["remedy"] = utf8text.Storable(made.Stop.Detail), made.Stop.Remedy
	}
	if made.Stop.Reason == engine.StopModelError {
		end["status"] = StatusFailed
	}
	return work.Retry(ctx, func() error {
		return t.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
			if err := work.Change(ctx, tx, "end attempt", args, end); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "remove steps", args)
			return err
		})
	})
}

// encode returns a part of a row as JSON.
func encode(part string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode the %s: %w", part, err)
	}
	return string(text), nil
}

// done returns the steps that were stored.
func (m *making) done(ctx context.Context) ([]engine.AttemptStep, error) {
	stored, err := postgres.Many[struct{ Content string }](ctx, m.db, "list steps", pgx.NamedArgs{"id": m.r.ID, "number": m.a.Number})
	if err != nil {
		return nil, err
	}
	steps := make([]engine.AttemptStep, len(stored))
	for i := range stored {
		var one storedStep
		if err := json.Unmarshal([]byte(stored[i].Content), &one); err != nil {
			return nil, fmt.Errorf("read step %d of attempt %d: %w", i, m.a.Number, err)
		}
		steps[i] = one.AttemptStep
		m.warn(one.Warnings)
		m.answered = m.answered || steps[i].Source == engine.SourceReissued && steps[i].Response != nil
	}
	return steps, nil
}

// store stores a step before the next one is made.
func (m *making) store(ctx context.Context, step engine.AttemptStep) error {
	m.mu.Lock()
	text, err := json.Marshal(&storedStep{step, m.warnings})
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encode a step: %w", err)
	}
	// What was answered is stored, also while the process stops.
	ctx = context.WithoutCancel(ctx)
	return work.Retry(ctx, func() error {
		return work.Change(ctx, m.db, "store step", pgx.NamedArgs{"id": m.r.ID, "try": m.id, "number": m.a.Number, "step": step.Index, "content": utf8text.Storable(string(text))})
	})
}

// call calls a model within the cap of the replay.
func (m *making) call(ctx context.Context, call engine.Call) (engine.Answer, error) {
	if m.isStopped() {
		return engine.Answer{}, errStopped
	}
	if work.IsPreempted(ctx) { // the steps so far are stored
		return engine.Answer{}, work.ErrPreempted
	}
	request, err := call.Request.LLM()
	if refused := problem.Of(err); refused != nil {
		return engine.Answer{}, &engine.CallError{Type: codeParameter, Message: refused.Error()}
	}
	if err != nil {
		return engine.Answer{}, fmt.Errorf("make a request: %w", err)
	}
	connection, err := m.connect(ctx, request.Model)
	if err != nil {
		return engine.Answer{}, m.failed(ctx, err)
	}
	one := providers.Call{
		Request: request, Feature: providers.FeatureReplay, User: m.r.CreatedByID, KeyName: m.r.AuthorKey, Evaluation: &m.r.ID, AllowUnpriced: m.r.AllowUnpriced,
		MaxWait: callWait,
	}
	var answer providers.Answer
	var cost providers.Money
	made, unknown := 0, false
	err = m.budget.Spend(ctx, connection.Most(request), callAttempts, func(maxCost *providers.Money, attempts int) (counted providers.Money, _ error) {
		one.MaxCost, one.Attempts = maxCost, attempts
		err := work.Retry(ctx, func() (err error) {
			answer, err = connection.Complete(ctx, one)
			made, counted = made+answer.Attempts, counted+answer.Counted
			switch {
			case answer.Cost != nil:
				cost += *answer.Cost
			case answer.Attempts > 0:
				unknown = true
			}
			one.Attempts -= answer.Attempts // a repetition has what is left
			if maxCost != nil {
				one.MaxCost = new(*maxCost - counted)
			}
			return err //nolint:wrapcheck // below
		})
		return counted, err //nolint:wrapcheck // below
	})
	if err != nil {
		return engine.Answer{}, m.failed(ctx, err)
	}
	m.warn(answer.Warnings)
	done := engine.Answer{Response: recorded.ResponseOf(answer.Result), Duration: answer.Duration, TimeToFirstToken: answer.TimeToFirstToken, Attempts: made}
	if !unknown {
		done.CostUSD = new(cost.Dollars())
	}
	if answer.FinishReason == finishFiltered {
		return done, &engine.CallError{Type: "content_refused", Message: "A content filter of the provider ended the answer."}
	}
	m.answered = true
	select {
	case m.first <- &done.Response:
	default: // nobody waits for it
	}
	return done, nil
}

// finishFiltered is the finish reason of an answer that is not the model's.
const finishFiltered = "content_filter"

// warn keeps what calls differ in from what was asked for.
func (m *making) warn(warnings []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, warning := range warnings {
		if !slices.Contains(m.warnings, warning) {
			m.warnings = append(m.warnings, warning)
		}
	}
}

// failed returns the error of a call as the engine takes it: one of the call ends the attempt, one that a person must fix ends all. The
// first request of an attempt is that of all others of its role, and refused for all of them; later ones depend on what the model said.
func (m *making) failed(ctx context.Context, err error) error {
	refused := problem.Of(err)
	if problem.Is(err, problem.NotFound) {
		refused = &problem.Error{
			Kind: problem.NotFound, Code: providers.CodeDeleted, Detail: fmt.Sprintf("The connection %q was deleted. Start a new replay with another one.", m.config.ProviderName),
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, providers.ErrMaxCost): // also in a call: one that failed may have cost more than was reserved for it
		m.stopAll(StopMaxCost, nil)
		return errStopped
	case refused == nil, refused.Code == problem.CodeDependency:
		return err
	case refused.Kind == problem.PaymentRequired:
		m.stopAll(StopBudget, nil)
		return errStopped
	case providers.IsPermanent(refused.Code) && (refused.Code != codeParameter || !m.answered):
		m.stopAll("", refused)
		return errStopped
	}
	return &engine.CallError{Type: refused.Code, Message: refused.Error()}
}

// connect opens the connection for a model.
func (t *try) connect(ctx context.Context, model string) (*providers.Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.connections[model]; ok {
		return known, nil
	}
	connection, err := t.providers.Connect(ctx, access.OfJob(t.r.ProjectID), *t.config.ProviderID, model)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the user
	}
	t.connections[model] = connection
	return connection, nil
}

func milliseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(float64(*d) / float64(time.Millisecond))
}

func jsonOf(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	if json.Valid([]byte(*text)) {
		return json.RawMessage(*text)
	}
	encoded, err := json.Marshal(*text)
	if err != nil {
		return nil // a text always encodes
	}
	return encoded
}
