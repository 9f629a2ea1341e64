package evaluations

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/panel"
	"github.com/looptrace/looptrace/internal/stats"
)

func TestCountRange(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "about 910 to 1,500 items", countRange(stats.Count{Low: 914, Estimate: new(1100), High: new(1412)}, "items"), "no number is given better than it is known")
	assert.Equal(t, "about 73 to 240 items", countRange(stats.Count{Low: 73, Estimate: new(73), High: new(239)}, "items"))
	assert.Equal(t, "910 repeats or more", countRange(stats.Count{Low: 914, Estimate: new(1100)}, "repeats"))
	assert.Equal(t, "2 repeats", countRange(stats.Count{Low: 2, Estimate: new(2), High: new(2)}, "repeats"))
	assert.Empty(t, countRange(stats.Count{Low: 914}, "items"))
}

func TestPriceAndTimeRanges(t *testing.T) {
	t.Parallel()
	dollars := func(x float64) *providers.Money { return new(providers.MoneyOf(x)) }
	assert.Equal(t, "$1.40 to $2.00", priceRange(dollars(1.4), dollars(2)))
	assert.Equal(t, "about $1.40", priceRange(dollars(1.401), dollars(1.402)))
	assert.Equal(t, "at least $0.0012", priceRange(dollars(0.00123), nil))
	assert.Empty(t, priceRange(nil, nil))
	assert.Empty(t, priceRange(dollars(0), dollars(0)), "no call, no cost")
	assert.Equal(t, "about 1 second to 2 minutes", timeRange(new(.3), new(100.)))
	assert.Equal(t, "about 2 hours", timeRange(new(7000.), new(7300.)))
	assert.Empty(t, timeRange(nil, nil))
}

func TestGateMarginSentences(t *testing.T) {
	t.Parallel()
	m := &metric{"correct", KindScore, Higher, nil}
	few := &stats.Count{Low: 914, Estimate: new(1100), High: new(1412)}
	for want, plan := range map[string]GatePlan{
		"A margin of 2.0 points needs about 910 to 1,500 items; you have 100.":  {Margin: .02, Default: .05, Unsupported: true, Items: 100, Needed: few},
		"No number of items decides a margin of 0.0 points.":                    {Margin: 0, Items: 100, Needed: &stats.Count{Low: 1e9}},
		"How many items a margin of 2.0 points needs is not known; you have 1.": {Margin: .02, Items: 1},
	} {
		assert.Equal(t, want, plan.sentence(m, false))
	}
	assert.Equal(t, "The margin is 5.0 points unless you name one, which needs about 910 to 1,500 items; you have 100.",
		(&GatePlan{Margin: .05, Unsupported: true, Items: 100, Needed: few}).sentence(m, true))
	assert.Equal(t, "A margin of 3.5 points is what these 400 items support: an unchanged system passes in 8 of 10 cases.", (&GatePlan{Margin: .035, Items: 400, Needed: few}).sentence(m, true))

	unsure := Gate{Decision: Inconclusive, Margin: .05, Unsupported: true, SplitKnown: true, ItemsRange: few, RepeatsRange: &stats.Count{Low: 4, Estimate: new(5), High: new(7)}}
	assert.Equal(t, " A candidate as good as the baseline would pass in 8 of 10 cases with about 4 to 7 repeats of these items on both sides, and with about 910 to 1,500 items.", unsure.remedy())
	assert.Equal(t, " These items support no margin of 5.0 points, the widest that is taken by itself.", unsure.ofMargin(m, true))
	unsure.RepeatsRange = nil
	assert.Equal(t, " A candidate as good as the baseline would pass in 8 of 10 cases with no number of repeats of these items, and with about 910 to 1,500 items.", unsure.remedy())
	unsure.Decision = Regression
	assert.Equal(t, " These items support no margin of 5.0 points, the widest that is taken by itself: it needs about 910 to 1,500 items.", unsure.ofMargin(m, true))
	assert.Empty(t, unsure.ofMargin(m, false))
}

