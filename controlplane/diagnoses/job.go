package diagnoses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// callAttempts and callWait limit the calls of the model. Nobody waits for one of them, and a place that is not free is no failure.
	callAttempts = 5
	callWait     = 24 * time.Hour
	// maxAsked is how often a model is asked whose answer cannot be read.
	maxAsked = 2
)

var (
	errDeletedConnection = &problem.Error{Kind: problem.NotFound, Code: providers.CodeDeleted, Detail: "The connection was deleted. Ask again with another one."}
	errCap               = &problem.Error{Kind: problem.PaymentRequired, Code: "max_cost", Detail: "The question can cost more than max_cost_usd leaves. Ask again with a higher cap."}
	errRefused           = &problem.Error{Kind: problem.Conflict, Code: "model_refused", Detail: "The model refused to answer. Ask another one."}
	errCut               = &problem.Error{Kind: problem.Conflict, Code: "answer_cut", Detail: fmt.Sprintf("The answer did not end within %d tokens. Ask again, or another model.", maxOutput)}
	errUnreadable        = &problem.Error{Kind: problem.Conflict, Code: "answer_unreadable", Detail: "The answer is not the JSON that was asked for, twice. Ask another model."}
)

// try works on a diagnosis.
type try struct {
	*Service
	id     uuid.UUID
	in     access.Projects
	d      Diagnosis
	config *Config
}

// run does the job of a diagnosis.
func (s *Service) run(ctx context.Context, args jobArgs, last bool) error {
	t := &try{Service: s, id: uuid.New()}
	job, _ := work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin diagnosis", pgx.NamedArgs{"id": args.DiagnosisID, "try": t.id, "job": job, "now": s.now()})
	if err != nil || begun == 0 { // it ended, was deleted, or has another job
		return err
	}
	t.d.ID = args.DiagnosisID
	return work.Attempt(ctx, "diagnosis", last, t.do, func(ctx context.Context, failed *problem.Error) error { return t.end(ctx, failed, nil) })
}

// do asks the model, unless it has answered, and looks its quotes up.
func (t *try) do(ctx context.Context) error {
	owner, err := postgres.Many[struct{ ProjectID uuid.UUID }](ctx, t.db, "get diagnosis of job", pgx.NamedArgs{"id": t.d.ID, "try": t.id})
	if err != nil {
		return err
	}
	if len(owner) == 0 {
		return work.ErrFenced
	}
	t.in = access.OfJob(owner[0].ProjectID)
	if t.d, err = t.get(ctx, t.db, t.in, t.d.ID); err != nil {
		return err
	}
	if t.config, err = t.d.ReadConfig(); err != nil {
		return err
	}
	result, err := t.diagnose(ctx)
	refused := problem.Of(err)
	var failed *llm.Error
	switch provider := errors.As(err, &failed); {
	case err == nil:
		return t.end(ctx, nil, result)
	case ctx.Err() != nil:
		return context.Cause(ctx) //nolint:wrapcheck // it is that of the job
	case refused == nil, !provider && (refused.Kind == problem.Unavailable || refused.Kind == problem.TooExpensive):
		return err
	}
	return t.end(ctx, refused, nil)
}

// diagnose returns what is kept of the answer.
func (t *try) diagnose(ctx context.Context) (*Result, error) {
	answer, err := t.d.ReadAnswer()
	if err != nil {
		return nil, err
	}
	claims, ok := readClaims(answer)
	for !ok {
		if answer != nil {
			if err := final(answer); err != nil {
				return nil, err
			}
		}
		if work.IsPreempted(ctx) {
			return nil, work.ErrPreempted
		}
		if answer, err = t.call(ctx, answer); err != nil {
			return nil, err
		}
		claims, ok = readClaims(answer)
	}
	return check(ctx, t.config.Runs, claims, &recordings{service: t.Service, in: t.in, recordings: map[uuid.UUID]*recorded.Recording{}})
}

func readClaims(answer *Answer) ([]json.RawMessage, bool) {
	if answer == nil {
		return nil, false
	}
	return claimsOf(answer.Content)
}

// final returns why a model that gave an answer without claims is not asked again, nil if it is.
func final(answer *Answer) error {
	switch {
	case answer.Finish == "refusal", answer.Finish == "content_filter":
		return errRefused
	case answer.Finish == "length":
		return errCut
	case answer.Asked >= maxAsked:
		return errUnreadable
	}
	return nil
}

