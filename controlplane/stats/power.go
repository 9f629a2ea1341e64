package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// exactPower is the number of items up to which the power of McNemar's exact test is summed; beyond, the normal approximation is as good.
const exactPower = 2000

// MinimumDetectable is the true difference of means that a test at level alpha finds with the given power, for n paired differences
// with a standard deviation: (t_{α/2}+t_β) s/√n. NoVariation if the deviation is 0, TooFew below 2 items.
func MinimumDetectable(deviation float64, n int, alpha, power float64) Value {
	switch {
	case n < 2:
		return None(TooFew)
	case !(deviation >= 0) || !Level(alpha) || !Level(power):
		return None(OutOfDomain)
	case deviation == 0:
		return None(NoVariation)
	}
	t := StudentQuantile(alpha, float64(n-1)) + StudentQuantile(2*(1-power), float64(n-1))
	return Some(t * deviation / math.Sqrt(float64(n)))
}

// McNemarSampleSize is the number of items with which a difference delta of two proportions is found if the share psi of the items is
// discordant: (z_{α/2} √ψ + z_β √(ψ-δ²))² / δ². It may have a fraction. OutOfDomain unless 0 < |delta| <= psi <= 1. Connor 1987.
func McNemarSampleSize(psi, delta, alpha, power float64) Value {
	if delta == 0 || !(math.Abs(delta) <= psi) || !(psi <= 1) || !Level(alpha) || !Level(power) {
		return None(OutOfDomain)
	}
	z := NormalQuantile(alpha)*math.Sqrt(psi) + distuv.UnitNormal.Quantile(power)*math.Sqrt(psi-delta*delta)
	return Some(z * z / (delta * delta))
}

