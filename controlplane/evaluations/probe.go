package evaluations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"

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
	return pool(ctx, a, a.storeVotes, func(ctx context.Context, ballots chan<- ballot) error {
		for p := range a.panels {
			for j := range a.panels[p].judges {
				key := canaryKey(p, j)
				if done[key] {
					continue
				}
				one := &a.panels[p].judges[j]
				question, err := one.Canary(a.e.Seed).Ask(a.panels[p].firstOrder(), a.e.Seed)
				if err != nil {
					return fmt.Errorf("ask judge %s about its canary: %w", one.name, err)
				}
				if err := a.send(ctx, []ballot{{voteKey: key, question: question, cacheKey: []byte{}}}, ballots); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(ctx context.Context, b ballot) (*voteRow, error) { return a.ask(ctx, &b) })
}

// canaryKey is the key of the vote of a judge on its canary.
func canaryKey(p, j int) voteKey {
	return voteKey{Number: canaryNumber, Side: sideA, Repeat: 1, Panel: p, Judge: j, Vote: 1}
}

// firstOrder is the order in which a preference is asked first.
func (p *readyPanel) firstOrder() judge.Order {
	if p.Kind == judge.TypePreference {
		return judge.OrderAB
	}
	return ""
}

// canaryOf says what a judge did with its canary.
func canaryOf(one *asked, seed int64, v *voteFact) panel.Canary {
	if v == nil {
		return ""
	}
	return panel.Canary(one.Canary(seed).Check(&judge.Vote{Status: v.Status, Value: v.Value, Label: text(v.Label)}))
}
