package evaluations

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/internal/judge"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/postgres"
)

// probe asks each judge about its canary, and about anchors. What is stored is not asked again.
func (a *attempt) probe(ctx context.Context) error {
	if len(a.panels) == 0 || a.stopped() {
		return nil
	}
	stored, err := postgres.Many[storedVote](ctx, a.db, "list votes of probes", pgx.NamedArgs{"id": a.e.ID})
	if err != nil {
		return err
	}
	done := map[voteKey]bool{}
	for i := range stored {
		done[stored[i].voteKey] = true
	}
	anchors, err := a.anchors(ctx)
	if err != nil {
		return err
	}
	return pool(ctx, a, a.storeVotes, func(ctx context.Context, ballots chan<- ballot) error {
		for p := range a.panels {
			for j := range a.panels[p].judges {
				list, err := a.probes(p, j, anchors)
				if err != nil {
					return err
				}
				for i := range list {
					if done[list[i].voteKey] {
						continue
					}
					if err := a.send(ctx, list[i:i+1], ballots); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}, func(ctx context.Context, b ballot) (*voteRow, error) { return a.ask(ctx, &b) })
}

// probes returns the questions to a judge that are no votes on outputs.
func (a *attempt) probes(p, j int, anchors []anchor) ([]ballot, error) {
	one := &a.panels[p].judges[j]
	question, err := one.Canary(a.e.Seed).Ask(a.panels[p].firstOrder(), a.e.Seed)
	if err != nil {
		return nil, fmt.Errorf("ask judge %s about its canary: %w", one.name, err)
	}
	list := []ballot{{voteKey: canaryKey(p, j), question: question, cacheKey: []byte{}}}
	if a.panels[p].Kind == judge.TypePreference || j == len(a.panels[p].Judges) {
		return list, nil
	}
	for i := range anchors {
		o := anchors[i].output
		o.Number = int32(-1 - i)
		b, err := a.ballot(voteKey{Number: o.Number, Side: sideA, Repeat: o.Repeat, Panel: p, Judge: j, Vote: 1}, anchors[i].item, &o, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
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

// anchor is an output that is judged again.
type anchor struct {
	output judgedOutput
	item   *datasets.Item
}

// anchors reads the outputs that are anchors, with their items.
func (a *attempt) anchors(ctx context.Context) ([]anchor, error) {
	if a.config.Anchors == nil {
		return nil, nil
	}
	chosen := a.config.Anchors
	source, err := a.get(ctx, a.db, a.caller.Projects, EvalRun, chosen.EvalRunID)
	if errors.Is(err, postgres.ErrNotFound) { // it was deleted
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	numbers := make([]int32, len(chosen.Outputs))
	for i, o := range chosen.Outputs {
		numbers[i] = o.Number
	}
	outputs, err := postgres.Many[judgedOutput](ctx, a.db, "list outputs to judge", pgx.NamedArgs{"id": source.ID, "numbers": numbers})
	if err != nil {
		return nil, err
	}
	items, _, err := a.Items(ctx, &source, ItemsQuery{Numbers: numbers}, postgres.Page{Limit: len(numbers)})
	if err != nil {
		return nil, err
	}
	byNumber := map[int32]*datasets.Item{}
	for i := range items {
		byNumber[items[i].Number] = items[i].Item
	}
	list := make([]anchor, 0, len(chosen.Outputs))
	for _, o := range chosen.Outputs {
		for i := range outputs {
			if outputs[i].Number == o.Number && outputs[i].Repeat == o.Repeat && byNumber[o.Number] != nil {
				list = append(list, anchor{outputs[i], byNumber[o.Number]})
			}
		}
	}
	return list, nil
}
