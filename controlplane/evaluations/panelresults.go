package evaluations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// PanelSummary is what the votes of a panel say.
type PanelSummary = panel.Summary

// panelScore is what a panel says of an output.
type panelScore struct {
	Number int32   `json:"number"`
	Side   int     `json:"side"`
	Repeat int     `json:"repeat"`
	Scores []Score `json:"scores"`
}

// outputPlace says which output it is.
type outputPlace struct {
	number       int32
	side, repeat int
}

// outputFact is what statistics of judges need to know of an output.
type outputFact struct {
	there  bool
	ok     bool
	length float64
}

// voteFact is what is read of a vote.
type voteFact struct {
	voteKey
	Status      judge.Status
	Value       *float64
	Label       *string
	Cached      bool
	CostNanousd *int64
	DurationMS  *float64
	Requests    int
}

// addPanels adds the scores of panels to the results.
func (a *attempt) addPanels(ctx context.Context, r *results, last int32) error {
	if len(a.panels) == 0 {
		return nil
	}
	votes, err := a.readVotes(ctx, last)
	if err != nil {
		return err
	}
	stops, err := a.readStops(ctx)
	if err != nil {
		return err
	}
	scores := map[outputPlace]*panelScore{}
	for p := range a.panels {
		ready := &a.panels[p]
		in, places := a.panelInput(r, p, votes, stops, last)
		if err := a.addLabels(ctx, p, in, places); err != nil {
			return err
		}
		if a.e.Kind == EvalRun {
			in.Drawn = r.drawn(a.e.DatasetID)
		}
		stored, isStored := r.stored[ready.Name]
		if isStored {
			for _, place := range places {
				in.Stored = append(in.Stored, stored[place])
			}
		}
		summary, outputs, err := panel.Measure(*in)
		if err != nil {
			return fmt.Errorf("measure a panel: %w", err)
		}
		waiting := ready.waiting(in)
		for i, place := range places {
			r.items[place.number-1].addPeople(place.side, ready.Name, outputs[i].People)
			if outputs[i].Reason == panel.TooFewVotes && waiting[i] {
				continue // that is not known yet
			}
			for _, s := range ready.scoresOf(place, &outputs[i]) {
				r.addScore(s.place, &s.Score, cmp.Or(noScoreCodes[outputs[i].Reason], codeNotApplicable))
				if isStored {
					continue
				}
				if scores[s.place] == nil {
					scores[s.place] = &panelScore{Number: s.place.number, Side: s.place.side, Repeat: s.place.repeat}
				}
				scores[s.place].Scores = append(scores[s.place].Scores, s.Score)
			}
		}
		r.panels = append(r.panels, *summary)
		r.accounting.countVotes(&summary.Votes)
	}
	for _, s := range scores {
		r.panelScores = append(r.panelScores, *s)
	}
	slices.SortFunc(r.panelScores, func(x, y panelScore) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.Side, y.Side), cmp.Compare(x.Repeat, y.Repeat))
	})
	return nil
}

// waiting returns the outputs on which a judge has yet to vote.
func (p *readyPanel) waiting(in *panel.Input) map[int]bool {
	found := map[int]bool{}
	for _, v := range in.Votes {
		if v.Status == panel.Pending && int(v.Judge) < len(p.Judges) {
			found[int(v.Output)] = true
		}
	}
	return found
}

// readVotes reads the votes on the items up to a number, and those on canaries.
func (a *attempt) readVotes(ctx context.Context, last int32) (map[voteKey]*voteFact, error) {
	votes := map[voteKey]*voteFact{}
	err := a.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, a.db.Statement("read votes"), pgx.NamedArgs{"id": a.e.ID, "last": last})
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		list, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[voteFact])
		for _, v := range list {
			votes[v.voteKey] = v
		}
		return err //nolint:wrapcheck // below
	})
	if err != nil {
		return nil, fmt.Errorf("read votes: %w", err)
	}
	return votes, nil
}

