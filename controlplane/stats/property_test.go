package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// agreement is that of counts, and gwet Gwet's AC.
func agreement(counts Counts, w Weights) Value {
	return ofMargins(counts, w, func(m margins) Value { return Some(m.agree) })
}

func gwet(counts Counts, w Weights) Value {
	return ofMargins(counts, w, func(m margins) Value { return m.gwet(w) })
}

func ofMargins(counts Counts, w Weights, figure func(margins) Value) Value {
	items, flag := counts.contributions(w)
	return resampled(items, flag, BootstrapOptions{Resamples: 1}, figure).Value
}

// alpha is Krippendorff's without an interval.
func alpha(ratings [][]float64, scale Scale) Value {
	prepared, flag := prepareAlpha(ratings, scale)
	if flag != "" {
		return None(flag)
	}
	return prepared.of(allItems(len(prepared.rows)))
}

// randomRatings are of a scale from 1 to q with some missing.
func randomRatings(random *rand.Rand, items, raters, q int, missing float64) [][]float64 {
	rows := make([][]float64, items)
	for i := range rows {
		truth := random.IntN(q)
		rows[i] = make([]float64, raters)
		for j := range rows[i] {
			switch {
			case random.Float64() < missing:
				rows[i][j] = math.NaN()
			case random.Float64() < .6:
				rows[i][j] = float64(1 + truth)
			default:
				rows[i][j] = float64(1 + random.IntN(q))
			}
		}
	}
	return rows
}

// coefficients are those that treat raters alike, with the bounds that each keeps.
func coefficients(rows [][]float64, scale []float64) map[string]Value {
	counts, _ := CountRatings(rows, scale)
	all := map[string]Value{
		"agreement": agreement(counts, Identity), "linear agreement": agreement(counts, Linear),
		"ac1": gwet(counts, Identity), "ac2": gwet(counts, Linear),
	}
	for _, s := range []Scale{NominalScale, OrdinalScale, IntervalScale} {
		all["alpha "+string(s)] = alpha(rows, s)
	}
	return all
}

func requireSame(t *testing.T, want, got map[string]Value, only ...string) {
	t.Helper()
	for name, v := range want {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		require.Equal(t, v.Flag, got[name].Flag, name)
		require.Equal(t, v.Value == nil, got[name].Value == nil, name)
		if v.Value != nil {
			require.InDelta(t, *v.Value, *got[name].Value, 1e-9, name)
		}
	}
}

// TestOrderDoesNotMatter: agreement is that of a set of raters and items.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	scale := []float64{1, 2, 3, 4}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows := randomRatings(random, 5+random.IntN(40), 2+random.IntN(5), 4, .1)
		want := coefficients(rows, scale)
		order := random.Perm(len(rows[0]))
		other := make([][]float64, len(rows))
		for i, to := range random.Perm(len(rows)) {
			other[to] = make([]float64, len(order))
			for j, from := range order {
				other[to][j] = rows[i][from]
			}
		}
		requireSame(t, want, coefficients(other, scale))
		// Turning the scale around, which keeps distances between categories.
		for _, row := range other {
			for j := range row {
				row[j] = 5 - row[j]
			}
		}
		requireSame(t, want, coefficients(other, scale))
		// New names: nominal coefficients do not change.
		names := random.Perm(4)
		for _, row := range other {
			for j := range row {
				if !math.IsNaN(row[j]) {
					row[j] = float64(1 + names[int(row[j])-1])
				}
			}
		}
		requireSame(t, want, coefficients(other, scale), "agreement", "ac1", "alpha nominal")
	}
}

