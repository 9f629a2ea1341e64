package evaluations

import (
	"context"
	"sync"

	"github.com/looptrace/looptrace/controlplane/providers"
)

// purse is what is left of the cap of an evaluation. A call takes the most that it can cost, and gives back what it did not.
type purse struct {
	limit *providers.Money // nil for no cap

	mu              sync.Mutex
	spent, reserved providers.Money
	// returned is closed when money comes back.
	returned chan struct{}
}

func newPurse(limit *providers.Money, spent providers.Money) *purse {
	return &purse{limit: limit, spent: spent, returned: make(chan struct{})}
}

// take takes the most that up to a number of attempts can cost, at least one. It waits for money that may come back. It returns 0
// attempts if that would not help.
func (p *purse) take(ctx context.Context, most providers.Money, attempts int) (taken providers.Money, times int, err error) {
	for {
		p.mu.Lock()
		left := *p.limit - p.spent - p.reserved
		times = attempts
		if most > 0 {
			times = int(min(providers.Money(attempts), left/most))
		}
		// With less than it wants, it waits while more may come back.
		if times == attempts || times > 0 && *p.limit-p.spent < most*providers.Money(attempts) || p.reserved == 0 {
			taken = most * providers.Money(times)
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
func (p *purse) giveBack(taken, spent providers.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved -= taken
	p.spent += spent
	close(p.returned)
	p.returned = make(chan struct{})
}
