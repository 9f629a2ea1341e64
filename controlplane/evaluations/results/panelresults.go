package results

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// PanelSummary is what the votes of a panel say.
type PanelSummary = panel.Summary

// PanelScore is what a panel says of an output.
type PanelScore struct {
	Number int32               `json:"number"`
	Side   int                 `json:"side"`
	Repeat int                 `json:"repeat"`
	Scores []evaluations.Score `json:"scores"`
}

// outputKey says which output it is.
type outputKey struct {
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
	evaluations.VoteKey
	Status      judge.Status
	Value       *float64
	Label       *string
	Cached      bool
	CostNanousd *int64
	DurationMS  *float64
	Requests    int
}

// addPanels adds the scores of panels to the results.
func (s *Reader) addPanels(ctx context.Context, r *Results, last int32) error {
	if len(r.judged) == 0 {
		return nil
	}
	votes, err := s.readVotes(ctx, r.e, last)
	if err != nil {
		return err
	}
	stops, err := s.readStops(ctx, r.e)
	if err != nil {
		return err
	}
	scores := map[outputKey]*PanelScore{}
	for p := range r.judged {
		ready := &r.judged[p]
		in, outputs := r.panelInput(p, votes, stops, last)
		if err := s.addLabels(ctx, r, p, in, outputs); err != nil {
			return err
		}
		if r.e.Kind == evaluations.EvalRun {
			in.Drawn = r.drawn()
		}
		stored, isStored := r.stored[ready.Name]
		if isStored {
			for _, output := range outputs {
				in.Stored = append(in.Stored, stored[output])
			}
		}
		summary, scored, err := panel.Measure(*in)
		if err != nil {
			return fmt.Errorf("measure a panel: %w", err)
		}
		waiting := waiting(in)
		for i, output := range outputs {
			r.Items[output.number-1].addPeople(output.side, ready.Name, scored[i].People)
			if scored[i].Reason == panel.TooFewVotes && waiting[i] {
				continue // that is not known yet
			}
			for _, s := range placedScores(ready, output, &scored[i]) {
				r.addScore(s.output, &s.Score, cmp.Or(NoScoreCode(scored[i].Reason), codeNotApplicable))
				if isStored {
					continue
				}
				if scores[s.output] == nil {
					scores[s.output] = &PanelScore{Number: s.output.number, Side: s.output.side, Repeat: s.output.repeat}
				}
				scores[s.output].Scores = append(scores[s.output].Scores, s.Score)
			}
		}
		r.panels = append(r.panels, *summary)
		if r.Accounting.Votes == nil {
			r.Accounting.Votes = &evaluations.VoteCounts{}
		}
		r.Accounting.Votes.Add(summary.Votes)
	}
	for _, s := range scores {
		r.PanelScores = append(r.PanelScores, *s)
	}
	slices.SortFunc(r.PanelScores, func(x, y PanelScore) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.Side, y.Side), cmp.Compare(x.Repeat, y.Repeat))
	})
	return nil
}

// waiting returns the outputs on which a judge has yet to vote that is no escalation.
func waiting(in *panel.Input) map[int]bool {
	found := map[int]bool{}
	for _, v := range in.Votes {
		if v.Status == panel.Pending && !in.Judges[v.Judge].Escalation {
			found[int(v.Output)] = true
		}
	}
	return found
}

// readVotes reads the votes on the items up to a number, and those on canaries.
func (s *Reader) readVotes(ctx context.Context, e *evaluations.Evaluation, last int32) (map[evaluations.VoteKey]*voteFact, error) {
	votes := map[evaluations.VoteKey]*voteFact{}
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.db.Statement("read votes"), pgx.NamedArgs{"id": e.ID, "last": last})
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		list, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[voteFact])
		for _, v := range list {
			votes[v.VoteKey] = v
		}
		return err //nolint:wrapcheck // below
	})
	if err != nil {
		return nil, fmt.Errorf("read votes: %w", err)
	}
	return votes, nil
}

// panelInput returns the votes of a panel on every output that was to be made, with these outputs. That of a preference is
// side a.
func (r *Results) panelInput(
	p int, votes map[evaluations.VoteKey]*voteFact, stops map[evaluations.JudgeKey]*panel.Stopped, last int32,
) (*panel.Input, []outputKey) {
	ready := &r.judged[p]
	in := ready.Input(uint64(r.e.Seed))
	for j := range ready.All {
		in.Judges[j].Canary, in.Judges[j].Stopped = canaryOf(&ready.All[j], r.e.Seed, votes[evaluations.CanaryKey(p, j)]), stops[evaluations.JudgeKey{Panel: p, Judge: j}]
	}
	var outputs []outputKey
	for number := int32(1); number <= last; number++ {
		for side := range r.config.Sides {
			for repeat := 1; repeat <= r.config.Sides[side].Repeats; repeat++ {
				if ready.Kind == judge.TypePreference && side == evaluations.SideB {
					continue
				}
				output := outputKey{number, side, repeat}
				outputs = append(outputs, output)
				r.addOutput(in, p, output, votes)
			}
		}
	}
	return in, outputs
}