// TestLimits: complete agreement with variation is 1 for every coefficient, and none is above it.
func TestLimits(t *testing.T) {
	t.Parallel()
	scale := []float64{1, 2, 3}
	for name, v := range coefficients([][]float64{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {1, 1, 1}}, scale) {
		require.NotNil(t, v.Value, name)
		require.InDelta(t, 1, *v.Value, 1e-12, name)
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		for name, v := range coefficients(randomRatings(random, 2+random.IntN(8), 2+random.IntN(3), 3, .2), scale) {
			if v.Value != nil {
				require.LessOrEqual(t, *v.Value, 1+1e-12, name)
				require.GreaterOrEqual(t, *v.Value, -10., name)
			}
		}
	}
	// Raters without anything in common agree as by chance.
	random := rand.New(rand.NewPCG(1, 3))
	rows := make([][]float64, 20_000)
	for i := range rows {
		rows[i] = []float64{float64(1 + random.IntN(3)), float64(1 + random.IntN(3))}
	}
	for name, v := range coefficients(rows, scale) {
		if name != "agreement" && name != "linear agreement" {
			require.InDelta(t, 0, *v.Value, .03, name)
		}
	}
}

// TestScaling: what is measured in other units gives the same answers.
func TestScaling(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 5))
	for range 20 {
		rows := make([][]float64, 8)
		var scaled, transposed [][]float64
		for i := range rows {
			item := random.NormFloat64()
			rows[i] = []float64{item + random.NormFloat64(), item + random.NormFloat64(), item + random.NormFloat64()}
			scaled = append(scaled, []float64{1000*rows[i][0] + 7, 1000*rows[i][1] + 7, 1000*rows[i][2] + 7})
			transposed = append(transposed, []float64{math.Exp(rows[i][0]), math.Exp(rows[i][1]), math.Exp(rows[i][2])})
		}
		require.InDelta(t, *alpha(rows, IntervalScale).Value, *alpha(scaled, IntervalScale).Value, 1e-9)
		// Ranks do not change by what keeps the order.
		require.InDelta(t, *alpha(rows, OrdinalScale).Value, *alpha(transposed, OrdinalScale).Value, 1e-9)
		x, y := make([]float64, 8), make([]float64, 8)
		up := make([]float64, 8)
		for i := range rows {
			x[i], y[i], up[i] = rows[i][0], rows[i][1], transposed[i][0]
		}
		require.InDelta(t, *Spearman(x, y).Value.Value, *Spearman(up, y).Value.Value, 1e-12)
	}
}

// TestSignFlip compares the random test with the exact one, and both with McNemar's.
func TestSignFlip(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 6))
		differences := make([]float64, maxEnumerated)
		for i := range differences {
			differences[i] = .4 + random.NormFloat64()
		}
		exact := SignFlip(differences, 1)
		require.True(t, exact.Exact)
		sizes := make([]float64, len(differences))
		sum, all := 0., 0.
		for i, d := range differences {
			sizes[i] = math.Abs(d)
			sum, all = sum+d, all+math.Abs(d)
		}
		p := float64(1+randomFlips(sizes, math.Abs(sum)-1e-10*all, seed)) / (draws + 1)
		require.InDelta(t, *exact.P.Value, p, .025, "five standard errors")

		b, c := 10+random.IntN(10), 10+random.IntN(20)
		var binary []float64
		for range b {
			binary = append(binary, 1)
		}
		for range c {
			binary = append(binary, -1, 0)
		}
		require.InDelta(t, *McNemarTest(b, c).Value, *SignFlip(binary, seed).P.Value, .025)
		first, again := SignFlip(binary, seed), SignFlip(binary, seed)
		require.Equal(t, first, again, "the same seed")
	}
	few := SignFlip([]float64{1, -1, 2, 3, 0}, 1)
	require.InDelta(t, 6./16, *few.P.Value, 1e-12, "|sum| >= 5: ±7 ±5 ±5")
	large := SignFlip([]float64{1e308, 1e308, -1e308, 1e308}, 1)
	require.InDelta(t, 10./16, *large.P.Value, 1e-12)
}

