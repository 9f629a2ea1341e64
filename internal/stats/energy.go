package stats

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/combin"
)

// maxRelabelings is the number up to which all relabelings of two groups are tried.
const maxRelabelings = 20_000

// Energy is the energy statistic of two groups with its permutation test.
type Energy struct {
	// Value is 2 mean d(x,y) - mean d(x,x') - mean d(y,y'), the means over all pairs, with the zeros of the diagonal.
	Value
	Permutation
}

// EnergyTest tests whether two groups have the same distribution, from the distances between all their members, the first of which are
// those of the first group: over all C(k+m, m) relabelings up to 20,000, else over 9999 random ones with P = (1 + those at least as
// large)/10000. TooFew with an empty group, NoVariation if all distances are 0, OutOfDomain for a matrix that is not square or a
// distance below 0. Székely and Rizzo 2004.
func EnergyTest(distances [][]float64, first int, seed uint64) Energy {
	without := func(flag Flag) Energy { return Energy{Value: none(flag), Permutation: Permutation{P: none(flag)}} }
	n := len(distances)
	if first < 1 || first >= n {
		return without(TooFew)
	}
	total := 0.
	for _, row := range distances {
		if len(row) != n || !finite(row...) {
			return without(OutOfDomain)
		}
		for _, d := range row {
			if d < 0 {
				return without(OutOfDomain)
			}
			total += d
		}
	}
	if !finite(total) {
		return without(OutOfDomain)
	}
	if total == 0 {
		return without(NoVariation)
	}
	observed := energyOf(distances, allItems(first))
	result := Energy{Value: some(observed)}
	least := observed - 1e-10*total
	count := 0
	if choices := combin.LogGeneralizedBinomial(float64(n), float64(first)); choices <= math.Log(maxRelabelings+.5) {
		result.Exact, result.Permutations = true, combin.Binomial(n, first)
		group := make([]int, first)
		for all := combin.NewCombinationGenerator(n, first); all.Next(); {
			if energyOf(distances, all.Combination(group)) >= least {
				count++
			}
		}
		result.P = some(float64(count) / float64(result.Permutations))
		return result
	}
	random := rand.New(rand.NewPCG(seed, 0xe4e26)) //nolint:gosec // the same seed must give the same answer
	for range draws {
		if energyOf(distances, random.Perm(n)[:first]) >= least {
			count++
		}
	}
	result.Permutations, result.P = draws, some(float64(1+count)/(draws+1))
	return result
}

// energyOf is the statistic of the group against all others.
func energyOf(distances [][]float64, group []int) float64 {
	in := make([]bool, len(distances))
	for _, i := range group {
		in[i] = true
	}
	var within, across, outside float64
	for i, row := range distances {
		for j, d := range row {
			switch {
			case in[i] && in[j]:
				within += d
			case !in[i] && !in[j]:
				outside += d
			case in[i]:
				across += d
			}
		}
	}
	k, m := float64(len(group)), float64(len(distances)-len(group))
	return 2*across/(k*m) - within/(k*k) - outside/(m*m)
}

// AttainableP is the smallest p value that relabeling k against m can reach: 1/C(k+m, m), and twice that for equal groups, whose swap has
// the same statistic. A design in which it is above alpha cannot be significant. OutOfDomain unless k, m >= 1.
func AttainableP(k, m int) Value {
	if k < 1 || m < 1 {
		return none(OutOfDomain)
	}
	p := math.Exp(-combin.LogGeneralizedBinomial(float64(k+m), float64(m)))
	if k == m {
		p *= 2
	}
	return some(min(1, p))
}
