package evaluations

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/stats"
)

// Advice says where the next dollar goes, for the primary score.
type Advice struct {
	Sentence string `json:"sentence"`
	// Known is whether the variance of items and repeats is known.
	Known bool `json:"known"`
	// Item, Repeat and Vote are the parts of the variance: between items, between outputs of an item on all sides, and between votes on an output.
	// Those that are not known are nil.
	Item   *float64 `json:"item_variance"`
	Repeat *float64 `json:"repeat_variance"`
	Vote   *float64 `json:"vote_variance"`
	// HalfWidth is half of the interval that they make.
	HalfWidth *float64 `json:"half_width"`
	// OutputCost and VoteCost are in USD, nil if they are not known.
	OutputCost *float64       `json:"output_cost_usd"`
	VoteCost   *float64       `json:"vote_cost_usd"`
	Options    []AdviceOption `json:"options"`
}

// AdviceOption is what more of something would do.
type AdviceOption struct {
	What      AdviceWhat `json:"what"`
	More      int        `json:"more"`
	Cost      *float64   `json:"cost_usd"`
	HalfWidth float64    `json:"half_width"`
}

// AdviceWhat is what there may be more of.
type AdviceWhat string

// What there may be more of.
const (
	MoreItems   AdviceWhat = "items"
	MoreRepeats AdviceWhat = "repeats"
	MoreVotes   AdviceWhat = "votes"
)

// fewAdvised is the number of items below which a split of the variance says too little.
const fewAdvised = 20

// voteFacts are what the votes of a panel tell of their noise and their cost.
type voteFacts struct {
	// variance is that between the votes on an output, without what a judge gives more than others on all of them. It is nil where the score is
	// not their mean, or where outputs have one vote.
	variance *float64
	// votes is how many an output has on average, and cost what one costs on average in USD, nil if unknown.
	votes float64
	cost  *float64
}

// factsOfVotes reads the votes of judges, without escalations.
func factsOfVotes(in *panel.Input) voteFacts {
	type cast struct {
		judge int32
		score float64
	}
	byOutput := map[int32][]cast{}
	sums, counts := make([]float64, len(in.Judges)), make([]float64, len(in.Judges))
	var costs []float64
	votes := 0.
	for _, v := range in.Votes {
		if v.Status != panel.OK || in.Judges[v.Judge].Escalation {
			continue
		}
		votes++
		if !v.Cached && !math.IsNaN(v.Cost) {
			costs = append(costs, v.Cost)
		}
		if score, _ := in.Rate(v.Value); score != nil {
			byOutput[v.Output] = append(byOutput[v.Output], cast{v.Judge, *score})
			sums[v.Judge] += *score
			counts[v.Judge]++
		}
	}
	var facts voteFacts
	if len(costs) > 0 {
		facts.cost = new(floats.Sum(costs) / float64(len(costs)))
		if in.Kind == panel.Preference { // it is about two outputs
			*facts.cost /= 2
		}
	}
	if len(byOutput) == 0 {
		return facts
	}
	facts.votes = votes / float64(len(byOutput))
	squares, degrees := 0., 0.
	for _, list := range byOutput {
		off := make([]float64, len(list))
		for i, c := range list {
			off[i] = c.score - sums[c.judge]/counts[c.judge]
		}
		center := floats.Sum(off) / float64(len(off))
		for _, x := range off {
			squares += (x - center) * (x - center)
		}
		degrees += float64(len(off) - 1)
	}
	if in.Aggregate == panel.Mean && degrees > 0 {
		facts.variance = new(squares / degrees)
	}
	return facts
}

// spend is what the next dollar may be spent on.
type spend struct {
	items int
	// repeats is how many outputs an item has on each side, sides how many sides have outputs that cost something.
	repeats, sides float64
	// item and repeat are the parts of the variance of the mean, nil if they are not known; repeat has that of votes, too.
	item, repeat *float64
	output       *float64
	votes        voteFacts
	judged       bool
	// dependent says why items are not independent outcomes, empty where they are.
	dependent string
}

// advise says where the next dollar goes: to what makes the interval narrowest. An item costs nothing beside its outputs and votes, so that
// more repeats of an item help at best as much as more items; votes may help more, for they cost less. What is compared costs the same.
func (s *spend) advise() *Advice {
	a := &Advice{OutputCost: s.output, VoteCost: s.votes.cost, Vote: s.votes.variance, Options: []AdviceOption{}}
	switch {
	case s.dependent != "":
		a.Sentence = "Whether more items or more repeats would help most is not known: " + s.dependent + "."
		return a
	case s.items < fewAdvised:
		a.Sentence = fmt.Sprintf("Whether more items or more repeats would help most is not known: %s are too few to tell where the noise comes from.", itemsText(int64(s.items)))
		return a
	case s.item == nil || s.repeat == nil:
		a.Sentence = "Whether more items or more repeats would help most is not known: it takes two repeats of each item to tell the noise of repeats from differences between items."
		return a
	}
	a.Known, a.Item = true, s.item
	noise, each := 0., max(1, s.votes.votes)
	if a.Vote != nil {
		noise = min(*a.Vote*s.sides, *s.repeat*each)
	}
	own := *s.repeat - noise/each
	a.Repeat = &own
	half := func(items, repeats, votes float64) float64 {
		return z95 * math.Sqrt((*s.item+(own+noise/votes)/repeats)/items)
	}
	now := half(float64(s.items), s.repeats, each)
	a.HalfWidth = &now
	if now == 0 {
		a.Sentence = "Nothing varied, so that these items do not tell what more would do."
		return a
	}
	outputs := float64(s.items) * s.repeats * s.sides
	var cost *float64
	if s.output != nil && (!s.judged || s.votes.cost != nil) {
		cost = new(outputs * *s.output)
		if s.judged {
			*cost += outputs * each * *s.votes.cost
		}
	}
	a.Options = append(a.Options,
		AdviceOption{MoreItems, s.items, cost, half(2*float64(s.items), s.repeats, each)},
		AdviceOption{MoreRepeats, max(1, int(math.Round(s.repeats))), cost, half(float64(s.items), 2*s.repeats, each)})
	if cost != nil && a.Vote != nil && s.votes.cost != nil && *s.votes.cost > 0 {
		const most = 100 // votes; more change nothing
		if more := min(most, math.Floor(*cost/outputs / *s.votes.cost)); more >= 1 {
			a.Options = append(a.Options, AdviceOption{MoreVotes, int(more), new(outputs * more * *s.votes.cost), half(float64(s.items), s.repeats, each+more)})
		}
	}
	slices.SortStableFunc(a.Options, func(x, y AdviceOption) int { return cmp.Compare(x.HalfWidth, y.HalfWidth) })
	a.Sentence = a.sentence(s.items) + s.unknownVotes()
	return a
}

