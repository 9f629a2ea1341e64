package statistics

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// scenario is a kind of scores with known means.
type scenario struct {
	name string
	// effect is a true difference, in the scores' unit: B is worse.
	effect float64
	// items returns what draws the scores of an item. B's mean is higher than A's by the difference.
	items func(difference float64) func(random *rand.Rand) compare.Paired
	// mean is that of A.
	mean float64
	// amounts are costs and durations, and no scores; heavy ones have a mean that rare values decide.
	amounts, heavy bool
	// breaks is whether the effect is that few items fail for good.
	breaks bool
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
	return scenario{name: name, mean: mean, effect: -.04, items: func(difference float64) func(*rand.Rand) compare.Paired {
		endA, endB := distuv.UnitNormal.Quantile(mean), distuv.UnitNormal.Quantile(max(0, min(1, mean+difference)))
		return func(random *rand.Rand) compare.Paired {
			a, b := latent(random, item, repeats)
			for i := range a {
				a[i], b[i] = pass(a[i] < endA), pass(b[i] < endB)
			}
			return compare.Paired{A: a, B: b}
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
	return scenario{name: name, mean: gradeMean(0), effect: -.2, items: func(difference float64) func(*rand.Rand) compare.Paired {
		shift := inverse(func(x float64) float64 { return gradeMean(x) - gradeMean(0) }, difference)
		return func(random *rand.Rand) compare.Paired {
			a, b := latent(random, .5, repeats)
			for i := range a {
				a[i], b[i] = grade(a[i]), grade(b[i]+shift)
			}
			return compare.Paired{A: a, B: b}
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
	return scenario{name: "share, skewed", mean: mean, effect: -.03, items: func(difference float64) func(*rand.Rand) compare.Paired {
		other := mean + difference
		return func(random *rand.Rand) compare.Paired {
			a, b := latent(random, .5, 1)
			a[0] = math.Pow(distuv.UnitNormal.CDF(a[0]), 1/theta)
			b[0] = math.Pow(distuv.UnitNormal.CDF(b[0]), (1-other)/other)
			return compare.Paired{A: a, B: b}
		}
	}}
}

// cost has log-normal scores, as money and times have; the difference is added to each.
func cost(name string, deviation float64) scenario {
	return scenario{name: name, heavy: deviation > 1, mean: math.Exp(deviation * deviation / 2), effect: -.3, amounts: true, items: func(difference float64) func(*rand.Rand) compare.Paired {
		return func(random *rand.Rand) compare.Paired {
			a, b := latent(random, .5, 1)
			a[0], b[0] = math.Exp(deviation*a[0]), math.Exp(deviation*b[0])+difference
			return compare.Paired{A: a, B: b}
		}
	}}
}

// broken are passes of items that mostly pass always or never; B is worse as some items fail for good.
func broken(name string, mean, effect float64, repeats int) scenario {
	return scenario{name: name, mean: mean, effect: effect, breaks: true, items: func(difference float64) func(*rand.Rand) compare.Paired {
		return func(random *rand.Rand) compare.Paired {
			p := distuv.Beta{Alpha: mean, Beta: 1 - mean, Src: random}.Rand()
			q := p
			if random.Float64() < -difference/mean {
				q = 0
			}
			var item compare.Paired
			for range repeats {
				item.A, item.B = append(item.A, pass(random.Float64() < p)), append(item.B, pass(random.Float64() < q))
			}
			return item
		}
	}}
}

// mostlyOne are scores of a grader that gives almost all items exactly 1; B is worse as some items get 0.
func mostlyOne(name string, share float64) scenario {
	mean := 1 - (1-share)/4
	return scenario{name: name, mean: mean, effect: -.05 * mean, breaks: true, items: func(difference float64) func(*rand.Rand) compare.Paired {
		return func(random *rand.Rand) compare.Paired {
			hard := random.Float64() > share
			score := func() float64 {
				if hard && random.Float64() < .5 {
					return random.Float64()
				}
				return 1
			}
			a, b := score(), score()
			if random.Float64() < -difference/mean {
				b = 0
			}
			return compare.Paired{A: []float64{a}, B: []float64{b}}
		}
	}}
}

// timeouts are durations in seconds, of which 2% end at a limit of 60.
func timeouts() scenario {
	const chance = .02
	mean := chance*60 + (1-chance)*2*math.Exp(.36*(.25+.49)/2)
	return scenario{name: "duration, 2% timeouts", mean: mean, effect: -.3, amounts: true, heavy: true, items: func(difference float64) func(*rand.Rand) compare.Paired {
		return func(random *rand.Rand) compare.Paired {
			item := .5 * random.NormFloat64()
			duration := func() float64 {
				if random.Float64() < chance {
					return 60
				}
				return 2 * math.Exp(.6*(item+.7*random.NormFloat64()))
			}
			return compare.Paired{A: []float64{duration()}, B: []float64{duration() + difference}}
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
	broken("binary, 98%, items break", .98, -.049, 1),
	broken("binary, 80%, 10 repeats, items break", .8, -.08, 10),
	broken("binary, 98%, 3 repeats, items break", .98, -.049, 3),
	broken("binary, 98%, 10 repeats, items break", .98, -.049, 10),
	mostlyOne("90% exactly 1, items break", .9),
	mostlyOne("98% exactly 1, items break", .98),
	cost("cost, log-normal 1", 1),
	cost("cost, log-normal 1.8", 1.8),
	timeouts(),
}

// dataSet draws n items.
func (s scenario) dataSet(random *rand.Rand, n int, difference float64) compare.Metric {
	m := compare.Metric{Name: s.name, Better: compare.HigherBetter, Items: make([]compare.Paired, n), Amount: s.amounts}
	draw := s.items(difference)
	for i := range m.Items {
		m.Items[i] = draw(random)
	}
	return m
}
