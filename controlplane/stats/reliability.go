package stats

import (
	"math"
)

// NotApplicable is the flag of a figure that is not for this scale or number of raters.
const NotApplicable Flag = "not_applicable"

// Reliability is the agreement of raters on a score, by every figure that fits its scale.
type Reliability struct {
	Scale  Scale `json:"scale"`
	Raters int   `json:"raters"`
	// Items counts those with two ratings or more.
	Items int `json:"items"`
	// PercentAgreement is without weights. Gwet has linear weights on the ordinal scale and is not applicable beyond it.
	PercentAgreement  Agreement `json:"percent_agreement"`
	KrippendorffAlpha Agreement `json:"krippendorff_alpha"`
	GwetAC            Agreement `json:"gwet_ac"`
	// Flags has FewItems below 100 items, where intervals may cover less than 93%.
	Flags []Flag `json:"flags,omitempty"`
}

// fewRated is the number of items below which measured intervals may cover less than 93%.
const fewRated = 100

// Agreement is a figure of reliability, computed from N items.
type Agreement struct {
	Estimate
	N int `json:"n"`
}

// MeasureReliability computes the figures of ratings[item][rater], NaN where one is missing. categories are those of the scale, ascending:
// nil for what was observed, and for numbers. Intervals are BCa of the bootstrap over items, but those of alpha: see
// [KrippendorffInterval]. The time grows with items times categories times resamples.
func MeasureReliability(ratings [][]float64, scale Scale, categories []float64, options BootstrapOptions) Reliability {
	r := Reliability{Scale: scale}
	for _, row := range ratings {
		r.Raters = max(r.Raters, len(row))
		rated := 0
		for _, x := range row {
			if !math.IsNaN(x) {
				rated++
			}
		}
		if rated > 1 {
			r.Items++
		}
	}
	if r.Items < fewRated {
		r.Flags = []Flag{FewItems}
	}
	put := func(e Estimate) Agreement { return Agreement{e, r.Items} }
	r.KrippendorffAlpha = put(KrippendorffInterval(ratings, scale, options))
	r.PercentAgreement = put(resampledPercent(ratings, categories, options))
	r.GwetAC = put(Estimate{Value: None(NotApplicable)})
	if scale == NominalScale || scale == OrdinalScale {
		w := Identity
		if scale == OrdinalScale {
			w = Linear
		}
		items, flag := contributionsOf(ratings, categories, w)
		r.GwetAC = put(resampled(items, flag, options, func(m margins) Value { return m.gwet(w) }))
	}
	return r
}

// contributionsOf are those of the items, on a scale of categories.
func contributionsOf(ratings [][]float64, categories []float64, w Weights) ([]contribution, Flag) {
	counts, flag := CountRatings(ratings, categories)
	if flag != "" {
		return nil, flag
	}
	return counts.contributions(w)
}

// resampled is a figure of margins with its interval.
func resampled(items []contribution, flag Flag, options BootstrapOptions, figure func(margins) Value) Estimate {
	if flag != "" {
		return Estimate{Value: None(flag)}
	}
	of := func(chosen []int) Value {
		m, flag := marginsOf(items, chosen)
		if flag != "" {
			return None(flag)
		}
		return figure(m)
	}
	return Estimate{Value: of(allItems(len(items))), CI: Bootstrap(len(items), of, options).BCa}
}

// resampledPercent is the share of pairs of raters that agree, a mean over the items with two or more ratings, with its interval. It needs
// no counts, which would be many for numbers.
func resampledPercent(ratings [][]float64, categories []float64, options BootstrapOptions) Estimate {
	if _, flag := placesOf(ratings, categories); flag != "" {
		return Estimate{Value: None(flag)}
	}
	agree := make([]float64, len(ratings)) // NaN without two ratings
	for i, row := range ratings {
		equal, pairs := 0, 0
		for j, x := range row {
			for _, y := range row[:j] {
				if !math.IsNaN(x) && !math.IsNaN(y) {
					pairs++
					if x == y {
						equal++
					}
				}
			}
		}
		agree[i] = float64(equal) / float64(pairs)
	}
	of := func(chosen []int) Value {
		sum, n := 0., 0
		for _, i := range chosen {
			if !math.IsNaN(agree[i]) {
				sum += agree[i]
				n++
			}
		}
		if n == 0 {
			return None(TooFew)
		}
		return Some(sum / float64(n))
	}
	return Estimate{Value: of(allItems(len(agree))), CI: Bootstrap(len(agree), of, options).BCa}
}
