package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/problem"
)

// ErrMaxCost is in the tree of the error of a call that could cost more than its MaxCost. It made no further request.
var ErrMaxCost = errors.New("the call could cost more than it may")

// Feature is what calls a model.
type Feature string

// The features.
const (
	FeaturePlayground Feature = "playground"
	FeatureTest       Feature = "test"
	FeatureComparison Feature = "comparison"
	FeatureEvaluation Feature = "evaluation"
	FeatureReplay     Feature = "replay"
	FeatureDiagnosis  Feature = "diagnosis"
)

const (
	// boundedOutput is the max_output_tokens of calls that have none where money is limited: without it their cost has no bound.
	boundedOutput = 4096
	// firstBackoff and maxBackoff are the shortest and the longest wait between attempts, without a Retry-After.
	firstBackoff, maxBackoff = 500 * time.Millisecond, 30 * time.Second
	// maxPause is how long a connection waits at most because a provider asked for it: some ask for a day, or give a date far away.
	maxPause = time.Hour
	// maxAdjustments is how often a request is changed as the provider asks.
	maxAdjustments = 6
)

// Call is a call of a connection's model.
type Call struct {
	// Request is what to ask. Its model is that of the connection.
	Request llm.Request
	Feature Feature
	// User or KeyName is who asked.
	User    *uuid.UUID
	KeyName *string
	// Evaluation is the evaluation or the replay for which the model is called, nil for none. See [Service.EvaluationCost].
	Evaluation *uuid.UUID
	// MaxCost is the most that the call may cost, nil for no limit. AllowUnpriced is whether a model without a price may be called then.
	MaxCost       *Money
	AllowUnpriced bool
	// Attempts is how often the call is tried. MaxWait limits the time of waiting for places and between attempts.
	Attempts int
	MaxWait  time.Duration
	// OnDelta gets the fragments of a streamed answer. An error of it ends the call.
	OnDelta func(llm.Delta) error
}

// Answer is the answer to a call.
type Answer struct {
	*llm.Result
	// Cost is that of all attempts, nil if that of one is unknown.
	Cost *Money
	// Counted is what counts in limits: known costs, and the most that attempts of unknown cost can have cost.
	Counted Money
	// Attempts is how many requests were made.
	Attempts int
	// Strategy is how an answer that follows a schema was asked for. It is empty without a schema.
	Strategy llm.Strategy
	// Warnings say what differs from the request.
	Warnings []string
}

// Connection is a connection that is open for calls of one model.
type Connection struct {
	*Service
	Provider Provider
	Model    string
	client   *client.Client
	learned  learned
	price    *prices.Price // nil if the model has none
}

// Connect opens a connection for calls of a model.
func (s *Service) Connect(ctx context.Context, projects access.Projects, provider uuid.UUID, model string) (*Connection, error) {
	c, err := s.connect(ctx, projects, provider, model)
	if err != nil {
		return nil, err
	}
	c.client, err = s.client(&c.Provider)
	return c, err
}

// connect reads a connection with what is known of a model.
func (s *Service) connect(ctx context.Context, projects access.Projects, provider uuid.UUID, model string) (*Connection, error) {
	if err := validate.Printable("body.model_config.model", model); err != nil {
		return nil, err
	}
	row, err := postgres.One[struct {
		Provider
		known
		HasPrices bool
	}](ctx, s.db, "get provider with model", pgx.NamedArgs{"projects": projects.IDs(), "provider": provider, "model": model})
	if err != nil {
		return nil, err
	}
	s.complete(&row.Provider)
	matcher := prices.Default().Matcher()
	if row.HasPrices {
		if matcher, err = s.prices.Matcher(ctx, row.ProjectID); err != nil {
			return nil, err
		}
	}
	return &Connection{
		Service: s, Provider: row.Provider, Model: model, learned: learned{Model: model, known: row.known},
		price: matcher.Find(row.SpanName(), model, s.now()),
	}, nil
}

// completion is a call while it is made.
type completion struct {
	*Connection
	call     *Call
	request  llm.Request
	answer   Answer
	until    time.Time
	streamed bool
	unknown  bool // whether an attempt failed whose cost is unknown
}

// Complete calls the model. An error for the client is a [*problem.Error]; [errors.As] finds the [*llm.Error] in it. The answer has the
// number of attempts and their cost even then.
func (c *Connection) Complete(ctx context.Context, call Call) (Answer, error) {
	one := &completion{Connection: c, call: &call, request: call.Request, until: time.Now().Add(call.MaxWait)}
	one.request.Model = c.Model
	one.adjust()
	err := one.do(ctx)
	if err != nil && !one.unknown { // no attempt reached the model
		one.answer.Cost = new(Money(0))
	}
	return one.answer, err
}

// client returns a client of the connection.
func (s *Service) client(p *Provider) (*client.Client, error) {
	conn, err := s.connection(p)
	if err != nil {
		return nil, err
	}
	client, err := client.New(conn)
	if err != nil {
		return nil, fmt.Errorf("create a client of %s: %w", p.ID, err)
	}
	return client, nil
}

func (s *Service) connection(p *Provider) (llm.Connection, error) {
	secret, err := s.keys.open(p.ID, p.SecretID, p.Secrets)
	if errors.Is(err, errUnreadable) {
		return llm.Connection{}, &problem.Error{
			Kind: problem.Conflict, Code: "provider_key_unreadable",
			Detail: fmt.Sprintf("The stored API key of the connection %q cannot be decrypted, because the server's secret has changed. Enter the key again.", p.Name),
		}
	}
	if err != nil {
		return llm.Connection{}, err
	}
	return llm.Connection{Kind: p.Kind, BaseURL: p.BaseURL, APIKey: secret.APIKey, Headers: secret.Headers, HTTP: s.http, IdleTimeout: s.IdleTimeout}, nil
}

