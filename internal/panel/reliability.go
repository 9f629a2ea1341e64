package panel

import (
	"math"

	"github.com/looptrace/looptrace/internal/stats"
)

// Reliability is how far judges agree. See [stats.Reliability].
type Reliability struct {
	Scale  stats.Scale `json:"scale"`
	Raters int         `json:"raters"`
	// Items counts outputs with two votes or more.
	Items             int          `json:"items"`
	PercentAgreement  Figure       `json:"percent_agreement"`
	KrippendorffAlpha Figure       `json:"krippendorff_alpha"`
	GwetAC            Figure       `json:"gwet_ac"`
	Flags             []stats.Flag `json:"flags"`
}

// reliability of the members; nil for one judge.
func (t *table) reliability() *Reliability {
	if len(t.members) < 2 {
		return nil
	}
	ratings, rounded := t.ratings()
	m := stats.MeasureReliability(ratings, t.measured(), t.categories(), t.options)
	of := func(a stats.Agreement) Figure { return figure(a.Estimate, a.N) }
	r := Reliability{
		Scale: m.Scale, Raters: m.Raters, Items: m.Items, Flags: append([]stats.Flag{}, m.Flags...),
		PercentAgreement: of(m.PercentAgreement), KrippendorffAlpha: of(m.KrippendorffAlpha), GwetAC: of(m.GwetAC),
	}
	r.Raters = len(t.members)
	if rounded {
		r.Flags = append(r.Flags, Rounded)
	}
	if t.options.Resamples < allResamples {
		r.Flags = append(r.Flags, FewerResamples)
	}
	return &r
}

// ratings are the values of members by output. On an ordinal scale means of repeats are rounded to a category, halves to the even place.
func (t *table) ratings() (ratings [][]float64, rounded bool) {
	low, _ := t.Scale.ends()
	ratings = make([][]float64, len(t.Outputs))
	for o := range t.Outputs {
		ratings[o] = make([]float64, len(t.members))
		for i, j := range t.members {
			value := t.values[j][o]
			if t.measured() == stats.OrdinalScale {
				whole := low + math.RoundToEven(value-low)
				rounded = rounded || whole != value && !math.IsNaN(value)
				value = whole
			}
			ratings[o][i] = value
		}
	}
	return ratings, rounded
}

// fewLabels is the number of labels below which errors of judges say little.
const fewLabels = 30

// effectiveResamples bounds the work of all pairs of judges.
const effectiveResamples = 500

// effective is the number of independent judges that the members are worth, by their errors against people. Without labels it cannot be
// known: against the mean of the other judges errors add up to 0, so that even copies of one judge would seem independent.
func (t *table) effective(truth []float64) Figure {
	if len(t.members) < 2 {
		return without(stats.NotApplicable, 0)
	}
	var errors [][]float64
	var clusters []int
	for o, right := range truth {
		if math.IsNaN(right) {
			continue
		}
		row := make([]float64, len(t.members))
		for i, j := range t.members {
			row[i] = t.miss(t.values[j][o], right)
		}
		errors, clusters = append(errors, row), append(clusters, t.clusters[o])
	}
	if len(errors) < fewLabels {
		return without(NeedsLabels, len(errors))
	}
	var rows [][]float64
	of := func(items []int) stats.Value {
		rows = rows[:0]
		for _, i := range items {
			rows = append(rows, errors[i])
		}
		return stats.EffectiveJudges(rows)
	}
	all := make([]int, len(errors))
	for i := range all {
		all[i] = i
	}
	e := stats.Estimate{Value: of(all)}
	if e.Value.Value != nil {
		e.CI = stats.Bootstrap(len(errors), of, stats.BootstrapOptions{
			Seed: t.Seed, Clusters: clusters, Resamples: min(effectiveResamples, t.options.Resamples),
		}).BCa
	}
	return figure(e, len(errors))
}

// miss is the error of a value: the difference of scores, or 1 for a wrong category that has none.
func (t *table) miss(value, right float64) float64 {
	switch {
	case math.IsNaN(value):
		return math.NaN()
	case t.scored():
		return t.normalize(value) - t.normalize(right)
	case value == right:
		return 0
	}
	return 1
}
