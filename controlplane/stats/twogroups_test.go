package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// TestNewcombeDifference: Newcombe 1998, table II, method 10. There the difference is that of the first proportion from the second.
func TestNewcombeDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x, k, y, m int
		want       []float64
	}{
		{56, 70, 48, 80, []float64{.0524, .3339}},
		{9, 10, 3, 10, []float64{.1705, .8090}},
		{6, 7, 2, 7, []float64{.0582, .8062}},
		{5, 56, 0, 29, []float64{-.0381, .1926}},
		{0, 10, 0, 20, []float64{-.1611, .2775}},
		{0, 10, 0, 10, []float64{-.2775, .2775}},
		{10, 10, 0, 20, []float64{.6791, 1}},
		{10, 10, 0, 10, []float64{.6075, 1}},
	} {
		got := NewcombeDifference(c.y, c.m, c.x, c.k, .05)
		require.InDeltaSlice(t, c.want, got[:], 5e-5, "%v", c)
		mirrored := NewcombeDifference(c.x, c.k, c.y, c.m, .05)
		require.InDelta(t, -got[0], mirrored[1], 1e-12)
	}
	require.Nil(t, NewcombeDifference(0, 0, 1, 2, .05))
	require.Nil(t, NewcombeDifference(3, 2, 1, 2, .05))
}

// TestWelchDifference: R, t.test(extra ~ group, data = sleep).
func TestWelchDifference(t *testing.T) {
	t.Parallel()
	sleep := Groups{[]float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}, []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}}
	e := WelchDifference(sleep, .05)
	require.InDelta(t, 1.58, *e.Value.Value, 1e-12)
	require.InDeltaSlice(t, []float64{-.2054832, 3.3654832}, e.CI[:], 1e-6)
	one := WelchDifference(Groups{[]float64{1}, []float64{2, 3}}, .05)
	require.InDelta(t, 1.5, *one.Value.Value, 0)
	require.Nil(t, one.CI)
	require.Equal(t, TooFew, one.Flag)
	same := WelchDifference(Groups{[]float64{.1, .1, .1}, []float64{.3, .3}}, .05)
	require.Equal(t, NoVariation, same.Flag)
	require.InDelta(t, 1.898, *PooledDeviation(sleep).Value, 1e-3, "the root of the mean of both variances")
	require.InDelta(t, .2, *same.Value.Value, 1e-15)

	logs, flag := Logarithms(Groups{[]float64{1, 4}, []float64{2, 8, 4}})
	require.Empty(t, flag)
	ratio := RatioOf(WelchDifference(logs, .05))
	require.InDelta(t, 2, *ratio.Value.Value, 1e-12, "4 to 2")
	require.Less(t, ratio.CI[0], 2.)
	_, flag = Logarithms(Groups{[]float64{0, 4}, []float64{2}})
	require.Equal(t, OutOfDomain, flag)
}

// relabelings gives the places of the first group in each relabeling of n members, by counting through masks.
func relabelings(n, first int) (all [][]int) {
	for mask := range uint(1) << n {
		if bits.OnesCount(mask) != first {
			continue
		}
		var group []int
		for i := range n {
			if mask>>i&1 == 1 {
				group = append(group, i)
			}
		}
		all = append(all, group)
	}
	return all
}

// meanDifference is that of the members outside a group and those inside.
func meanDifference(values []float64, group []int) float64 {
	var in, out []float64
	for i, x := range values {
		if slices.Contains(group, i) {
			in = append(in, x)
		} else {
			out = append(out, x)
		}
	}
	return stat.Mean(out, nil) - stat.Mean(in, nil)
}