// panelInput returns the votes of a panel on every output that was to be made, with the places of these outputs. That of a preference is
// side a.
func (a *attempt) panelInput(
	r *results, p int, votes map[voteKey]*voteFact, stops map[judgePlace]*panel.Stopped, last int32,
) (*panel.Input, []outputPlace) {
	ready := &a.panels[p]
	in := ready.input(uint64(a.e.Seed))
	for j := range ready.judges {
		in.Judges[j].Canary, in.Judges[j].Stopped = canaryOf(&ready.judges[j], a.e.Seed, votes[canaryKey(p, j)]), stops[judgePlace{p, j}]
	}
	var places []outputPlace
	for number := int32(1); number <= last; number++ {
		for side := range a.config.Sides {
			for repeat := 1; repeat <= a.config.Sides[side].Repeats; repeat++ {
				if ready.Kind == judge.TypePreference && side == sideB {
					continue
				}
				place := outputPlace{number, side, repeat}
				places = append(places, place)
				a.addOutput(in, r, p, place, votes)
			}
		}
	}
	return in, places
}

// addOutput adds an output with its votes to the input of a panel.
func (a *attempt) addOutput(in *panel.Input, r *results, p int, place outputPlace, votes map[voteKey]*voteFact) {
	ready := &a.panels[p]
	fact := r.facts[place]
	out := panel.Output{Item: int(place.number), Group: r.items[place.number-1].group, Length: fact.length}
	missing, there := panel.Pending, fact.ok
	switch {
	case fact.there && !fact.ok, r.skipped[place.number]:
		missing = panel.Skipped
	case !fact.ok:
		out.Length = math.NaN()
	}
	if ready.Kind == judge.TypePreference {
		other := r.facts[outputPlace{place.number, sideB, place.repeat}]
		out.Length, there = other.length-fact.length, fact.ok && other.ok
		if other.there && !other.ok {
			missing = panel.Skipped
		}
	}
	out.Absent = !there
	at := int32(len(in.Outputs))
	in.Outputs = append(in.Outputs, out)
	var values []float64
	complete := true
	var stopped *panel.Stopped
	for j := range ready.judges {
		one := &ready.judges[j]
		absent := missing
		if j == len(ready.Judges) {
			r.items[place.number-1].split(ready.Name, in, values)
		}
		if j == len(ready.Judges) && absent == panel.Pending && complete && !in.Splits(values) {
			absent = panel.Skipped // nobody asks it
		}
		first, absences := len(in.Votes), 0
		for vote := 1; vote <= one.repeats; vote++ {
			for _, swapped := range ready.orders() {
				cast := panel.Vote{Output: at, Judge: int32(j), Repeat: int16(vote), Order: ready.order(swapped), Status: absent, Cost: math.NaN(), Duration: math.NaN()}
				if v := votes[voteKey{place.number, place.side, place.repeat, p, j, vote, swapped}]; v != nil {
					ready.fill(&cast, v)
				} else {
					complete = false
					absences++
					r.items[place.number-1].unvoted = r.items[place.number-1].unvoted || absent == panel.Pending
				}
				in.Votes = append(in.Votes, cast)
			}
		}
		values = append(values, in.ValueFrom(first))
		if there && absent == panel.Pending && absences > 0 {
			stopped = unasked(in, j, absences, stopped)
		}
	}
	if ready.Escalation == nil {
		r.items[place.number-1].split(ready.Name, in, values)
	}
}

// split notes how far apart judges are that split: the standard deviation of their scores, of categories the share that differs from
// the most frequent one.
func (i *itemResult) split(name string, in *panel.Input, values []float64) {
	if !in.Splits(values) {
		return
	}
	var scores []float64
	counts, most := map[float64]int{}, 0
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	for _, v := range values {
		if score, _ := in.Rate(v); score != nil {
			scores = append(scores, *score)
		}
		counts[v]++
		most = max(most, counts[v])
	}
	apart := 1 - float64(most)/float64(len(values))
	if len(scores) == len(values) {
		apart = stat.PopStdDev(scores, nil)
	}
	if i.splits == nil {
		i.splits = map[string]float64{}
	}
	i.splits[name] = max(i.splits[name], apart)
}