// TestIntervalsNest: more confidence is wider, and more data narrower.
func TestIntervalsNest(t *testing.T) {
	t.Parallel()
	inside := func(in, out *Interval) {
		t.Helper()
		require.LessOrEqual(t, out[0], in[0]+1e-9)
		require.GreaterOrEqual(t, out[1], in[1]-1e-9)
	}
	for n := 1; n < 40; n++ {
		for x := range n + 1 {
			inside(Wilson(float64(x), float64(n), .1), Wilson(float64(x), float64(n), .05))
			inside(ClopperPearson(x, n, .1), ClopperPearson(x, n, .05))
			exact := ClopperPearson(x, n, .05)
			require.True(t, exact.Contains(float64(x)/float64(n)))
			require.GreaterOrEqual(t, exact[0], 0.)
			require.LessOrEqual(t, exact[1], 1.)
			for c := range n - x + 1 {
				d := float64(x-c) / float64(n)
				tango, mirrored := PairedProportions(x, c, n, .05), PairedProportions(c, x, n, .05)
				require.True(t, tango[0] <= d+1e-12 && d <= tango[1]+1e-12)
				require.InDelta(t, tango[0], -mirrored[1], 1e-9)
				require.GreaterOrEqual(t, tango[0], -1.)
				inside(PairedProportions(x, c, n, .1), tango)
				inside(PairedProportions(4*x, 4*c, 4*n, .05), &Interval{tango[0] - .02, tango[1] + .02})
			}
		}
	}
	// Fagerland, Lydersen and Laake 2014: 1 and 7 discordant of 21.
	require.InDeltaSlice(t, []float64{-.517, -.026}, PairedProportions(1, 7, 21, .05)[:], 5e-4)
}

// TestAdjusted: p values keep their order, and grow from BH by Holm to Bonferroni.
func TestAdjusted(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 7))
	for range 100 {
		p := make([]float64, 1+random.IntN(20))
		for i := range p {
			p[i] = random.Float64() * random.Float64()
		}
		holm, bh := Holm(p), BenjaminiHochberg(p)
		for i := range p {
			require.GreaterOrEqual(t, holm[i], bh[i]-1e-12)
			require.GreaterOrEqual(t, bh[i], p[i]-1e-12)
			require.LessOrEqual(t, holm[i], min(1, p[i]*float64(len(p)))+1e-12)
			for j := range p {
				if p[i] < p[j] {
					require.LessOrEqual(t, holm[i], holm[j])
					require.LessOrEqual(t, bh[i], bh[j])
				}
			}
		}
	}
	require.Equal(t, []float64{.02, .03}, Holm([]float64{.01, .03}))
	missing := Holm([]float64{.01, math.NaN(), .03})
	require.InDelta(t, .02, missing[0], 1e-12, "a missing p value does not count")
	require.True(t, math.IsNaN(missing[1]))
}

// TestMeanDifference: the interval leaves out 0 if and only if that of Student's t does, turns with the sign, and is not narrower than that
// of Student's t on the side of 0.
func TestMeanDifference(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	apart := 0
	for range 2000 {
		differences := make([]float64, 2+random.IntN(60))
		full := random.Float64()
		for i := range differences {
			if differences[i] = 1; random.Float64() >= full {
				differences[i] = float64(random.IntN(5)-2) / 2
			}
		}
		ci, plain := MeanDifference(differences, .05).CI, MeanInterval(differences, .05).CI
		if plain == nil {
			continue
		}
		require.Equal(t, plain.Contains(0), ci.Contains(0))
		if !plain.Contains(0) {
			require.True(t, plain[0] < 0 || ci[0] <= plain[0], "%v %v", plain, ci)
			require.True(t, plain[1] > 0 || ci[1] >= plain[1], "%v %v", plain, ci)
			apart++
		}
		for i := range differences {
			differences[i] *= -1
		}
		turned := MeanDifference(differences, .05).CI
		require.InDelta(t, -ci[1], turned[0], 1e-9)
		require.InDelta(t, -ci[0], turned[1], 1e-9)
	}
	require.Greater(t, apart, 500)

	// 45 of 50 runs are repaired.
	differences := slices.Concat(slices.Repeat([]float64{1}, 45), slices.Repeat([]float64{0}, 5))
	require.InDelta(t, .81, MeanInterval(differences, .04).CI[0], .005)
	require.InDelta(t, .752, MeanDifference(differences, .04).CI[0], .001)
}
