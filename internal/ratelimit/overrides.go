package ratelimit

import "math"

// MaxRate limits rates and bursts, so that counters hold a year of use.
const MaxRate = 1e12

// Overrides replace configured limits, by [RateName] and [BurstName]. A rate of 0 means no limit. A rate without a
// burst has a burst of one second.
type Overrides = map[string]float64

type overrideNames struct{ rate, burst string }

// names of the overrides. They are looked up for every request, so they are built once.
var names = func() (names [kinds][measures]overrideNames) {
	for kind := range names {
		for measure := range names[kind] {
			prefix := Kind(kind).String() + "_" + Measure(measure).String() + "_"
			names[kind][measure] = overrideNames{rate: prefix + "per_second", burst: prefix + "burst"}
		}
	}
	return names
}()

// RateName returns the name of an override of a rate, such as project_spans_per_second.
func RateName(k Kind, m Measure) string { return names[k][m].rate }

// BurstName returns the name of an override of a burst, such as project_spans_burst.
func BurstName(k Kind, m Measure) string { return names[k][m].burst }

// Override replaces the limits that are given for the kind. It ignores values that are out of range.
func (l *Limits) Override(k Kind, given Overrides) {
	for i := range l {
		rate, hasRate := given[names[k][i].rate]
		burst, hasBurst := given[names[k][i].burst]
		if hasRate && rate >= 0 && rate <= MaxRate {
			l[i] = Limit{}
			if rate > 0 {
				l[i] = Limit{Rate: rate, Burst: math.Ceil(rate)}
			}
		}
		if hasBurst && burst >= 1 && burst <= MaxRate && l[i].Rate > 0 {
			l[i].Burst = math.Floor(burst)
		}
	}
}
