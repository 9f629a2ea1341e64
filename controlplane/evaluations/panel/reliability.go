package panel

import (
	"math"

	"github.com/looptrace/looptrace/controlplane/stats"
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
