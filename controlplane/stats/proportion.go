package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson is the score interval of a proportion of x successes in n: centre (p+z²/2n)/(1+z²/n), half z √(p(1-p)/n + z²/4n²) / (1+z²/n).
// x may have a fraction, for an effective number of independent trials. alpha is 1 - confidence. Nil unless 0 <= x <= n and n > 0.
// Wilson 1927.
func Wilson(x, n, alpha float64) *Interval {
	if !(n > 0) || !(x >= 0 && x <= n) || !Level(alpha) {
		return nil
	}
	return wilson(x/n, n, NormalQuantile(alpha))
}

func wilson(p, n, z float64) *Interval {
	centre, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	by := 1 + z*z/n
	return NewInterval(max(0, (centre-half)/by), min(1, (centre+half)/by))
}

// ShareInterval is [Wilson] for a mean of passes, widened where at most three of 20 or more passed or failed: there its own end nearest to
// 0 or 1 leaves out shares that are likely, and is replaced by the bound of a Poisson count. Brown, Cai and DasGupta 2001, section 4.1.1.
func ShareInterval(x, n, alpha float64) *Interval {
	const few, least = 3, 20
	ci := Wilson(x, n, alpha)
	if ci == nil || n < least {
		return ci
	}
	if x > 0 && x <= few {
		ci[0] = min(ci[0], distuv.Gamma{Alpha: x, Beta: 1}.Quantile(alpha)/n)
	}
	if failed := n - x; failed > 0 && failed <= few {
		ci[1] = max(ci[1], 1-distuv.Gamma{Alpha: failed, Beta: 1}.Quantile(alpha)/n)
	}
	return ci
}

// ClopperPearson is the exact interval of a proportion of x successes in n: it covers at least 1-alpha, and more than that for most.
// Nil unless 0 <= x <= n and n > 0. Clopper and Pearson 1934.
func ClopperPearson(x, n int, alpha float64) *Interval {
	if n <= 0 || x < 0 || x > n || !Level(alpha) {
		return nil
	}
	low, high := 0., 1.
	if x > 0 {
		low = distuv.Beta{Alpha: float64(x), Beta: float64(n - x + 1)}.Quantile(alpha / 2)
	}
	if x < n {
		high = distuv.Beta{Alpha: float64(x + 1), Beta: float64(n - x)}.Quantile(1 - alpha/2)
	}
	return NewInterval(low, high)
}

// PairedProportions is the score interval of the difference of two proportions of the same n items, where b items succeeded only with
// the second and c only with the first: (b-c)/n is the difference. It has an answer without discordant items, too. Nil unless b, c >= 0
// and b+c <= n and n > 0. Tango 1998. Chosen over Bonett-Price, Agresti-Min, Newcombe and t by measurement: docs/measurements/statistics.md.
func PairedProportions(b, c, n int, alpha float64) *Interval {
	if n <= 0 || b < 0 || c < 0 || b+c > n || !Level(alpha) {
		return nil
	}
	z := NormalQuantile(alpha)
	d := float64(b-c) / float64(n)
	return NewInterval(tangoEnd(b, c, n, -1, d, z), tangoEnd(b, c, n, 1, d, -z))
}

// tangoEnd finds the difference between outside and d at which the score statistic is z. The statistic falls as the difference grows.
func tangoEnd(b, c, n int, outside, d, z float64) float64 {
	for range 60 {
		middle := (outside + d) / 2
		if score := TangoScore(float64(b), float64(c), float64(n), middle); (score > z) == (z > 0) {
			outside = middle
		} else {
			d = middle
		}
	}
	return (outside + d) / 2
}

// TangoScore is the score statistic of the difference, with the discordant share that is most likely under it.
func TangoScore(b, c, n, difference float64) float64 {
	first := 2*n - b + c
	linear := -b - c + first*difference
	root := math.Sqrt(max(0, linear*linear+8*n*c*difference*(1-difference)))
	q := (root - linear) / (4 * n)
	above, variance := b-c-n*difference, n*(2*q+difference*(1-difference))
	if variance <= 1e-15 {
		return above * 1e9
	}
	return above / math.Sqrt(variance)
}