// MinimumDetectableMcNemar is the true difference of two proportions that McNemar's exact test finds with the given power among n
// items, if the first proportion is p and the outcomes of an item on both sides have the correlation phi. The second proportion is moved
// towards the side with more room, where more items become discordant. Up to 2000 items it is exact, so that it counts what the test
// loses by its steps. NoVariation if no item would be discordant without a difference, TooFew if no difference is found, OutOfDomain
// unless 0 <= p <= 1, -1 <= phi <= 1 and n >= 1.
func MinimumDetectableMcNemar(p, phi float64, n int, alpha, power float64) Value {
	switch {
	case n < 1 || !Probability(p) || !(math.Abs(phi) <= 1) || !Level(alpha) || !Level(power):
		return None(OutOfDomain)
	case p*(1-p)*(1-phi) < 1e-12:
		return None(NoVariation)
	}
	room := max(p, 1-p)
	// psi is the share of discordant items with a difference.
	psi := func(delta float64) float64 {
		other := room - delta
		both := room*other + phi*math.Sqrt(max(0, room*(1-room)*other*(1-other)))
		return min(1, max(delta, room+other-2*both))
	}
	reaches := func(delta float64) bool {
		size, ok := McNemarSampleSize(psi(delta), delta, alpha, power).Get()
		return ok && size <= float64(n)
	}
	if n <= exactPower {
		critical := mcNemarCritical(n, alpha)
		reaches = func(delta float64) bool { return mcNemarPower(critical, psi(delta), delta) >= power }
	}
	if !reaches(room) {
		return None(TooFew)
	}
	low, high := 0., room
	for range 20 {
		if middle := (low + high) / 2; reaches(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return Some(high)
}

// mcNemarCritical returns, for 0 to n discordant items, the largest smaller number that is significant, -1 if none is.
func mcNemarCritical(n int, alpha float64) []int {
	critical := make([]int, n+1)
	c := -1
	for m := range critical {
		// With one more item it grows by one at most.
		if coin := (distuv.Binomial{N: float64(m), P: .5}); c+1 < (m+1)/2 && 2*coin.CDF(float64(c+1)) <= alpha {
			c++
		}
		critical[m] = c
	}
	return critical
}

// mcNemarPower sums over the numbers of discordant items, except improbable ones.
func mcNemarPower(critical []int, psi, delta float64) float64 {
	n := float64(len(critical) - 1)
	discordant := distuv.Binomial{N: n, P: psi}
	up, around := min(1, (1+delta/psi)/2), 5*math.Sqrt(n*psi*(1-psi))+1
	power := 0.
	for m := int(max(0, n*psi-around)); m <= int(min(n, n*psi+around)); m++ {
		c := critical[m]
		if c < 0 {
			continue
		}
		p, rejected := 1., 1.
		if psi < 1 {
			p = discordant.Prob(float64(m))
		} else if m < len(critical)-1 {
			continue
		}
		if up < 1 {
			rejected = distuv.Binomial{N: float64(m), P: up}.CDF(float64(c)) + distuv.Binomial{N: float64(m), P: 1 - up}.CDF(float64(c))
		}
		power += p * rejected
	}
	return power
}

// MinimumDetectableMeans is the true difference of the means of two independent groups of k and m that a test at level alpha finds with
// the given power, for a standard deviation within groups: (t_{α/2}+t_β) s √(1/k+1/m) with k+m-2 degrees of freedom. TooFew if relabeling
// these groups cannot be significant at all, NoVariation if the deviation is 0.
func MinimumDetectableMeans(deviation float64, k, m int, alpha, power float64) Value {
	attainable, ok := AttainableP(k, m).Get()
	switch {
	case !ok || !(deviation >= 0) || !Level(alpha) || !Level(power):
		return None(OutOfDomain)
	case k+m < 3 || attainable > alpha:
		return None(TooFew)
	case deviation == 0:
		return None(NoVariation)
	}
	degrees := float64(k + m - 2)
	t := StudentQuantile(alpha, degrees) + StudentQuantile(2*(1-power), degrees)
	return Some(t * deviation * math.Sqrt(1/float64(k)+1/float64(m)))
}

// mostFisher is the size of a group up to which the power of Fisher's exact test is summed over all tables.
const mostFisher = 200

// MinimumDetectableFisher is the true difference of two proportions that Fisher's exact test finds with the given power in groups of k
// and m, if the first proportion is p; the second one is moved towards the side with more room. TooFew if no difference is found,
// OutOfDomain unless 1 <= k, m <= 200 and p is in [0, 1].
func MinimumDetectableFisher(p float64, k, m int, alpha, power float64) Value {
	if k < 1 || m < 1 || k > mostFisher || m > mostFisher || !Probability(p) || !Level(alpha) || !Level(power) {
		return None(OutOfDomain)
	}
	rejects := fisherRejects(k, m, alpha)
	room, away := max(p, 1-p), 1.
	if p >= .5 {
		away = -1
	}
	reaches := func(delta float64) bool {
		return fisherPower(rejects, p, max(0, min(1, p+away*delta))) >= power-1e-12
	}
	if !reaches(room) {
		return None(TooFew)
	}
	low, high := 0., room
	for range 20 {
		if middle := (low + high) / 2; reaches(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return Some(high)
}

// fisherRejects reports for x of k and y of m successes whether the two-sided p is at most alpha. Tables with the same sum share their
// probabilities.
func fisherRejects(k, m int, alpha float64) [][]bool {
	rejects := make([][]bool, k+1)
	for x := range rejects {
		rejects[x] = make([]bool, m+1)
	}
	for sum := 1; sum < k+m; sum++ {
		low, high := max(0, sum-m), min(k, sum)
		logs := make([]float64, high-low+1)
		for i := range logs {
			logs[i] = combin.LogGeneralizedBinomial(float64(k), float64(low+i)) + combin.LogGeneralizedBinomial(float64(m), float64(sum-low-i)) -
				combin.LogGeneralizedBinomial(float64(k+m), float64(sum))
		}
		for i, observed := range logs {
			p := 0.
			for _, log := range logs {
				if log <= observed+1e-7 {
					p += math.Exp(log)
				}
			}
			rejects[low+i][sum-low-i] = p <= alpha*(1+1e-9)
		}
	}
	return rejects
}

// fisherPower is the chance that a table is rejected, for groups that succeed with probability p and q.
func fisherPower(rejects [][]bool, p, q float64) float64 {
	first, second := binomialShares(len(rejects)-1, p), binomialShares(len(rejects[0])-1, q)
	power := 0.
	for x, row := range rejects {
		for y, rejected := range row {
			if rejected {
				power += first[x] * second[y]
			}
		}
	}
	return min(1, power)
}

// binomialShares are the probabilities of 0 to n successes.
func binomialShares(n int, p float64) []float64 {
	shares := make([]float64, n+1)
	switch p {
	case 0:
		shares[0] = 1
	case 1:
		shares[n] = 1
	default:
		for x := range shares {
			shares[x] = distuv.Binomial{N: float64(n), P: p}.Prob(float64(x))
		}
	}
	return shares
}
