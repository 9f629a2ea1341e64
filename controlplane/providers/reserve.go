package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// leaseTime is how long a call counts as running if its process says nothing more of it.
	leaseTime = time.Minute
	// renewEvery is how often a process says which calls it runs, and looks for those of processes that are gone.
	renewEvery = 15 * time.Second
	// settleEvery is how often the end of calls is stored that could not be stored before.
	settleEvery = time.Second
	// pollEvery is how often a call looks whether another process has ended one.
	pollEvery = 50 * time.Millisecond
)

// queue orders the calls of one connection in this process: the first one asks the database for a place.
type queue struct {
	turn  chan struct{} // has one element while a call asks
	freed chan struct{} // has an element after a call ended
}

func (s *Service) queueOf(provider uuid.UUID) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[provider]
	if q == nil {
		q = &queue{make(chan struct{}, 1), make(chan struct{}, 1)}
		s.queues[provider] = q
	}
	return q
}

// reservation is the place and the money of a call.
type reservation struct {
	id uuid.UUID
	// most is the most that the call can cost, nil without a price.
	most *Money
}

// reserve waits until the limits of a connection allow a call, at most until the deadline of the context's wait. It returns [work.ErrPreempted] if
// the job should leave, and [work.ErrFenced] if another attempt at it has replaced this one.
func (s *Service) reserve(ctx context.Context, p *Provider, c *Call, most *Money, until time.Time) (reservation, error) {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	q := s.queueOf(p.ID)
	select {
	case q.turn <- struct{}{}:
	case <-work.Preempted(ctx):
		return reservation{}, work.ErrPreempted
	case <-wait.Done():
		return reservation{}, s.notInTime(ctx, p, time.Time{})
	}
	defer func() { <-q.turn }()
	for {
		r, err := s.tryReserve(wait, p, c, most)
		if err == nil || !errors.Is(err, errNoPlace) {
			return r, err
		}
		at, err := s.nextTry(wait, p, most)
		if err != nil {
			return reservation{}, err
		}
		if at.After(until) {
			return reservation{}, s.notInTime(ctx, p, at)
		}
		timer := time.NewTimer(time.Until(at))
		select {
		case <-timer.C:
		case <-q.freed:
		case <-work.Preempted(ctx):
			timer.Stop()
			return reservation{}, work.ErrPreempted
		case <-wait.Done():
			timer.Stop()
			return reservation{}, s.notInTime(ctx, p, time.Time{})
		}
		timer.Stop()
	}
}

// errNoPlace is returned if a limit of the connection does not allow a call now.
var errNoPlace = errors.New("no place for a call")

func (s *Service) tryReserve(ctx context.Context, p *Provider, c *Call, most *Money) (reservation, error) {
	r := reservation{id: postgres.NewID(), most: most}
	s.setLive(r.id, true)
	now := s.now()
	job, attempt := work.JobOf(ctx)
	// A reservation whose answer was lost would count until its lease ends, so it is not cancelled half-way.
	made, err := s.calls.Exec(context.WithoutCancel(ctx), "reserve", pgx.NamedArgs{
		"call": r.id, "provider": p.ID, "most": most, "month": s.month(), "now": now, "lease": now.Add(leaseTime), "job": job, "attempt": attempt,
		"feature": c.Feature, "evaluation": c.Evaluation, "user": c.User, "key_name": c.KeyName, "model": c.Request.Model,
	})
	if err == nil && made == 0 {
		err = errNoPlace
	}
	if err != nil {
		s.setLive(r.id, false)
	}
	if err != nil && !errors.Is(err, errNoPlace) { // the database may have it, although it did not answer: it would take a place until its lease ends
		s.settleLater(settlement{call: r.id, provider: p.ID, status: "failed", cost: new(Money(0)), errorCode: new("not_made"), at: now})
	}
	return r, err
}

func (s *Service) setLive(call uuid.UUID, live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live {
		s.live[call] = struct{}{}
	} else {
		delete(s.live, call)
	}
}

// nextTry returns when to ask for a place again, or an error if waiting does not help.
func (s *Service) nextTry(ctx context.Context, p *Provider, most *Money) (time.Time, error) {
	job, attempt := work.JobOf(ctx)
	why, err := postgres.One[struct {
		PausedUntil, NextCallAt *time.Time
		MonthlyBudgetNanousd    *Money
		AllowUnpriced           bool
		SpentNanousd            Money
		ReservedNanousd         Money
		Replaced                bool
	}](ctx, s.calls, "why not", pgx.NamedArgs{"provider": p.ID, "month": s.month(), "job": job, "attempt": attempt})
	if err != nil {
		return time.Time{}, err
	}
	if why.Replaced {
		return time.Time{}, work.ErrFenced
	}
	if budget := why.MonthlyBudgetNanousd; budget != nil {
		switch {
		case most == nil && !why.AllowUnpriced:
			return time.Time{}, unpriced(p, "the connection has a monthly budget")
		case most != nil && why.SpentNanousd+*most > *budget:
			return time.Time{}, &problem.Error{
				Kind: problem.PaymentRequired, Code: "budget_exceeded",
				Detail: fmt.Sprintf("The monthly budget of the connection %q is $%.2f. $%s are spent, and this call can cost up to $%s. Raise the budget, or set a smaller max_output_tokens.",
					p.Name, budget.Dollars(), dollars(why.SpentNanousd), dollars(*most)),
			}
		}
	}
	now := s.now()
	at := now.Add(pollEvery)
	for _, later := range []*time.Time{why.PausedUntil, why.NextCallAt} {
		if later != nil && later.After(now) {
			at = *later
		}
	}
	return time.Now().Add(at.Sub(now)), nil
}

