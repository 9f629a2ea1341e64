package evaluations

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

func TestCountRange(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "about 910 to 1,500 items", countRange(compare.Count{Low: 914, Estimate: new(1100), High: new(1412)}, "items"), "no number is given better than it is known")
	assert.Equal(t, "about 73 to 240 items", countRange(compare.Count{Low: 73, Estimate: new(73), High: new(239)}, "items"))
	assert.Equal(t, "910 repeats or more", countRange(compare.Count{Low: 914, Estimate: new(1100)}, "repeats"))
	assert.Equal(t, "2 repeats", countRange(compare.Count{Low: 2, Estimate: new(2), High: new(2)}, "repeats"))
	assert.Empty(t, countRange(compare.Count{Low: 914}, "items"))
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
	few := &compare.Count{Low: 914, Estimate: new(1100), High: new(1412)}
	for want, plan := range map[string]GatePlan{
		"A margin of 2.0 points needs about 910 to 1,500 items; you have 100.":  {Margin: .02, Default: .05, Unsupported: true, Items: 100, Needed: few},
		"No number of items decides a margin of 0.0 points.":                    {Margin: 0, Items: 100, Needed: &compare.Count{Low: 1e9}},
		"How many items a margin of 2.0 points needs is not known; you have 1.": {Margin: .02, Items: 1},
	} {
		assert.Equal(t, want, plan.sentence(m, false))
	}
	assert.Equal(t, "The margin is 5.0 points unless you name one, which needs about 910 to 1,500 items; you have 100.",
		(&GatePlan{Margin: .05, Unsupported: true, Items: 100, Needed: few}).sentence(m, true))
	assert.Equal(t, "A margin of 3.5 points is what these 400 items support: an unchanged system passes in 8 of 10 cases.", (&GatePlan{Margin: .035, Items: 400, Needed: few}).sentence(m, true))

	unsure := Gate{Decision: Inconclusive, Margin: .05, Unsupported: true, SplitKnown: true, ItemsRange: few, RepeatsRange: &compare.Count{Low: 4, Estimate: new(5), High: new(7)}}
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
	f := Forecast{Metric: "correct", Items: 100, Repeats: 3, Power: forecastPower, Basis: FromAssumption, Margin: compare.Range{Low: .089, High: .153}, Difference: &compare.Range{Low: .1, High: .17}, Seconds: new(120.)}
	e := Estimate{Low: new(providers.MoneyOf(.1)), High: new(providers.MoneyOf(.2))}
	assert.Equal(t, "With 100 items × 3 ($0.10 to $0.20, about 2 minutes) an unchanged system passes a gate in 8 of 10 cases at a margin of 8.9 to 15.3 points, "+
		"and a comparison finds a true difference of 10.0 to 17.0 points as often, if 10 to 30% of the items come out differently: no earlier eval-run of the dataset tells how correct varies.", f.sentence(&e))
	f.Basis, f.EvalRuns, f.Difference, f.Power = FromRepeats, []ForecastRun{{Name: "main"}}, nil, .9
	f.Needed = &ForecastNeeded{Margin: .02, SplitKnown: true, Items: f.count(compare.Count{Low: 1000, Estimate: new(2000), High: new(3000)}, 100, &e)}
	assert.Equal(t, "With 100 items × 3 ($0.10 to $0.20, about 2 minutes) an unchanged system passes a gate in 90.0% of cases at a margin of 8.9 to 15.3 points, "+
		"by how correct differs between the repeats of the eval-run “main”. A margin of 2.0 points needs about 1,000 to 3,000 items × 3 ($1.00 to $6.00, about 20 minutes to 60 minutes); "+
		"no number of repeats of these items is enough.", f.sentence(&e))
	f.Needed.Repeats = f.count(compare.Count{Low: 6, Estimate: new(7)}, 3, &e)
	assert.Equal(t, "A margin of 2.0 points needs about 1,000 to 3,000 items × 3 ($1.00 to $6.00, about 20 minutes to 60 minutes), or 6 repeats of these items or more (at least $0.20).", f.Needed.sentence(3))
	assert.Nil(t, f.count(compare.Count{Low: 1e9}, 3, &e))
	assert.Equal(t, "No number of items decides a margin of 0.0 points.", (&ForecastNeeded{}).sentence(1))
}