// splits reports whether the judges of a panel have voted on an output, and split.
func (a *attempt) splits(p int, o *judgedOutput, done map[voteKey]*storedVote) bool {
	ready := &a.panels[p]
	in := ready.input(0)
	var values []float64
	for j := range ready.regular() {
		first := len(in.Votes)
		for vote := 1; vote <= ready.judges[j].repeats; vote++ {
			for _, swapped := range ready.orders() {
				v := done[voteKey{o.Number, o.Side, o.Repeat, p, j, vote, swapped}]
				if v == nil {
					return false // its panel is not done
				}
				cast := panel.Vote{Repeat: int16(vote), Order: ready.order(swapped), Status: statuses[v.Status]}
				if v.Value != nil {
					cast.Value = ready.value(*v.Value)
				}
				in.Votes = append(in.Votes, cast)
			}
		}
		values = append(values, in.ValueFrom(first))
	}
	return in.Splits(values)
}

// noScoreCodes say why a panel with enough votes has no score.
var noScoreCodes = map[panel.Reason]string{panel.Tie: "judges_tied"}

// placedScore is a score of an output.
type placedScore struct {
	place outputPlace
	Score
}

// scoresOf returns what a panel says of an output, or of both outputs for a preference.
func (p *readyPanel) scoresOf(place outputPlace, o *panel.OutputScore) []placedScore {
	if o.Reason == panel.NotJudged {
		return nil
	}
	evidence, err := json.Marshal(o)
	if err != nil { // numbers that are finite, and texts
		panic(fmt.Sprintf("encode the score of a panel: %v", err))
	}
	s := Score{Name: p.Name, Value: o.Score, Pass: o.Pass, Evidence: evidence}
	if p.scale != nil && p.scale.Type == judge.Categorical {
		s.Label = o.Label
	}
	switch {
	case o.Reason == panel.TooFewVotes:
		s.Error = fmt.Sprintf("%d of %d judges gave a valid vote.", o.Valid, o.Judges)
	case o.Reason != "":
		s.Reason = "The judges are tied."
	default:
		s.Reason = fmt.Sprintf("%d of %d judges.", o.Valid, o.Judges)
	}
	if o.Escalated {
		s.Reason += " They split, and the escalation decided."
	} else if o.Split {
		s.Reason += " They split."
	}
	if p.Kind != judge.TypePreference {
		return []placedScore{{place, s}}
	}
	other := s
	if s.Value != nil {
		s.Value = new(1 - *s.Value)
	}
	return []placedScore{{place, s}, {outputPlace{place.number, sideB, place.repeat}, other}}
}

// VoteCounts counts votes by status. Total is the sum of all but Cached.
type VoteCounts = panel.VoteCounts

// countVotes adds the votes of a panel.
func (c *Accounting) countVotes(votes *VoteCounts) {
	if c.Votes == nil {
		c.Votes = &VoteCounts{}
	}
	c.Votes.Add(*votes)
}

// meanOf is the mean of items, whose groups are the units of its interval.
func meanOf(values []float64, groups []int) stats.Estimate {
	if !slices.ContainsFunc(groups, func(group int) bool { return group != 0 }) {
		return stats.SkewedMeanInterval(values, level)
	}
	var clusters [][]float64
	places := map[int]int{}
	for i, group := range groups {
		place, ok := places[group]
		if !ok || group == 0 {
			place = len(clusters)
			clusters, places[group] = append(clusters, nil), place
		}
		clusters[place] = append(clusters[place], values[i])
	}
	return stats.ClusteredInterval(clusters, level)
}

// allPass returns how often all repeats of an item pass, nil without repeats that all passed or failed.
func (r *results) allPass(name string, repeats int) *AllPass {
	if repeats < 2 { //nolint:mnd // without repeats there is no chance to tell
		return nil
	}
	var values []float64
	var groups []int
	for i := range r.items {
		item := &r.items[i]
		if item.judged[name] != repeats {
			continue
		}
		value := 0.
		if item.passes[name] == repeats {
			value = 1
		}
		values, groups = append(values, value), append(groups, item.group)
	}
	mean := meanOf(values, groups)
	if mean.Value.Value == nil {
		return nil
	}
	(&metric{kind: KindScore}).bound(mean.CI, 0)
	return &AllPass{*mean.Value.Value, mean.CI, len(values)}
}