// dollars writes an amount with as many digits as it needs.
func dollars(m Money) string {
	if m.Dollars() >= 0.1 {
		return fmt.Sprintf("%.2f", m.Dollars())
	}
	return fmt.Sprintf("%.3g", m.Dollars())
}

func unpriced(p *Provider, because string) error {
	return &problem.Error{
		Kind: problem.Invalid, Code: "price_unknown",
		Detail: fmt.Sprintf("The price of the model is unknown, and %s. Give the model a price in Settings → Prices (provider %q), or allow models without a price.", because, providerName(p.BaseURL)),
	}
}

// notInTime is the error for a call that had no place in time. at is when it would have one, if that is known.
func (s *Service) notInTime(ctx context.Context, p *Provider, at time.Time) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for a place: %w", context.Cause(ctx))
	}
	busy := &problem.Error{
		Kind: problem.Unavailable, Code: "provider_busy", RetryAfter: 5 * time.Second,
		Detail: fmt.Sprintf("The connection %q is busy: it has reached its limit of concurrent calls or calls per minute, or the provider asked to wait. Try again later, or raise the limits.", p.Name),
	}
	if !at.IsZero() {
		busy.RetryAfter = time.Until(at)
	}
	return busy
}

// settlement is the end of a call.
type settlement struct {
	call     uuid.UUID
	provider uuid.UUID
	status   string
	// cost is nil if it is unknown: the most that it can be counts.
	cost      *Money
	errorCode *string
	// limited is whether the provider answered 429. pause is until when it asked to wait.
	limited bool
	pause   *time.Time
	at      time.Time
}

// settle stores the end of a call, and gives back its place and what it did not cost. If the database does not answer, [Service.Run]
// stores it later.
func (s *Service) settle(ctx context.Context, e settlement) {
	if err := s.store(context.WithoutCancel(ctx), e); err != nil {
		s.log.WarnContext(ctx, "store the end of a model call; will retry", "call", e.call, "error", err)
		s.settleLater(e)
	}
}

func (s *Service) settleLater(e settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsettled = append(s.unsettled, e)
}

func (s *Service) store(ctx context.Context, e settlement) error {
	_, err := s.calls.Exec(ctx, "settle", pgx.NamedArgs{
		"call": e.call, "status": e.status, "cost": e.cost, "error_code": e.errorCode, "limited": e.limited, "pause": e.pause, "now": e.at, "month": s.month(),
	})
	if err != nil {
		return err
	}
	s.setLive(e.call, false)
	select {
	case s.queueOf(e.provider).freed <- struct{}{}:
	default:
	}
	return nil
}

// Run keeps the calls of this process alive in the database, and ends those of processes that are gone, until the context ends.
func (s *Service) Run(ctx context.Context) {
	renew, again := time.NewTicker(renewEvery), time.NewTicker(settleEvery)
	defer renew.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			s.retrySettle(context.WithoutCancel(ctx))
			return
		case <-again.C:
			s.retrySettle(ctx)
		case <-renew.C:
			if err := s.renew(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "renew the leases of model calls; will retry", "error", err)
			}
		}
	}
}

func (s *Service) retrySettle(ctx context.Context) {
	s.mu.Lock()
	list := s.unsettled
	s.unsettled = nil
	s.mu.Unlock()
	for i, e := range list {
		if err := s.store(ctx, e); err != nil {
			s.mu.Lock()
			s.unsettled = append(s.unsettled, list[i:]...)
			s.mu.Unlock()
			return
		}
	}
}

func (s *Service) renew(ctx context.Context) error {
	s.mu.Lock()
	live := make([]uuid.UUID, 0, len(s.live))
	for id := range s.live {
		live = append(live, id)
	}
	s.mu.Unlock()
	now := s.now()
	var errs []error
	if len(live) > 0 {
		_, err := s.calls.Exec(ctx, "renew leases", pgx.NamedArgs{"calls": live, "lease": now.Add(leaseTime)})
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.EndLost(ctx))...)
}

// EndLost ends the calls of processes that are gone. What they cost is unknown: the most that it can be counts.
func (s *Service) EndLost(ctx context.Context) error {
	_, err := s.calls.Exec(ctx, "end lost calls", pgx.NamedArgs{"now": s.now(), "month": s.month(), "evaluation": nil})
	return err
}
