package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// draws is the number of random permutations: with one more for the observed one, p has steps of 1/10000.
const draws = 9999

// maxEnumerated is the number of differing items up to which all sign flips are tried.
const maxEnumerated = 16

// Permutation is the result of a permutation test.
type Permutation struct {
	// P is the two-sided p value. Least is the smallest that these values could have had, nil if it is not known: above alpha no
	// labels of them are significant.
	P     Value
	Least *float64
	// Permutations counts those that were tried; Exact says that these were all.
	Permutations int
	Exact        bool
}

// SignFlip tests whether the mean of paired differences is 0, by flipping their signs. It supposes only that under no difference the two
// sides of an item could be swapped. Up to 16 differences other than 0 it tries all flips, and P is the share with a sum at least as
// far from 0; else 9999 random ones, and P = (1 + those)/10000. NoVariation if all are 0, OutOfDomain for NaN. Fisher 1935; the +1 by
// Phipson and Smyth 2010.
func SignFlip(differences []float64, seed uint64) Permutation {
	if !Finite(differences...) {
		return Permutation{P: None(OutOfDomain)}
	}
	sizes := make([]float64, 0, len(differences))
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
		}
	}
	if len(sizes) == 0 {
		return Permutation{P: None(NoVariation)}
	}
	slices.Sort(sizes)
	most := floats.Max(sizes)
	for i := range sizes { // against overflow
		sizes[i] /= most
	}
	sum := 0.
	for _, d := range differences {
		sum += d / most
	}
	all := floats.Sum(sizes)
	// As far from 0 as the observed sum, but for rounding.
	far := math.Abs(sum) - 1e-10*all
	if len(sizes) <= maxEnumerated {
		return Permutation{P: Some(enumerateFlips(sizes, far)), Permutations: 1 << len(sizes), Exact: true}
	}
	return Permutation{P: Some(float64(1+randomFlips(sizes, far, seed)) / (draws + 1)), Permutations: draws}
}

// enumerateFlips goes through all flips by Gray code, which changes one sign at a time.
func enumerateFlips(sizes []float64, far float64) float64 {
	sum := floats.Sum(sizes)
	negative := make([]bool, len(sizes))
	count, total := 0, 1<<len(sizes)
	for i := 1; ; i++ {
		if math.Abs(sum) >= far {
			count++
		}
		if i == total {
			return float64(count) / float64(total)
		}
		flip := bits.TrailingZeros(uint(i))
		negative[flip] = !negative[flip]
		if negative[flip] {
			sum -= 2 * sizes[flip]
		} else {
			sum += 2 * sizes[flip]
		}
	}
}

// flipGroup has equal sizes, of which only the number that is flipped matters, or different ones with a table of their signed sums.
type flipGroup struct {
	size  float64
	count int
	sums  []float64
}

// tableBits is the number of different sizes in a table: its 16 sums of all tables of 10,000 items stay in the cache.
const tableBits = 4

func flipGroups(sizes []float64) []flipGroup {
	var groups []flipGroup
	var single []float64
	for from := 0; from < len(sizes); {
		to := from + 1
		for to < len(sizes) && sizes[to] == sizes[from] {
			to++
		}
		if to-from >= 2*tableBits {
			groups = append(groups, flipGroup{size: sizes[from], count: to - from})
		} else {
			single = append(single, sizes[from:to]...)
		}
		from = to
	}
	for part := range slices.Chunk(single, tableBits) {
		sums := make([]float64, 1<<tableBits)
		for mask := range sums {
			for i, size := range part {
				if mask>>i&1 == 1 {
					size = -size
				}
				sums[mask] += size
			}
		}
		groups = append(groups, flipGroup{sums: sums})
	}
	return groups
}

// randomFlips counts the random flips whose sum is at least as far from 0.
func randomFlips(sizes []float64, far float64, seed uint64) int {
	groups := flipGroups(sizes)
	random := rand.NewPCG(seed, 0x51671)
	count := 0
	for range draws {
		sum := 0.
		var word uint64
		left := 0
		for i := range groups {
			g := &groups[i]
			if g.sums != nil {
				if left == 0 {
					word, left = random.Uint64(), 64
				}
				sum += g.sums[word&(1<<tableBits-1)]
				word >>= tableBits
				left -= tableBits
				continue
			}
			flipped, rest := 0, g.count
			for ; rest >= 64; rest -= 64 {
				flipped += bits.OnesCount64(random.Uint64())
			}
			flipped += bits.OnesCount64(random.Uint64() & (1<<rest - 1))
			sum += g.size * float64(g.count-2*flipped)
		}
		if math.Abs(sum) >= far {
			count++
		}
	}
	return count
}