// TestGroupMeans tries all relabelings of one and of three strata by brute force.
func TestGroupMeans(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 11))
		draw := func(n int) []float64 {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(random.IntN(6)) / 10 // with ties
			}
			return values
		}
		var strata []Groups
		for range 1 + seed%3 {
			strata = append(strata, Groups{draw(1 + random.IntN(4)), draw(1 + random.IntN(3))})
		}
		sums := []float64{0}
		observed := 0.
		for _, s := range strata {
			values := slices.Concat(s.A, s.B)
			observed += stat.Mean(s.B, nil) - stat.Mean(s.A, nil)
			var next []float64
			for _, sum := range sums {
				for _, group := range relabelings(len(values), len(s.A)) {
					next = append(next, sum+meanDifference(values, group))
				}
			}
			sums = next
		}
		count := 0
		for _, sum := range sums {
			if math.Abs(sum) >= math.Abs(observed)-1e-9 {
				count++
			}
		}
		got := GroupMeans(strata, 1)
		if got.P.Value == nil {
			require.Equal(t, NoVariation, got.P.Flag)
			continue
		}
		require.True(t, got.Exact)
		require.Equal(t, len(sums), got.Permutations)
		require.InDelta(t, float64(count)/float64(len(sums)), *got.P.Value, 1e-12, seed)
	}
	// Passes and failures: as Fisher's test, where a mean as far away on the other side has no larger probability.
	require.InDelta(t, *FisherExact(5, 0, 0, 5).TwoSided.Value, *GroupMeans([]Groups{{[]float64{1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0}}}, 1).P.Value, 1e-12)
	require.InDelta(t, 1./126, *GroupMeans([]Groups{{[]float64{1, 2, 3, 4, 5}, []float64{61, 62, 63, 64}}}, 1).P.Value, 1e-12)
	require.InDelta(t, 1./126, *GroupMeans([]Groups{{[]float64{1e307, 1e307, 1e307, 1e307, 1e307}, []float64{0, 0, 0, 0}}}, 1).P.Value, 1e-12)
	require.Equal(t, OutOfDomain, GroupMeans([]Groups{{[]float64{1e308, 1e308}, []float64{0}}}, 1).P.Flag, "the sum overflows")
}

// TestGroupMeansRandom compares random relabelings with all.
func TestGroupMeansRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 12))
	large := Groups{}
	for range 10 {
		large.A, large.B = append(large.A, random.NormFloat64()), append(large.B, .7+random.NormFloat64())
	}
	got := GroupMeans([]Groups{large}, 1)
	require.False(t, got.Exact)
	require.Equal(t, draws, got.Permutations)
	require.Equal(t, got, GroupMeans([]Groups{large}, 1), "the same seed")
	values := slices.Concat(large.A, large.B)
	all, count := relabelings(20, 10), 0
	observed := stat.Mean(large.B, nil) - stat.Mean(large.A, nil)
	total := stat.Mean(values, nil) * 20
	for _, group := range all {
		sum := 0.
		for _, i := range group {
			sum += values[i]
		}
		if math.Abs(total-2*sum)/10 >= math.Abs(observed)-1e-9 {
			count++
		}
	}
	require.InDelta(t, float64(count)/float64(len(all)), *got.P.Value, .01, "five standard errors at .05")
}

// distanceGroups are made of points of a plane, those of the second group moved by a distance.
func distanceGroups(random *rand.Rand, k, m int, moved float64) DistanceGroups {
	points := make([][2]float64, k+m)
	for i := range points {
		points[i] = [2]float64{random.NormFloat64(), random.NormFloat64()}
		if i >= k {
			points[i][0] += moved
		}
	}
	g := DistanceGroups{make([][]float64, k+m), k}
	for i, p := range points {
		for _, q := range points {
			g.Distances[i] = append(g.Distances[i], math.Hypot(p[0]-q[0], p[1]-q[1]))
		}
	}
	return g
}

// TestStratifiedEnergy tries all relabelings of three strata by brute force, with the statistic by its definition.
func TestStratifiedEnergy(t *testing.T) {
	t.Parallel()
	energy := func(d [][]float64, group []int) float64 {
		var sums, pairs [3]float64
		for i := range d {
			for j := range d {
				of := 0
				if slices.Contains(group, i) {
					of++
				}
				if slices.Contains(group, j) {
					of++
				}
				sums[of] += d[i][j]
				pairs[of]++
			}
		}
		return 2*sums[1]/pairs[1] - sums[0]/pairs[0] - sums[2]/pairs[2]
	}
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 13))
		strata := []DistanceGroups{distanceGroups(random, 2, 2, 1), distanceGroups(random, 3, 2, 1), distanceGroups(random, 1, 2, 1)}
		sums, observed := []float64{0}, 0.
		for _, s := range strata {
			observed += energy(s.Distances, allItems(s.First))
			var next []float64
			for _, sum := range sums {
				for _, group := range relabelings(len(s.Distances), s.First) {
					next = append(next, sum+energy(s.Distances, group))
				}
			}
			sums = next
		}
		count := 0
		for _, sum := range sums {
			if sum >= observed-1e-9 {
				count++
			}
		}
		got := StratifiedEnergy(strata, 1)
		require.InDelta(t, observed, *got.Value.Value, 1e-12)
		require.True(t, got.Exact)
		require.InDelta(t, float64(count)/float64(6*10*3), *got.P.Value, 1e-12)
		require.GreaterOrEqual(t, *got.P.Value, *StratifiedAttainableP([][2]int{{2, 2}, {3, 2}, {1, 2}}).Value-1e-12)
	}
	require.InDelta(t, 1./9, *StratifiedAttainableP([][2]int{{2, 2}, {2, 2}}).Value, 1e-12, "each of both may swap")
	require.InDelta(t, 1./10000, *StratifiedAttainableP(slices.Repeat([][2]int{{2, 2}}, 50)).Value, 1e-12)
	require.Equal(t, TooFew, StratifiedEnergy(nil, 1).P.Flag)
	require.Equal(t, TooFew, StratifiedEnergy([]DistanceGroups{{[][]float64{{0}}, 1}}, 1).P.Flag)
}

