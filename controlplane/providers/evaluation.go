package providers

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/postgres"
)

// EvaluationCost is what the requests of an evaluation cost, repeated and lost ones among them.
type EvaluationCost struct {
	Calls int64 `json:"calls"`
	// Running are those under way.
	Running int64 `json:"-"`
	// Cost is the sum of known costs. Bounded is the most that BoundedCalls of unknown cost can have cost.
	Cost         Money `json:"cost"`
	Bounded      Money `json:"bounded"`
	BoundedCalls int64 `json:"bounded_calls"`
	// Unpriced calls have no part in any amount.
	Unpriced int64 `json:"unpriced"`
}

// EvaluationCost returns what the requests of evaluations cost so far. Of a request that is under way, the most counts that it can cost.
func (s *Service) EvaluationCost(ctx context.Context, evaluations ...uuid.UUID) (EvaluationCost, error) {
	return postgres.One[EvaluationCost](ctx, s.calls, "sum evaluations", pgx.NamedArgs{"evaluations": evaluations})
}

// Limited is when providers last refused calls of connections because there were too many, nil if they did not, and until when the
// connections wait because of that.
type Limited struct{ LimitedAt, PausedUntil *time.Time }

// LimitedOf returns when calls of some connections were last refused.
func (s *Service) LimitedOf(ctx context.Context, connections []uuid.UUID) (Limited, error) {
	found, err := postgres.One[Limited](ctx, s.calls, "when limited", pgx.NamedArgs{"providers": connections})
	if found.PausedUntil != nil && !found.PausedUntil.After(s.now()) {
		found.PausedUntil = nil
	}
	return found, err
}

// EndEvaluationCalls ends the calls of an evaluation whose process is gone, so that they take no place of those that follow.
func (s *Service) EndEvaluationCalls(ctx context.Context, evaluation uuid.UUID) error {
	_, err := s.calls.Exec(ctx, "end lost calls", pgx.NamedArgs{"now": s.now(), "month": s.month(), "evaluation": evaluation})
	return err
}

// Most returns the most that one request can cost where money is limited, nil if the model has no price.
func (c *Connection) Most(request llm.Request) *Money {
	if request.MaxOutputTokens == nil {
		request.MaxOutputTokens = new(int64(boundedOutput))
	}
	return most(c.price, &request)
}

// Priced reports whether the model has a price.
func (c *Connection) Priced() bool { return c.price != nil }

// Estimate returns what a request with a number of input tokens costs: low without any output, high with maxOutput tokens. high is nil
// without maxOutput, and both are nil without a price.
func (c *Connection) Estimate(input int64, maxOutput *int64) (low, high *Money) {
	if c.price == nil {
		return nil, nil
	}
	low = new(MoneyOf(float64(input) * c.price.Input / 1e6))
	if maxOutput != nil {
		high = new(MoneyOf((float64(input)*c.price.Input + float64(*maxOutput)*c.price.Output) / 1e6))
	}
	return low, high
}
