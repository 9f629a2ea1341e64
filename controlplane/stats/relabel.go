package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// maxRelabelings is the number up to which all relabelings of two groups are tried.
const maxRelabelings = 20_000

// relabeling is two groups whose members could change places if nothing told the groups apart: n members, first of them in the first group.
type relabeling struct {
	n, first int
	// statistic is that of a first group, which lists its members.
	statistic func(group []int) float64
}

// choices is the logarithm of the number of relabelings.
func (r relabeling) choices() float64 {
	return combin.LogGeneralizedBinomial(float64(r.n), float64(r.first))
}

// all has the statistic of every relabeling, nil if there are too many.
func (r relabeling) all() []float64 {
	if r.choices() > math.Log(maxRelabelings+.5) {
		return nil
	}
	values := make([]float64, 0, combin.Binomial(r.n, r.first))
	group := make([]int, r.first)
	for generator := combin.NewCombinationGenerator(r.n, r.first); generator.Next(); {
		values = append(values, r.statistic(generator.Combination(group)))
	}
	return values
}

// relabel sums the statistics of strata, within which members change places: over all relabelings up to 20,000, else over 9999 random ones.
func relabel(strata []relabeling, seed uint64) (sums []float64, exact bool) {
	tables, choices := make([][]float64, len(strata)), 0.
	for i, s := range strata {
		tables[i] = s.all()
		choices += s.choices()
	}
	if choices <= math.Log(maxRelabelings+.5) {
		sums = []float64{0}
		for _, table := range tables {
			next := make([]float64, 0, len(sums)*len(table))
			for _, sum := range sums {
				for _, value := range table {
					next = append(next, sum+value)
				}
			}
			sums = next
		}
		return sums, true
	}
	random := rand.New(rand.NewPCG(seed, 0xe4e26)) //nolint:gosec // the same seed must give the same answer
	sums = make([]float64, draws)
	for i := range sums {
		for j, s := range strata {
			if tables[j] != nil {
				sums[i] += tables[j][random.IntN(len(tables[j]))]
			} else {
				sums[i] += s.statistic(random.Perm(s.n)[:s.first])
			}
		}
	}
	return sums, false
}

// permutationOf counts the relabelings whose statistic is at least as large as the observed one, but for rounding.
func permutationOf(sums []float64, exact bool, observed, rounding float64) Permutation {
	share := func(least float64) Value {
		count := 0
		for _, sum := range sums {
			if sum >= least-rounding {
				count++
			}
		}
		if exact {
			return Some(float64(count) / float64(len(sums)))
		}
		return Some(float64(1+count) / float64(len(sums)+1))
	}
	result := Permutation{P: share(observed), Permutations: len(sums), Exact: exact}
	if exact {
		result.Least = share(slices.Max(sums)).Value
	}
	return result
}

// AttainableP is the smallest p value that relabeling k against m can reach: 1/C(k+m, m), and twice that for equal groups, whose swap has
// the same statistic. A design in which it is above alpha cannot be significant. OutOfDomain unless k, m >= 1.
func AttainableP(k, m int) Value { return StratifiedAttainableP([][2]int{{k, m}}) }

// StratifiedAttainableP is [AttainableP] for relabeling within strata of k against m: the product over strata, but not less than the
// 1/10000 of random relabelings. OutOfDomain without strata.
func StratifiedAttainableP(designs [][2]int) Value {
	if len(designs) == 0 {
		return None(OutOfDomain)
	}
	choices, log := 0., 0.
	for _, d := range designs {
		if d[0] < 1 || d[1] < 1 {
			return None(OutOfDomain)
		}
		own := combin.LogGeneralizedBinomial(float64(d[0]+d[1]), float64(d[1]))
		choices += own
		log -= own
		if d[0] == d[1] {
			log += math.Ln2
		}
	}
	p := min(1, math.Exp(log))
	if len(designs) > 1 && choices > math.Log(maxRelabelings+.5) {
		p = max(p, 1./(draws+1))
	}
	return Some(p)
}