// addOutput adds an output with its votes to the input of a panel.
func (r *Results) addOutput(in *panel.Input, p int, output outputKey, votes map[evaluations.VoteKey]*voteFact) {
	ready := &r.judged[p]
	fact := r.facts[output]
	out := panel.Output{Item: int(output.number), Group: r.Items[output.number-1].Group, Length: fact.length}
	missing, there := panel.Pending, fact.ok
	switch {
	case fact.there && !fact.ok, r.skipped[output.number]:
		missing = panel.Skipped
	case !fact.ok:
		out.Length = math.NaN()
	}
	if ready.Kind == judge.TypePreference {
		other := r.facts[outputKey{output.number, evaluations.SideB, output.repeat}]
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
	for j := range ready.All {
		one := &ready.All[j]
		absent := missing
		if j == len(ready.Judges) {
			r.Items[output.number-1].split(ready.Name, in, values)
		}
		if j == len(ready.Judges) && absent == panel.Pending && complete && !in.Splits(values) {
			absent = panel.Skipped // nobody asks it
		}
		first, absences := len(in.Votes), 0
		for vote := 1; vote <= one.Repeats; vote++ {
			for _, swapped := range ready.Orders() {
				cast := ready.Vote(j, vote, swapped, absent)
				cast.Output = at
				if v := votes[evaluations.VoteKey{Number: output.number, Side: output.side, Repeat: output.repeat, Panel: p, Judge: j, Vote: vote, Swapped: swapped}]; v != nil {
					v.fill(ready, &cast)
				} else {
					complete = false
					absences++
					r.Items[output.number-1].unvoted = r.Items[output.number-1].unvoted || absent == panel.Pending
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
		r.Items[output.number-1].split(ready.Name, in, values)
	}
}

// split notes how far apart judges are that split: the standard deviation of their scores, of categories the share that differs from
// the most frequent one.
func (i *Item) split(name string, in *panel.Input, values []float64) {
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

// NoScoreCode says why a panel with enough votes has no score, empty if it has one or too few votes.
func NoScoreCode(reason panel.Reason) string {
	if reason == panel.Tie {
		return "judges_tied"
	}
	return ""
}

// ScoreOf returns what a panel says of an output, of a preference that of side a. It returns nil if no judge was asked.
func ScoreOf(p *evaluations.ReadyPanel, o *panel.OutputScore) *evaluations.Score {
	if o.Reason == panel.NotJudged {
		return nil
	}
	evidence, err := json.Marshal(o)
	if err != nil { // numbers that are finite, and texts
		panic(fmt.Sprintf("encode the score of a panel: %v", err))
	}
	s := evaluations.Score{Name: p.Name, Value: o.Score, Pass: o.Pass, Evidence: evidence}
	if p.Scale != nil && p.Scale.Type == judge.Categorical {
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
	if p.Kind == judge.TypePreference && s.Value != nil {
		s.Value = new(1 - *s.Value)
	}
	return &s
}

// placedScore is a score of an output.
type placedScore struct {
	output outputKey
	evaluations.Score
}

// placedScores returns what a panel says of an output, or of both outputs for a preference.
func placedScores(p *evaluations.ReadyPanel, output outputKey, o *panel.OutputScore) []placedScore {
	s := ScoreOf(p, o)
	if s == nil {
		return nil
	}
	if p.Kind != judge.TypePreference {
		return []placedScore{{output, *s}}
	}
	other := *s
	other.Value = o.Score
	return []placedScore{{output, *s}, {outputKey{output.number, evaluations.SideB, output.repeat}, other}}
}

// meanOf is the mean of items, whose groups are the units of its interval.
func meanOf(values []float64, groups []int) stats.Estimate {
	if !slices.ContainsFunc(groups, func(group int) bool { return group != 0 }) {
		return stats.SkewedMeanInterval(values, evaluations.Level)
	}
	var clusters [][]float64
	indexes := map[int]int{}
	for i, group := range groups {
		index, ok := indexes[group]
		if !ok || group == 0 {
			index = len(clusters)
			clusters, indexes[group] = append(clusters, nil), index
		}
		clusters[index] = append(clusters[index], values[i])
	}
	return stats.ClusteredInterval(clusters, evaluations.Level)
}

// allPass returns how often all repeats of an item pass, nil without repeats that all passed or failed.
func (r *Results) allPass(name string, repeats int) *AllPass {
	if repeats < 2 { //nolint:mnd // without repeats there is no chance to tell
		return nil
	}
	var values []float64
	var groups []int
	for i := range r.Items {
		item := &r.Items[i]
		if item.judged[name] != repeats {
			continue
		}
		value := 0.
		if item.passes[name] == repeats {
			value = 1
		}
		values, groups = append(values, value), append(groups, item.Group)
	}
	mean := meanOf(values, groups)
	if mean.Value.Value == nil {
		return nil
	}
	(&Metric{Kind: evaluations.KindScore}).Bound(mean.CI, 0)
	return &AllPass{*mean.Value.Value, mean.CI, len(values)}
}

// fill fills in what is stored of a vote.
func (v *voteFact) fill(p *evaluations.ReadyPanel, cast *panel.Vote) {
	p.SetVote(cast, v.Status, v.Value)
	cast.Cached = v.Cached
	if v.CostNanousd != nil {
		cast.Cost = float64(*v.CostNanousd) / 1e9
	}
	if v.DurationMS != nil {
		cast.Duration = *v.DurationMS
	}
}

// canaryOf says what a judge did with its canary.
func canaryOf(one *evaluations.ReadyJudge, seed int64, v *voteFact) panel.Canary {
	if v == nil {
		return ""
	}
	return panel.Canary(one.Canary(seed).Check(&judge.Vote{Status: v.Status, Value: v.Value, Label: optional.Value(v.Label)}))
}
