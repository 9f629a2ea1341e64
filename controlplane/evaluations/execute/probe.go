package execute

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations"
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
	done := map[evaluations.VoteKey]bool{}
	for i := range stored {
		done[stored[i].VoteKey] = true
	}
	return pool(ctx, a, a.storeVotes, func(ctx context.Context, requests chan<- voteRequest) error {
		for p := range a.panels {
			for j := range a.panels[p].All {
				key := evaluations.CanaryKey(p, j)
				if done[key] {
					continue
				}
				one := &a.panels[p].All[j]
				question, err := one.Canary(a.e.Seed).Ask(firstOrder(&a.panels[p]), a.e.Seed)
				if err != nil {
					return fmt.Errorf("ask judge %s about its canary: %w", one.Name, err)
				}
				if err := a.send(ctx, []voteRequest{{VoteKey: key, question: question, cacheKey: []byte{}}}, requests); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(ctx context.Context, b voteRequest) (*evaluations.VoteRow, error) { return a.ask(ctx, &b) })
}

// firstOrder is the order in which a preference is asked first.
func firstOrder(p *evaluations.ReadyPanel) judge.Order {
	if p.Kind == judge.TypePreference {
		return judge.OrderAB
	}
	return ""
}
