package evaluations

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/judge"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/stats"
)

// maxPreferring is how many comparisons are read for preferences, the newest ones.
const maxPreferring = 60

// Preferences is what a panel of preferences says of several eval-runs, by the comparisons between them.
type Preferences struct {
	Panel string
	// Comparisons counts those with the panel.
	Comparisons int
	Ranking     stats.PreferenceRanking
	// Judges are the names of the judges of Ranking.
	Judges   []string
	Sentence string
}

// preferenceVotes are the votes of the panels with one name.
type preferenceVotes struct {
	votes       []stats.Preferred
	comparisons int
	judges      map[string]int
	names       []string
}

// judgeOf numbers a judge: that of another comparison is the same if it has the same name and version.
func (p *preferenceVotes) judgeOf(one *asked) int {
	key := one.name + " " + one.stored.Version
	if _, ok := p.judges[key]; !ok {
		p.judges[key] = len(p.names)
		p.names = append(p.names, one.name)
	}
	return p.judges[key]
}

// preferencesOf reads the preferences in comparisons between the sides, and ranks them by each panel.
func (s *Service) preferencesOf(ctx context.Context, grant access.Grant, sides []*gateSide) ([]Preferences, error) {
	places, ids := map[uuid.UUID]int{}, make([]uuid.UUID, len(sides))
	for i, side := range sides {
		ids[i], places[side.e.ID] = side.e.ID, i
	}
	found, err := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "list comparisons of eval-runs", pgx.NamedArgs{"project": sides[0].e.ProjectID, "ids": ids, "limit": maxPreferring})
	if err != nil {
		return nil, err
	}
	panels, items := map[string]*preferenceVotes{}, map[uuid.UUID]int{}
	for _, one := range found {
		e, err := s.Get(ctx, grant, Comparison, one.ID)
		if err != nil {
			return nil, err
		}
		if err := s.addPreferences(ctx, &e, places, items, panels); err != nil {
			return nil, err
		}
	}
	all := []Preferences{}
	for name, of := range panels {
		p := Preferences{Panel: name, Comparisons: of.comparisons, Judges: of.names}
		p.Ranking = stats.BradleyTerry(len(sides), len(of.names), of.votes, stats.CompareOptions{Alpha: level, Seed: uint64(sides[0].e.Seed)})
		p.Sentence = p.sentence(sides, of.votes)
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y Preferences) int { return cmp.Compare(x.Panel, y.Panel) })
	return all, nil
}

// addPreferences adds the preferences of a comparison. An escalation does not count: it sees only what judges split on.
func (s *Service) addPreferences(ctx context.Context, e *Evaluation, places, items map[uuid.UUID]int, into map[string]*preferenceVotes) error {
	config, err := e.ReadConfig()
	if err != nil {
		return err
	}
	a := &attempt{Service: s, e: *e, config: config}
	if a.panels, err = config.readPanels("panels", Comparison); err != nil {
		return err
	}
	if !slices.ContainsFunc(a.panels, func(p readyPanel) bool { return p.Kind == judge.TypePreference }) {
		return nil
	}
	stored, err := s.itemStatuses(ctx, e)
	if err != nil {
		return err
	}
	votes, err := a.readVotes(ctx, int32(e.ItemCount))
	if err != nil {
		return err
	}
	for p := range a.panels {
		ready := &a.panels[p]
		if ready.Kind != judge.TypePreference {
			continue
		}
		of := into[ready.Name]
		if of == nil {
			of = &preferenceVotes{judges: map[string]int{}}
			into[ready.Name] = of
		}
		of.comparisons++
		for _, item := range stored {
			if _, ok := items[item.ItemID]; !ok {
				items[item.ItemID] = len(items)
			}
			for j := range ready.regular() {
				for repeat := 1; repeat <= config.Sides[sideA].Repeats; repeat++ {
					outcome := ready.preference(j, outputPlace{item.Number, sideA, repeat}, p, votes)
					if math.IsNaN(outcome) {
						continue
					}
					of.votes = append(of.votes, stats.Preferred{
						Item: items[item.ItemID], A: places[*config.Sides[sideA].EvalRunID], B: places[*config.Sides[sideB].EvalRunID],
						Judge: of.judgeOf(&ready.judges[j]), Outcome: outcome,
					})
				}
			}
		}
	}
	return nil
}

// preference returns what a judge prefers of two outputs, 1 for that of side b: a win in both orders, else a tie; NaN without votes in both.
func (p *readyPanel) preference(j int, place outputPlace, at int, votes map[voteKey]*voteFact) float64 {
	in := p.input(0)
	for vote := 1; vote <= p.judges[j].repeats; vote++ {
		for _, swapped := range p.orders() {
			cast := panel.Vote{Judge: int32(j), Repeat: int16(vote), Order: p.order(swapped), Status: panel.Pending}
			if v := votes[voteKey{place.number, place.side, place.repeat, at, j, vote, swapped}]; v != nil {
				p.fill(&cast, v)
			}
			in.Votes = append(in.Votes, cast)
		}
	}
	return in.ValueFrom(0)
}

// sentence says which side is preferred, or why that is not known.
func (p *Preferences) sentence(sides []*gateSide, votes []stats.Preferred) string {
	name := func(side int) string { return fmt.Sprintf("%s (%s)", SideLetter(side), sides[side].e.Name) }
	switch p.Ranking.Flag {
	case stats.NotConnected:
		compared := map[int]bool{}
		for _, v := range votes {
			compared[v.A], compared[v.B] = true, true
		}
		for side := range sides {
			if !compared[side] {
				return fmt.Sprintf("%s: there is no ranking, since %s has no comparison with another side by this panel. Compare it with one of them.", p.Panel, name(side))
			}
		}
		return p.Panel + ": there is no ranking, since some sides were compared with each other, but not with the rest. Compare one of these with one of the rest."
	case stats.TooFew:
		return fmt.Sprintf("%s: there is no ranking of %s, since it needs 20. Compare more items.", p.Panel, itemsText(int64(p.Ranking.Items)))
	case "":
	default:
		return p.Panel + ": there is no ranking of these votes."
	}
	best := 0
	for side := range sides {
		if *p.Ranking.Strengths[side].Value.Value > *p.Ranking.Strengths[best].Value.Value {
			best = side
		}
	}
	var unknown []string
	for _, pair := range p.Ranking.Pairs {
		switch {
		case pair.A == best && pair.Verdict != stats.ABetter:
			unknown = append(unknown, name(pair.B))
		case pair.B == best && pair.Verdict != stats.BBetter:
			unknown = append(unknown, name(pair.A))
		}
	}
	evidence := fmt.Sprintf("%d votes on %s", p.Ranking.Votes, itemsText(int64(p.Ranking.Items)))
	if len(unknown) == 0 {
		return fmt.Sprintf("%s: judges prefer %s to each of the others, by %s. That is by judges alone.", p.Panel, name(best), evidence)
	}
	return fmt.Sprintf("%s: whether judges prefer %s to %s cannot be told, by %s.", p.Panel, name(best), listed(unknown), evidence)
}