// z95 is the quantile of intervals of 95%.
const z95 = 1.959963984540054

// useless is the part of an interval that has to go for something to help at all, and alike that by which two of them are as good.
const useless, alike = .03, .03

func (a *Advice) sentence(items int) string {
	best, now := &a.Options[0], *a.HalfWidth
	name := map[AdviceWhat]string{MoreItems: "items", MoreRepeats: "repeats", MoreVotes: "votes of judges"}
	text := fmt.Sprintf("More %s help most: ", name[best.What])
	if second := &a.Options[1]; second.What != MoreVotes && best.What != MoreVotes && second.HalfWidth < best.HalfWidth+alike*now {
		best = &a.Options[slices.IndexFunc(a.Options, func(o AdviceOption) bool { return o.What == MoreItems })]
		text = "More items and more repeats help alike: "
	}
	what := thousands(best.More) + " more"
	switch best.What {
	case MoreItems:
		what = thousands(items) + " more items"
	case MoreVotes:
		what += " on each output"
	}
	paid := ""
	if best.Cost != nil && *best.Cost > 0 {
		paid = "cost about " + price(providers.MoneyOf(*best.Cost)) + " and "
	}
	text += fmt.Sprintf("%s %smake the interval ±%s in place of ±%s points", what, paid, number(best.HalfWidth*100), number(now*100))
	for i := range a.Options {
		o := &a.Options[i]
		switch {
		case o.What == best.What || best.What == MoreItems && o.What == MoreRepeats && o.HalfWidth < best.HalfWidth+alike*now:
		case o.HalfWidth > (1-useless)*now:
			text += fmt.Sprintf("; more %s would not help", name[o.What])
		default:
			text += fmt.Sprintf("; as much spent on %s makes it ±%s", name[o.What], number(o.HalfWidth*100))
		}
	}
	return text + "."
}

// unknownVotes says why nothing is said of votes of judges.
func (s *spend) unknownVotes() string {
	switch {
	case !s.judged || s.votes.variance != nil && s.votes.cost != nil && s.output != nil:
		return ""
	case s.votes.variance != nil:
		return " What more votes of judges would do for the same money is not known, for a cost is not."
	case s.votes.votes > 1:
		return " What more votes of judges would do is not known, for the score is not their mean."
	}
	return " What more votes of judges would do is not known, for each output has one."
}

// advice is that of an eval-run, or of a comparison whose primary metric is compared already. It is nil where no score decides.
func (r *results) advice(e *Evaluation, config *Config) *Advice {
	if r.summary.PrimaryMetric == nil || r.namedItems(*r.summary.PrimaryMetric) > 0 {
		return nil
	}
	name := *r.summary.PrimaryMetric
	place := r.place(name)
	s := spend{sides: 1, output: r.outputCost()}
	if facts, ok := r.votes[name]; ok {
		s.votes, s.judged = facts, true
	}
	if slices.ContainsFunc(r.items, func(i itemResult) bool { return i.group != 0 }) {
		s.dependent = "items of a group are alike, and what more groups would do is not split from what more items would"
	}
	if e.Kind == EvalRun {
		items := make([][]float64, len(r.items))
		for i := range r.items {
			if items[i] = r.items[i].valuesOf(sideA, place); len(items[i]) > 0 {
				s.items++
			}
		}
		s.item, s.repeat, s.repeats = stats.MeanVariance(items)
		return s.advise()
	}
	summary := r.summary.primary()
	s.sides, s.items = 2, summary.Difference.N //nolint:mnd // A and B
	s.repeats = float64(max(1, min(config.Sides[sideA].Repeats, config.Sides[sideB].Repeats)))
	if v := summary.Variance; v != nil {
		a, b := float64(max(1, config.Sides[sideA].Repeats)), float64(max(1, config.Sides[sideB].Repeats))
		s.item, s.repeat = v.Item, new((*v.RepeatA/a+*v.RepeatB/b)*s.repeats)
	}
	if summary.Judged != nil {
		s.dependent = "labels of people correct the difference, and how many there are decides its interval, too"
	}
	return s.advise()
}

// outputCost is what an output cost on average, nil if none is known.
func (r *results) outputCost() *float64 {
	place, sum, count := r.place(metricCost), 0., 0.
	for i := range r.items {
		for side := range r.items[i].values {
			for _, cost := range r.items[i].valuesOf(side, place) {
				sum, count = sum+cost, count+1
			}
		}
	}
	if count == 0 {
		return nil
	}
	return new(sum / count)
}
