package evaluations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/internal/postgres"
)

// probe asks each judge about its canary. What is stored is not asked again.
func (a *attempt) probe(ctx context.Context) error {
	if len(a.panels) == 0 || a.stopped() {
		return nil
	}
	stored, err := postgres.Many[storedVote](ctx, a.db, "list votes of canaries", pgx.NamedArgs{"id": a.e.ID})
	if err != nil {
		return err
	}
	done := map[voteKey]bool{}
	for i := range stored {
		done[stored[i].voteKey] = true
	}
	return pool(ctx, a, a.storeVotes, func(ctx context.Context, requests chan<- voteRequest) error {
		for p := range a.panels {
			for j := range a.panels[p].judges {
				key := canaryKey(p, j)
				if done[key] {
					continue
				}
				one := &a.panels[p].judges[j]
				question, err := one.Canary(a.e.Seed).Ask(firstOrder(&a.panels[p]), a.e.Seed)
				if err != nil {
					return fmt.Errorf("ask judge %s about its canary: %w", one.name, err)
				}
				if err := a.send(ctx, []voteRequest{{voteKey: key, question: question, cacheKey: []byte{}}}, requests); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(ctx context.Context, b voteRequest) (*voteRow, error) { return a.ask(ctx, &b) })
}

// canaryKey is the key of the vote of a judge on its canary.
func canaryKey(p, j int) voteKey {
	return voteKey{Number: canaryNumber, Side: sideA, Repeat: 1, Panel: p, Judge: j, Vote: 1}
}

// firstOrder is the order in which a preference is asked first.
func firstOrder(p *readyPanel) judge.Order {
	if p.Kind == judge.TypePreference {
		return judge.OrderAB
	}
	return ""
}