// do makes attempts until one succeeds or none is left.
func (c *completion) do(ctx context.Context) error {
	adjustments := 0
	for failures := 0; ; {
		result, failed, err := c.attempt(ctx)
		if err != nil {
			return err
		}
		ctx = work.WithoutPreemption(ctx) // the attempt may be paid
		if failed == nil {
			c.answer.Result = result
			c.succeeded(ctx)
			return nil
		}
		if !c.streamed && adjustments < maxAdjustments {
			adjusted, err := c.learn(ctx, failed)
			if err != nil {
				return err
			}
			if adjusted {
				adjustments++
				continue
			}
		}
		failures++
		wait := backoff(failures, failed.RetryAfter)
		if c.streamed || !failed.Retryable || failures >= c.call.Attempts || time.Now().Add(wait).After(c.until) || ctx.Err() != nil {
			return c.failed(failed)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c.failed(failed)
		}
	}
}

// backoff returns the wait after a number of failures: what the provider asks for, else twice as long each time, with jitter so that
// calls that failed together do not come back together.
func backoff(failures int, asked *time.Duration) time.Duration {
	if asked != nil {
		return *asked + rand.N(*asked/10+50*time.Millisecond) //nolint:gosec // jitter
	}
	wait := min(maxBackoff, firstBackoff<<min(failures-1, 10))
	return wait/2 + rand.N(wait) //nolint:gosec // jitter
}

// attempt makes one request within the limits of the connection. failed is an error of the provider.
func (c *completion) attempt(ctx context.Context) (result *llm.Result, failed *llm.Error, err error) {
	limited := c.call.MaxCost != nil || c.Provider.MonthlyBudget != nil
	if limited && c.request.MaxOutputTokens == nil {
		c.request.MaxOutputTokens = new(int64(boundedOutput))
		c.answer.Warnings = append(c.answer.Warnings, fmt.Sprintf("max_output_tokens is %d, because a limit of money needs one. Set it to allow longer answers.", boundedOutput))
	}
	bound := most(c.price, &c.request)
	if err := c.affordable(bound); err != nil {
		return nil, nil, err
	}
	place, err := c.reserve(ctx, &c.Provider, c.call, bound, c.until)
	if err != nil {
		return nil, nil, err
	}
	c.answer.Attempts++
	var onDelta func(llm.Delta) error
	if c.call.OnDelta != nil {
		onDelta = func(d llm.Delta) error {
			c.streamed = true
			return c.call.OnDelta(d)
		}
	}
	result, err = c.client.Complete(ctx, c.request, onDelta)
	end := settlement{call: place.id, provider: c.Provider.ID, status: "succeeded", at: c.now()}
	if err == nil {
		end.cost = cost(c.price, result.Usage)
		if !c.unknown {
			c.answer.Cost = end.cost
		}
		c.count(end.cost, bound)
		c.settle(ctx, end)
		return result, nil, nil
	}
	if !errors.As(err, &failed) {
		failed = &llm.Error{Kind: llm.Server, Message: err.Error()}
	}
	end.status, end.errorCode = "failed", new(string(failed.Kind))
	if unbilled(failed) {
		end.cost = new(Money(0))
	} else {
		c.unknown = true
		c.count(nil, bound)
	}
	if failed.Kind == llm.RateLimited || failed.Kind == llm.Overloaded {
		end.limited = true
		if failed.RetryAfter != nil {
			end.pause = new(end.at.Add(min(*failed.RetryAfter, maxPause)))
		}
	}
	c.settle(ctx, end)
	return nil, failed, nil
}

// count adds what an attempt counts in limits.
func (c *completion) count(cost, bound *Money) {
	switch {
	case cost != nil:
		c.answer.Counted += *cost
	case bound != nil:
		c.answer.Counted += *bound
	}
}

// affordable returns an error if the call may cost more than it is allowed to.
func (c *completion) affordable(bound *Money) error {
	limit := c.call.MaxCost
	switch {
	case limit == nil:
		return nil
	case bound == nil && !c.call.AllowUnpriced:
		return unpriced(&c.Provider, "max_cost_usd needs it")
	case bound != nil && c.answer.Counted+*bound > *limit:
		return fmt.Errorf("%w: %w", ErrMaxCost, &problem.Error{
			Kind: problem.PaymentRequired, Code: "budget_exceeded",
			Detail: fmt.Sprintf("The call can cost up to $%s, and max_cost_usd leaves $%s. Raise it, or set a smaller max_output_tokens.", dollars(*bound), dollars(*limit-c.answer.Counted)),
		})
	}
	return nil
}

// unbilled reports whether a failed request cost nothing: it did not reach the model, or the provider refused or redirected it.
func unbilled(failed *llm.Error) bool {
	return failed.Partial == nil || failed.Status >= 300
}

// succeeded keeps what the answer taught. An answer that is there, and paid, is not lost if that cannot be stored.
func (c *completion) succeeded(ctx context.Context) {
	if !c.wantsSchema() {
		return
	}
	c.answer.Strategy = c.strategy()
	if c.answer.Structured == nil {
		return
	}
	if err := c.keepStrategy(ctx, c.answer.Strategy); err != nil {
		c.log.WarnContext(ctx, "store how a model is asked for structured answers", "model", c.Model, "error", err)
	}
}

// wantsSchema reports whether the answer shall follow a schema.
func (c *completion) wantsSchema() bool {
	var format struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(c.request.ResponseFormat, &format) == nil && format.Type == "json_schema"
}
