package statistics

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/internal/stats"
)

// scenario is a kind of scores with known means.
type scenario struct {
	name string
	// effect is a true difference, in the scores' unit: B is worse.
	effect float64
	// items returns what draws the scores of an item. B's mean is higher than A's by the difference.
	items func(difference float64) func(random *rand.Rand) stats.Paired
	// mean is that of A.
	mean float64
}

// latent draws two correlated normal numbers for repeats of an item on each side. The item explains the given part of the variance.
func latent(random *rand.Rand, item float64, repeats int) (a, b []float64) {
	common := math.Sqrt(item) * random.NormFloat64()
	own := math.Sqrt(1 - item)
	for range repeats {
		a, b = append(a, common+own*random.NormFloat64()), append(b, common+own*random.NormFloat64())
	}
	return a, b
}

// binary scores pass where a latent number is below the quantile of their mean. Harder items fail on both sides.
func binary(name string, mean, item float64, repeats int) scenario {
	return scenario{name: name, mean: mean, effect: -.04, items: func(difference float64) func(*rand.Rand) stats.Paired {
		endA, endB := distuv.UnitNormal.Quantile(mean), distuv.UnitNormal.Quantile(max(0, min(1, mean+difference)))
		return func(random *rand.Rand) stats.Paired {
			a, b := latent(random, item, repeats)
			for i := range a {
				a[i], b[i] = pass(a[i] < endA), pass(b[i] < endB)
			}
			return stats.Paired{A: a, B: b}
		}
	}}
}

func pass(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// cuts are where a latent number goes from one of five grades to the next: most grades are high.
var cuts = []float64{-2.1, -1.6, -1.1, -.4}

func gradeMean(shift float64) float64 {
	mean := 1.
	for _, cut := range cuts {
		mean += distuv.UnitNormal.CDF(shift - cut)
	}
	return mean
}

func ordinal(name string, repeats int) scenario {
	return scenario{name: name, mean: gradeMean(0), effect: -.2, items: func(difference float64) func(*rand.Rand) stats.Paired {
		shift := inverse(func(x float64) float64 { return gradeMean(x) - gradeMean(0) }, difference)
		return func(random *rand.Rand) stats.Paired {
			a, b := latent(random, .5, repeats)
			for i := range a {
				a[i], b[i] = grade(a[i]), grade(b[i]+shift)
			}
			return stats.Paired{A: a, B: b}
		}
	}}
}

func grade(x float64) float64 {
	grade := 1.
	for _, cut := range cuts {
		grade += pass(x > cut)
	}
	return grade
}

// inverse finds where an ascending function has a value, between -6 and 6.
func inverse(of func(float64) float64, value float64) float64 {
	if value == 0 {
		return 0
	}
	low, high := -6., 6.
	for range 50 {
		if middle := (low + high) / 2; of(middle) < value {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// skewedShare has scores in [0, 1] of the density of Beta(8, 1): most are near 1.
func skewedShare() scenario {
	const theta = 8.
	const mean = theta / (theta + 1)
	return scenario{name: "share, skewed", mean: mean, effect: -.03, items: func(difference float64) func(*rand.Rand) stats.Paired {
		other := mean + difference
		return func(random *rand.Rand) stats.Paired {
			a, b := latent(random, .5, 1)
			a[0] = math.Pow(distuv.UnitNormal.CDF(a[0]), 1/theta)
			b[0] = math.Pow(distuv.UnitNormal.CDF(b[0]), (1-other)/other)
			return stats.Paired{A: a, B: b}
		}
	}}
}

// cost has log-normal scores, as money and times have; the difference is added to each.
func cost(name string, deviation float64) scenario {
	return scenario{name: name, mean: math.Exp(deviation * deviation / 2), effect: -.3, items: func(difference float64) func(*rand.Rand) stats.Paired {
		return func(random *rand.Rand) stats.Paired {
			a, b := latent(random, .5, 1)
			a[0], b[0] = math.Exp(deviation*a[0]), math.Exp(deviation*b[0])+difference
			return stats.Paired{A: a, B: b}
		}
	}}
}

var scenarios = []scenario{
	binary("binary, 50%", .5, .4, 1),
	binary("binary, 70%", .7, .4, 1),
	binary("binary, 90%", .9, .4, 1),
	binary("binary, 95%", .95, .4, 1),
	binary("binary, 80%, 3 repeats", .8, .5, 3),
	binary("binary, 95%, 3 repeats", .95, .8, 3),
	ordinal("grades 1-5", 1),
	ordinal("grades 1-5, 3 repeats", 3),
	skewedShare(),
	cost("cost, log-normal .5", .5),
	cost("cost, log-normal 1", 1),
}

// dataSet draws n items.
func (s scenario) dataSet(random *rand.Rand, n int, difference float64) stats.Metric {
	m := stats.Metric{Name: s.name, Better: stats.HigherBetter, Items: make([]stats.Paired, n)}
	draw := s.items(difference)
	for i := range m.Items {
		m.Items[i] = draw(random)
	}
	return m
}