// TestStratifiedEnergyErrors: two against two of the same distribution in ten strata are different in 5% of cases.
func TestStratifiedEnergyErrors(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 14))
	const trials = 400
	found, moved := 0, 0
	for i := range uint64(trials) {
		var same, other []DistanceGroups
		for range 10 {
			same, other = append(same, distanceGroups(random, 2, 2, 0)), append(other, distanceGroups(random, 2, 2, 2))
		}
		if *StratifiedEnergy(same, i).P.Value <= .05 {
			found++
		}
		if *StratifiedEnergy(other, i).P.Value <= .05 {
			moved++
		}
	}
	require.LessOrEqual(t, float64(found)/trials, .05+2*math.Sqrt(.05*.95/trials))
	require.Greater(t, float64(moved)/trials, .9)
}

// TestMeanDistances: without the diagonal the statistic has the mean 0, and with it the definition of the tested one.
func TestMeanDistances(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 15))
	sum := 0.
	for range 2000 {
		g := distanceGroups(random, 5, 4, 0)
		means := g.Means()
		e := *means.Energy().Value
		sum += e
		diagonal := *means.First.Value/5 + *means.Second.Value/4
		require.InDelta(t, *EnergyTest(g.Distances, 5, 1).Value.Value, e+diagonal, 1e-9)
	}
	require.InDelta(t, 0, sum/2000, .02)
	require.Equal(t, TooFew, DistanceGroups{[][]float64{{0, 1}, {1, 0}}, 1}.Means().Energy().Flag)

	covered := 0
	const many = 400
	truth := *distanceGroups(random, 1000, 1000, 2).Means().Energy().Value
	for i := range uint64(many) {
		g := distanceGroups(random, 20, 20, 2)
		if EnergyInterval(g, BootstrapOptions{Resamples: 200, Seed: i}).Contains(truth) {
			covered++
		}
	}
	require.InDelta(t, .95, float64(covered)/many, .05)
	require.Nil(t, EnergyInterval(distanceGroups(random, 2, 5, 1), BootstrapOptions{}))
}

// TestFisherPower: by brute force, and that of .2 against .8 for 5, 10 and 20 a group.
func TestFisherPower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, m int
		p, q float64
	}{{5, 4, .2, .8}, {5, 5, .2, .8}, {6, 6, .9, 0}, {3, 9, .5, 1}} {
		want := 0.
		for a := range c.k + 1 {
			for b := range c.m + 1 {
				if p, ok := FisherExact(a, c.k-a, b, c.m-b).TwoSided.Get(); ok && p <= .05 {
					want += choose(c.k, a) * math.Pow(c.p, float64(a)) * math.Pow(1-c.p, float64(c.k-a)) *
						choose(c.m, b) * math.Pow(c.q, float64(b)) * math.Pow(1-c.q, float64(c.m-b))
				}
			}
		}
		require.InDelta(t, want, fisherPower(fisherRejects(c.k, c.m, .05), c.p, c.q), 1e-9)
	}
	for n, want := range map[int]float64{5: .3758, 10: .6405, 20: .9553} {
		require.InDelta(t, want, fisherPower(fisherRejects(n, n, .05), .2, .8), .01, n)
	}
	for a := range 6 {
		for b := range 5 {
			fisher := FisherExact(a, 5-a, b, 4-b)
			least := 2.
			for x := range 6 {
				if y := a + b - x; y >= 0 && y <= 4 && fisher.Least.Value != nil {
					least = min(least, *FisherExact(x, 5-x, y, 4-y).TwoSided.Value)
				}
			}
			if fisher.Least.Value != nil {
				require.InDelta(t, least, *fisher.Least.Value, 1e-12, "%d and %d", a, b)
			}
		}
	}
	delta := *MinimumDetectableFisher(.9, 20, 20, .05, .8).Value
	require.InDelta(t, .8, fisherPower(fisherRejects(20, 20, .05), .9, .9-delta), 1e-3)
	require.InDelta(t, math.Pow(.8, .25), *MinimumDetectableFisher(1, 5, 4, .01, .8).Value, 1e-4, "all four must fail")
	require.Equal(t, TooFew, MinimumDetectableFisher(.8, 5, 4, .01, .8).Flag)
}