func TestForecastSentence(t *testing.T) {
	t.Parallel()
	f := Forecast{Metric: "correct", Items: 100, Repeats: 3, Power: forecastPower, Basis: FromAssumption, Margin: stats.Range{Low: .089, High: .153}, Difference: &stats.Range{Low: .1, High: .17}, Seconds: new(120.)}
	e := Estimate{Low: new(providers.MoneyOf(.1)), High: new(providers.MoneyOf(.2))}
	assert.Equal(t, "With 100 items × 3 ($0.10 to $0.20, about 2 minutes) an unchanged system passes a gate in 8 of 10 cases at a margin of 8.9 to 15.3 points, "+
		"and a comparison finds a true difference of 10.0 to 17.0 points as often, if 10 to 30% of the items come out differently: no earlier eval-run of the dataset tells how correct varies.", f.sentence(&e))
	f.Basis, f.EvalRuns, f.Difference, f.Power = FromRepeats, []ForecastRun{{Name: "main"}}, nil, .9
	f.Needed = &ForecastNeeded{Margin: .02, SplitKnown: true, Items: f.count(stats.Count{Low: 1000, Estimate: new(2000), High: new(3000)}, 100, &e)}
	assert.Equal(t, "With 100 items × 3 ($0.10 to $0.20, about 2 minutes) an unchanged system passes a gate in 90.0% of cases at a margin of 8.9 to 15.3 points, "+
		"by how correct differs between the repeats of the eval-run “main”. A margin of 2.0 points needs about 1,000 to 3,000 items × 3 ($1.00 to $6.00, about 20 minutes to 60 minutes); "+
		"no number of repeats of these items is enough.", f.sentence(&e))
	f.Needed.Repeats = f.count(stats.Count{Low: 6, Estimate: new(7)}, 3, &e)
	assert.Equal(t, "A margin of 2.0 points needs about 1,000 to 3,000 items × 3 ($1.00 to $6.00, about 20 minutes to 60 minutes), or 6 repeats of these items or more (at least $0.20).", f.Needed.sentence(3))
	assert.Nil(t, f.count(stats.Count{Low: 1e9}, 3, &e))
	assert.Equal(t, "No number of items decides a margin of 0.0 points.", (&ForecastNeeded{}).sentence(1))
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	advise := func(s spend) string { return s.advise().Sentence }
	known := spend{items: 200, repeats: 2, sides: 1, item: new(.16), repeat: new(.08), output: new(.0035)}
	assert.Equal(t, "More items help most: 200 more items cost about $1.40 and make the interval ±4.4 in place of ±6.2 points; as much spent on repeats makes it ±5.9.", advise(known))
	known.repeat = new(.001)
	assert.Contains(t, advise(known), "; more repeats would not help.")
	known.item, known.repeat = new(.001), new(.2)
	assert.Contains(t, advise(known), "More items and more repeats help alike: 200 more items cost about $1.40 and make the interval")
	known.output = nil
	assert.Contains(t, advise(known), "alike: 200 more items make the interval")

	// Votes that are cheap and noisy help most; those that are neither do not.
	judged := spend{items: 200, repeats: 2, sides: 1, item: new(.01), repeat: new(.1), output: new(.01), judged: true, votes: voteFacts{variance: new(.18), votes: 2, cost: new(.0001)}}
	a := judged.advise()
	assert.InDelta(t, .1-.18/2, *a.Repeat, 1e-12, "the noise of votes is a part of that of repeats")
	assert.Contains(t, a.Sentence, "More votes of judges help most: 100 more on each output cost about $4.00 and make the interval")
	judged.votes.variance, judged.item, judged.repeat = new(.001), new(.1), new(.001)
	assert.Contains(t, advise(judged), "more votes of judges would not help")
	judged.votes.variance = nil
	assert.Contains(t, advise(judged), "What more votes of judges would do is not known, for the score is not their mean.")
	judged.votes.votes = 1
	assert.Contains(t, advise(judged), "is not known, for each output has one.")

	known.dependent = "they are groups"
	assert.Equal(t, "Whether more items or more repeats would help most is not known: they are groups.", advise(known))
	known.dependent = ""

	unknown := spend{items: 200, repeats: 1, sides: 2}
	assert.Equal(t, "Whether more items or more repeats would help most is not known: it takes two repeats of each item to tell the noise of repeats from differences between items.", advise(unknown))
	assert.False(t, unknown.advise().Known)
	known.items = 19
	assert.Contains(t, advise(known), "19 items are too few to tell where the noise comes from.")
	known.items, known.item, known.repeat = 200, new(0.), new(0.)
	assert.Equal(t, "Nothing varied, so that these items do not tell what more would do.", advise(known))
}

// TestFactsOfVotes: that a judge is stricter than another one on all outputs is no noise of votes. Escalations, failed votes and cached costs
// do not count.
func TestFactsOfVotes(t *testing.T) {
	t.Parallel()
	in := panel.Input{Kind: panel.Score, Aggregate: panel.Mean, Scale: panel.Scale{Type: panel.Numeric, Max: 1}, Judges: []panel.Judge{{Name: "strict"}, {Name: "mild"}, {Name: "last", Escalation: true}}}
	for output, value := range []float64{.1, .3, .5} {
		in.Votes = append(in.Votes,
			panel.Vote{Output: int32(output), Judge: 0, Status: panel.OK, Value: value, Cost: .01},
			panel.Vote{Output: int32(output), Judge: 1, Status: panel.OK, Value: value + .4, Cost: .03},
			panel.Vote{Output: int32(output), Judge: 2, Status: panel.OK, Value: 1, Cost: 5},
			panel.Vote{Output: int32(output), Judge: 1, Repeat: 1, Status: panel.Refused, Cost: math.NaN()})
	}
	facts := factsOfVotes(&in)
	require.NotNil(t, facts.variance)
	assert.InDelta(t, 0, *facts.variance, 1e-12)
	assert.InDelta(t, 2, facts.votes, 0)
	assert.InDelta(t, .02, *facts.cost, 1e-12)
	in.Votes[1].Value -= .3
	assert.InDelta(t, (.04+.01+.01)/2/3, *factsOfVotes(&in).variance, 1e-12, "the judge's mean falls by .1: it is .2 off once, and .1 twice")
	in.Votes[0].Cached, in.Aggregate = true, panel.Median
	facts = factsOfVotes(&in)
	assert.Nil(t, facts.variance, "the score is not the mean")
	assert.InDelta(t, .11/5, *facts.cost, 1e-12)
	assert.Nil(t, factsOfVotes(&panel.Input{}).cost)
}
