package start

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

func TestForecastSentence(t *testing.T) {
	t.Parallel()
	f := Forecast{Metric: "correct", Items: 100, Repeats: 3, Power: results.DefaultPower, Basis: FromAssumption, Margin: compare.Range{Low: .089, High: .153}, Difference: &compare.Range{Low: .1, High: .17}, Seconds: new(120.)}
	e := evaluations.Estimate{Low: new(providers.MoneyOf(.1)), High: new(providers.MoneyOf(.2))}
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
