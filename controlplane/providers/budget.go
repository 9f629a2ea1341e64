package providers

import (
	"context"
	"fmt"
	"sync"
)

// ErrSpent is returned if nothing is left of a budget for a call. ErrMaxCost is in its tree.
var ErrSpent = fmt.Errorf("the budget is spent: %w", ErrMaxCost)

// Budget is what is left of the cap of several calls. A call takes the most that it can cost, and gives back what it did not.
type Budget struct {
	limit *Money // nil for no cap

	mu              sync.Mutex
	spent, reserved Money
	// returned is closed when money comes back.
	returned chan struct{}
}

// NewBudget returns what is left of a limit, of which a part is spent.
func NewBudget(limit *Money, spent Money) *Budget {
	return &Budget{limit: limit, spent: spent, returned: make(chan struct{})}
}

// Limited reports whether there is a cap. Without one, nothing is taken.
func (p *Budget) Limited() bool { return p.limit != nil }

// Spend makes a call within the budget. most is the most that an attempt at it can cost, nil if that is unknown. call gets the most that all
// of its attempts may cost, nil for no cap, and how many it may make. It returns what counts in the cap, also with an error. Spend returns
// ErrSpent if the budget has less than one attempt can cost.
func (p *Budget) Spend(ctx context.Context, most *Money, attempts int, call func(maxCost *Money, attempts int) (Money, error)) error {
	if p.limit == nil {
		_, err := call(nil, attempts)
		return err
	}
	var taken Money
	if most != nil {
		var err error
		if taken, attempts, err = p.take(ctx, *most, attempts); err != nil {
			return err
		}
		if attempts == 0 {
			return ErrSpent
		}
	}
	counted, err := call(&taken, attempts)
	p.giveBack(taken, counted)
	return err
}

// take takes the most that up to a number of attempts can cost, at least one. It waits for money that may come back. It returns 0
// attempts if that would not help.
func (p *Budget) take(ctx context.Context, most Money, attempts int) (taken Money, times int, err error) {
	for {
		p.mu.Lock()
		left := *p.limit - p.spent - p.reserved
		times = attempts
		if most > 0 {
			times = int(min(Money(attempts), left/most))
		}
		// With less than it wants, it waits while more may come back.
		if times == attempts || times > 0 && *p.limit-p.spent < most*Money(attempts) || p.reserved == 0 {
			taken = most * Money(times)
			p.reserved += taken
			p.mu.Unlock()
			return taken, times, nil
		}
		returned := p.returned
		p.mu.Unlock()
		select {
		case <-returned:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
	}
}

// giveBack gives back what was taken, and counts what was spent.
func (p *Budget) giveBack(taken, spent Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved -= taken
	p.spent += spent
	close(p.returned)
	p.returned = make(chan struct{})
}

// Spent returns what was spent, with what was before.
func (p *Budget) Spent() Money {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}
