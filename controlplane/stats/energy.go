package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Energy is the energy statistic of two groups with its permutation test.
type Energy struct {
	// Value is 2 mean d(x,y) - mean d(x,x') - mean d(y,y'), the means over all pairs, with the zeros of the diagonal.
	Value
	Permutation
}

// DistanceGroups are the distances between all members of two groups, the first of which are those of the first group.
type DistanceGroups struct {
	Distances [][]float64
	First     int
}

// sound returns the sum of the distances, and a flag if there is no statistic of them.
func (g DistanceGroups) sound() (total float64, flag Flag) {
	n := len(g.Distances)
	if g.First < 1 || g.First >= n {
		return 0, TooFew
	}
	for _, row := range g.Distances {
		if len(row) != n || !Finite(row...) {
			return 0, OutOfDomain
		}
		for _, d := range row {
			if d < 0 {
				return 0, OutOfDomain
			}
			total += d
		}
	}
	if !Finite(total) {
		return 0, OutOfDomain
	}
	return total, ""
}

func (g DistanceGroups) relabeling() relabeling {
	return relabeling{len(g.Distances), g.First, energyOf(g.Distances)}
}

// EnergyTest tests whether two groups have the same distribution, from the distances between all their members, the first of which are
// those of the first group: over all C(k+m, m) relabelings up to 20,000, else over 9999 random ones with P = (1 + those at least as
// large)/10000. TooFew with an empty group, NoVariation if all distances are 0, OutOfDomain for a matrix that is not square or a
// distance below 0. Székely and Rizzo 2004.
func EnergyTest(distances [][]float64, first int, seed uint64) Energy {
	return StratifiedEnergy([]DistanceGroups{{distances, first}}, seed)
}

// StratifiedEnergy is [EnergyTest] of the sum of the statistics of strata, such as the tasks that both groups did: members change places
// only within a stratum. Two members a group are enough if there are strata enough. TooFew without strata or with an empty group.
func StratifiedEnergy(strata []DistanceGroups, seed uint64) Energy {
	without := func(flag Flag) Energy { return Energy{Value: None(flag), Permutation: Permutation{P: None(flag)}} }
	if len(strata) == 0 {
		return without(TooFew)
	}
	all := make([]relabeling, len(strata))
	observed, total := 0., 0.
	for i, s := range strata {
		own, flag := s.sound()
		if flag != "" {
			return without(flag)
		}
		all[i] = s.relabeling()
		observed += all[i].statistic(allItems(s.First))
		total += own
	}
	switch {
	case !Finite(total, observed):
		return without(OutOfDomain)
	case total == 0:
		return without(NoVariation)
	}
	sums, exact := relabel(all, seed)
	return Energy{Value: Some(observed), Permutation: permutationOf(sums, exact, observed, 1e-10*total)}
}

// MeanDistances are the mean distances between two different members of the first group, of the second one, and between one of each.
// TooFew where there is no such pair.
type MeanDistances struct{ First, Second, Across Value }

// Energy is the statistic without the zeros of the diagonal: 2 Across - First - Second. Its mean is 0 if the groups have the same
// distribution, so that it is below 0 in about half of such cases.
func (m MeanDistances) Energy() Value {
	for _, v := range []Value{m.Across, m.First, m.Second} {
		if v.Value == nil {
			return v
		}
	}
	return Some(2**m.Across.Value - *m.First.Value - *m.Second.Value)
}

// Means are the mean distances. OutOfDomain as [EnergyTest].
func (g DistanceGroups) Means() MeanDistances {
	if _, flag := g.sound(); flag != "" {
		return MeanDistances{None(flag), None(flag), None(flag)}
	}
	return g.means(allItems(len(g.Distances)))
}

// means are those of chosen members. A member that was chosen twice is at no distance from itself, which says nothing of its group.
func (g DistanceGroups) means(members []int) MeanDistances {
	var sums, pairs [3]float64
	for a, i := range members {
		for _, j := range members[a+1:] {
			of := 2
			switch {
			case i == j:
				continue
			case i < g.First && j < g.First:
				of = 0
			case i >= g.First && j >= g.First:
				of = 1
			}
			sums[of] += (g.Distances[i][j] + g.Distances[j][i]) / 2
			pairs[of]++
		}
	}
	mean := func(of int) Value {
		if pairs[of] == 0 {
			return None(TooFew)
		}
		return Some(sums[of] / pairs[of])
	}
	return MeanDistances{mean(0), mean(1), mean(2)}
}

// EnergyInterval is the percentile interval of [MeanDistances.Energy], with members resampled within each group, and wider by √(n/(n-1)) of the
// smaller group, because resampling n members has less variance than n new ones. Nil if a group has less than three members, or all
// distances are 0.
func EnergyInterval(g DistanceGroups, options BootstrapOptions) *Interval {
	if options.Resamples <= 0 {
		options.Resamples = 2000
	}
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	n := len(g.Distances)
	if total, flag := g.sound(); flag != "" || total == 0 || !Level(options.Alpha) || g.First < 3 || n-g.First < 3 {
		return nil
	}
	random := rand.New(rand.NewPCG(options.Seed, 0xb007)) //nolint:gosec // the same seed must give the same answer
	values, members := make([]float64, 0, options.Resamples), make([]int, n)
	for range options.Resamples {
		for i := range members {
			if i < g.First {
				members[i] = random.IntN(g.First)
			} else {
				members[i] = g.First + random.IntN(n-g.First)
			}
		}
		if v, ok := g.means(members).Energy().Get(); ok {
			values = append(values, v)
		}
	}
	if float64(len(values)) < .8*float64(options.Resamples) {
		return nil
	}
	slices.Sort(values)
	smaller := float64(min(g.First, n-g.First))
	estimate, wider := *g.Means().Energy().Value, math.Sqrt(smaller/(smaller-1))
	at := func(p float64) float64 {
		return estimate + wider*(stat.Quantile(p, stat.LinInterp, values, nil)-estimate)
	}
	return NewInterval(at(options.Alpha/2), at(1-options.Alpha/2))
}

// energyOf returns the statistic of a group against all others. Only distances within the group are summed each time: the others follow
// from sums of rows and columns.
func energyOf(distances [][]float64) func(group []int) float64 {
	rows, columns, total := make([]float64, len(distances)), make([]float64, len(distances)), 0.
	for i, row := range distances {
		for j, d := range row {
			rows[i] += d
			columns[j] += d
			total += d
		}
	}
	return func(group []int) float64 {
		var within, out, in float64
		for _, i := range group {
			row := distances[i]
			for _, j := range group {
				within += row[j]
			}
			out += rows[i]
			in += columns[i]
		}
		k, m := float64(len(group)), float64(len(distances)-len(group))
		return 2*(out-within)/(k*m) - within/(k*k) - (total-out-in+within)/(m*m)
	}
}