func choose(n, k int) float64 {
	c := 1.
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}

// TestMinimumDetectableMeans: relabeling finds a difference of this size in about 80% of cases.
func TestMinimumDetectableMeans(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 17))
	for _, design := range [][2]int{{5, 4}, {6, 6}, {8, 5}} {
		delta := *MinimumDetectableMeans(1, design[0], design[1], .05, .8).Value
		found := 0
		const trials = 400
		for range trials {
			g := Groups{make([]float64, design[0]), make([]float64, design[1])}
			for i := range g.A {
				g.A[i] = random.NormFloat64()
			}
			for i := range g.B {
				g.B[i] = delta + random.NormFloat64()
			}
			if *GroupMeans([]Groups{g}, 1).P.Value <= .05 {
				found++
			}
		}
		require.InDelta(t, .8, float64(found)/trials, .07, "%v", design)
	}
	require.Equal(t, TooFew, MinimumDetectableMeans(1, 3, 3, .05, .8).Flag)
	require.Equal(t, NoVariation, MinimumDetectableMeans(0, 5, 4, .05, .8).Flag)
}

// FuzzGroups tries what compares two groups.
func FuzzGroups(f *testing.F) {
	f.Add([]byte{5, 4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 9, 9}, 5, 4, .2)
	f.Add([]byte{2, 1, 1, 255, 255, 255, 255, 255, 255, 239, 127, 1, 255, 255, 255, 255, 255, 255, 239, 255}, 0, 1, .05)
	f.Fuzz(func(t *testing.T, data []byte, k, m int, x float64) {
		in := &input{data}
		g := Groups{in.floats(in.below(6)), in.floats(in.below(6))}
		for _, p := range []Permutation{GroupMeans([]Groups{g}, 1), GroupMeans([]Groups{g, {in.floats(2), in.floats(2)}}, 1), GroupMeans(nil, 1)} {
			sound(t, "group means", p.P, 0, 1)
		}
		e := WelchDifference(g, .05)
		sound(t, "welch", e.Value, math.Inf(-1), math.Inf(1))
		soundInterval(t, "welch", e.CI)
		if logs, flag := Logarithms(g); flag == "" {
			ratio := RatioOf(WelchDifference(logs, .05))
			sound(t, "ratio", ratio.Value, 0, math.Inf(1))
			soundInterval(t, "ratio", ratio.CI)
		}
		d := DistanceGroups{[][]float64{in.floats(4), in.floats(4), in.floats(4), in.floats(4)}, in.below(5)}
		sound(t, "stratified", StratifiedEnergy([]DistanceGroups{d, d}, 1).P, 0, 1)
		sound(t, "energy", d.Means().Energy(), math.Inf(-1), math.Inf(1))
		soundInterval(t, "energy", EnergyInterval(d, BootstrapOptions{Resamples: 20}))
		k, m = k%30, m%30
		soundInterval(t, "newcombe", NewcombeDifference(k/2, k, m/3, m, x))
		for _, v := range []Value{MinimumDetectableFisher(x, k, m, .05, .8), StratifiedAttainableP([][2]int{{k, m}, {m, k}})} {
			sound(t, "share", v, 0, 1)
		}
		sound(t, "deviation", PooledDeviation(g), 0, math.Inf(1))
		sound(t, "detectable", MinimumDetectableMeans(x, k, m, .05, .8), 0, math.Inf(1))
	})
}

// TestSeparationChance: two coins are the worst case.
func TestSeparationChance(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 18))
	for k := 2; k < 6; k++ {
		for m := 2; m < 6; m++ {
			most := *SeparationChance(k, m).Value
			for range 300 {
				shares := make([]float64, 2+random.IntN(4))
				for i := range shares {
					shares[i] = random.ExpFloat64()
				}
				total, chance := floats.Sum(shares), 0.
				for i := range shares {
					for j := range shares {
						if i != j {
							chance += math.Pow(shares[i]/total, float64(k)) * math.Pow(shares[j]/total, float64(m))
						}
					}
				}
				require.LessOrEqual(t, chance, most+1e-6, "%d and %d", k, m)
			}
		}
	}
	require.InDelta(t, 1./32, *SeparationChance(3, 3).Value, 1e-12)
	require.Equal(t, OutOfDomain, SeparationChance(1, 5).Flag)
}
