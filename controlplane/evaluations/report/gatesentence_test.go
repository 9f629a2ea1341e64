package report

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

func TestGateMarginSentences(t *testing.T) {
	t.Parallel()
	m := &results.Metric{Name: "correct", Kind: evaluations.KindScore, Better: evaluations.Higher}
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

func TestVerdictInJUnit(t *testing.T) {
	t.Parallel()
	for verdict, failures := range map[compare.Verdict]int{compare.ABetter: 1, compare.BBetter: 0, compare.Inconclusive: 0, compare.Equivalent: 0} {
		text, err := json.Marshal(results.Summary{PrimaryMetric: new("correct"), Metrics: []results.MetricSummary{{Name: "correct", Verdict: verdict}}})
		require.NoError(t, err)
		suite := junitSuite{}
		require.NoError(t, suite.addVerdict(&evaluations.Evaluation{Summary: new(string(text))}))
		assert.Equal(t, failures, suite.Failures, verdict)
	}
}