// call asks the model, and stores its answer at once. before is an answer that could not be read, nil for none.
func (t *try) call(ctx context.Context, before *Answer) (*Answer, error) {
	// Calls of a try before this one have no process any more.
	if err := t.providers.EndEvaluationCalls(ctx, t.d.ID); err != nil {
		return nil, err //nolint:wrapcheck // it names the statement
	}
	asked, err := t.ask(ctx, t.in, t.config)
	if err != nil {
		return nil, err
	}
	answer := Answer{Asked: 1}
	if before != nil {
		answer.Asked += before.Asked
		asked.messages = append(asked.messages, reminder())
	}
	caller := completions.Caller{
		Projects: t.in, Project: t.d.ProjectID, Feature: providers.FeatureDiagnosis, Source: runmodel.SourceEvaluation, User: t.d.CreatedByID, KeyName: t.d.AuthorKey,
		Evaluation: &t.d.ID, Metadata: map[string]any{"diagnosis_id": t.d.ID}, Attempts: callAttempts, MaxWait: callWait,
	}
	if t.d.AuthorEmail != nil {
		caller.Email = *t.d.AuthorEmail
	}
	completing, err := t.completions.Begin(ctx, &caller, &completions.Request{
		Provider: t.config.ProviderID, Messages: asked.messages, ResponseFormat: asked.format, MaxRounds: 1, MaxCost: t.d.MaxCostNanousd, AllowUnpriced: t.d.AllowUnpriced,
		Config: completions.Config{Model: t.config.Model, MaxOutputTokens: new(int64(maxOutput))},
	})
	if refused := problem.Of(err); refused != nil && len(refused.Fields) == 1 && refused.Fields[0].Location == "body.provider_id" {
		err = errDeletedConnection
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the user
	}
	budget, err := t.budget(ctx)
	if err != nil {
		return nil, err
	}
	done, err := completing.CompleteWithin(ctx, budget)
	if errors.Is(err, providers.ErrMaxCost) {
		err = errCap
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it is for the user
	}
	ctx = work.WithoutPreemption(ctx) // the answer is paid
	answer.RunID, answer.InputTokens, answer.OutputTokens = done.Run, done.Usage.Input, done.Usage.Output
	if said := done.Last.Result; said != nil {
		answer.Model, answer.Finish = said.Model, said.FinishReason
		if len(said.Structured) <= maxAnswer {
			answer.Content = string(said.Structured)
		}
	}
	return &answer, t.store(ctx, &answer)
}

// budget returns what is left of the cap.
func (t *try) budget(ctx context.Context) (*providers.Budget, error) {
	if t.d.MaxCostNanousd == nil {
		return providers.NewBudget(nil, 0), nil
	}
	spent, err := t.providers.EvaluationCost(ctx, t.d.ID)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the statement
	}
	return providers.NewBudget(t.d.MaxCostNanousd, spent.Cost+spent.Bounded), nil
}

// store stores an answer.
func (t *try) store(ctx context.Context, answer *Answer) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return work.Retry(ctx, func() error { return t.exec(ctx, "store answer", pgx.NamedArgs{"answer": string(text)}) })
}

// end ends the diagnosis.
func (t *try) end(ctx context.Context, failure *problem.Error, result *Result) error {
	args := pgx.NamedArgs{"status": StatusSucceeded, "code": nil, "detail": nil, "result": nil, "now": t.now()}
	if failure != nil {
		args["status"], args["code"], args["detail"] = StatusFailed, failure.Code, utf8text.Storable(failure.Error())
	}
	if result != nil {
		text, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		args["result"] = string(text)
	}
	return t.exec(ctx, "end diagnosis", args)
}

// exec changes the diagnosis if it still belongs to the try.
func (t *try) exec(ctx context.Context, statement string, args pgx.NamedArgs) error {
	args["id"], args["try"] = t.d.ID, t.id
	changed, err := t.db.Exec(ctx, statement, args)
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}

// recordings reads what is recorded of runs.
type recordings struct {
	service    *Service
	in         access.Projects
	recordings map[uuid.UUID]*recorded.Recording
}

func (r *recordings) step(ctx context.Context, run uuid.UUID, spanID string) (runs.Span, error) {
	return r.service.runs.Span(ctx, r.in, run, spanID) //nolint:wrapcheck // it says what it does
}

func (r *recordings) recording(ctx context.Context, run uuid.UUID) (*recorded.Recording, error) {
	if found := r.recordings[run]; found != nil {
		return found, nil
	}
	found, err := r.service.recordings.Replayability(ctx, r.in, run)
	if err == nil {
		r.recordings[run] = found
	}
	return found, err //nolint:wrapcheck // it is for the user
}
