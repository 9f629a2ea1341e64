package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// golden is a case of testdata/golden-metrics.json. Expected figures are checked by name: none may be left.
type golden struct {
	ID        string          `json:"id"`
	Metric    string          `json:"metric"`
	Input     json.RawMessage `json:"input"`
	Params    json.RawMessage `json:"params"`
	Expected  map[string]any  `json:"expected"`
	Tolerance float64         `json:"tolerance"`
	t         *testing.T
}

// TestGolden checks every case.
func TestGolden(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/golden-metrics.json")
	require.NoError(t, err)
	var file struct {
		Cases []golden `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			compute, ok := goldenMetrics[c.Metric]
			require.True(t, ok, "no test computes the metric %s", c.Metric)
			c.t = t
			got := compute(c)
			require.NotEmpty(t, c.Expected)
			for name, want := range c.Expected {
				require.Contains(t, got, name)
				same(t, name, want, got[name], c.Tolerance)
			}
		})
	}
}

// same compares numbers, lists of them, nil and texts. What was computed goes through JSON, as it does in the product.
func same(t *testing.T, name string, want, got any, tolerance float64) {
	t.Helper()
	data, err := json.Marshal(got)
	require.NoError(t, err, name)
	var plain any
	require.NoError(t, json.Unmarshal(data, &plain))
	samePlain(t, name, want, plain, tolerance)
}

func samePlain(t *testing.T, name string, want, got any, tolerance float64) {
	t.Helper()
	switch want := want.(type) {
	case float64:
		number, ok := got.(float64)
		require.True(t, ok, "%s: %v is no number", name, got)
		require.LessOrEqual(t, math.Abs(number-want), tolerance*max(1, math.Abs(want)), "%s: want %v, got %v", name, want, number)
	case []any:
		list, ok := got.([]any)
		require.True(t, ok, "%s: %v is no list", name, got)
		require.Len(t, list, len(want), name)
		for i := range want {
			samePlain(t, fmt.Sprintf("%s[%d]", name, i), want[i], list[i], tolerance)
		}
	default:
		require.Equal(t, want, got, name)
	}
}

// read decodes a part of a case.
func read[T any](t *testing.T, data json.RawMessage) T {
	t.Helper()
	var into T
	require.NoError(t, json.Unmarshal(data, &into))
	return into
}

type figures map[string]any

// ratingsInput has ratings in one of their shapes.
type ratingsInput struct {
	Table      [][]int     `json:"table"`
	Ratings    [][]float64 `json:"ratings"`
	Units      [][]any     `json:"units"`
	Counts     Counts      `json:"counts"`
	Categories []any       `json:"categories"`
}

// rows are ratings with NaN for null, and letters by their place in the alphabet.
func (in ratingsInput) rows() [][]float64 {
	rows := in.Ratings
	for _, unit := range in.Units {
		row := make([]float64, len(unit))
		for i, x := range unit {
			switch x := x.(type) {
			case float64:
				row[i] = x
			case string:
				row[i] = float64(x[0])
			default:
				row[i] = math.NaN()
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (in ratingsInput) scale() []float64 {
	var scale []float64
	for _, c := range in.Categories {
		scale = append(scale, c.(float64))
	}
	return scale
}

func (in ratingsInput) counts(t *testing.T) Counts {
	t.Helper()
	if in.Counts != nil {
		return in.Counts
	}
	counts, flag := CountRatings(in.rows(), in.scale())
	require.Empty(t, flag)
	return counts
}

func weightsOf(c golden) Weights {
	return read[struct {
		Weights Weights `json:"weights"`
	}](c.t, c.Params).Weights
}

func agreementFigures(c golden) figures {
	in := read[ratingsInput](c.t, c.Input)
	counts := in.counts(c.t)
	w := weightsOf(c)
	if w == "" {
		w = Identity
	}
	pa, ac := agreement(counts, w), gwet(counts, w)
	f := figures{"percent_agreement": pa.Value, "gwet_ac1": ac.Value, "gwet_ac2": ac.Value, "pe": (*pa.Value - *ac.Value) / (1 - *ac.Value)}
	rows := in.rows()
	if rows == nil {
		for _, row := range counts { // raters do not matter
			var ratings []float64
			for k, n := range row {
				for range n {
					ratings = append(ratings, float64(k))
				}
			}
			rows = append(rows, ratings)
		}
	}
	f["krippendorff_alpha_nominal"] = alpha(rows, NominalScale).Value
	return f
}

func tableFigures(c golden) figures {
	table := read[ratingsInput](c.t, c.Input).Table
	var rows [][]float64
	var a, b []float64
	for k, row := range table {
		for l, n := range row {
			for range n {
				rows, a, b = append(rows, []float64{float64(k), float64(l)}), append(a, float64(k)), append(b, float64(l))
			}
		}
	}
	counts, flag := CountRatings(rows, nil)
	require.Empty(c.t, flag)
	kappa := PairKappa(a, b, NominalScale, BootstrapOptions{}).Value.Value
	return figures{
		"percent_agreement": agreement(counts, Identity).Value, "cohen_kappa": kappa, "kappa": kappa, "gwet_ac1": gwet(counts, Identity).Value,
		"krippendorff_alpha_nominal": alpha(rows, NominalScale).Value, "quadratic": PairKappa(a, b, IntervalScale, BootstrapOptions{}).Value.Value,
	}
}

func proportionInput(c golden) (x, n int) {
	in := read[struct{ X, N int }](c.t, c.Input)
	return in.X, in.N
}

// each computes a list of figures, one for each input.
func each[In any, Out any](in []In, of func(In) Out) []Out {
	var out []Out
	for _, x := range in {
		out = append(out, of(x))
	}
	return out
}

var goldenMetrics = map[string]func(c golden) figures{
	"two_rater_table":     tableFigures,
	"cohen_kappa":         tableFigures,
	"multi_rater_counts":  agreementFigures,
	"multi_rater_missing": agreementFigures,
	"gwet_ac2":            agreementFigures,
	"cohen_kappa_weighted": func(c golden) figures {
		in := read[struct {
			A []float64 `json:"rater_a"`
			B []float64 `json:"rater_b"`
		}](c.t, c.Input)
		f := figures{}
		seen := distinct([][]float64{in.A, in.B})
		place := func(x float64) float64 { return float64(slices.Index(seen, x)) }
		for name, scale := range map[string]Scale{"unweighted": NominalScale, "linear": OrdinalScale, "quadratic": IntervalScale} {
			f[name] = PairKappa(each(in.A, place), each(in.B, place), scale, BootstrapOptions{}).Value.Value
		}
		return f
	},
	"krippendorff_alpha": func(c golden) figures {
		rows := read[ratingsInput](c.t, c.Input).rows()
		f := figures{}
		for _, scale := range []Scale{NominalScale, OrdinalScale, IntervalScale} {
			value := alpha(rows, scale)
			f[string(scale)], f["flag"] = value.Value, value.Flag
		}
		return f
	},
	"wilson_interval": func(c golden) figures {
		x, n := proportionInput(c)
		return figures{"ci": Wilson(float64(x), float64(n), .05)}
	},
	"clopper_pearson": func(c golden) figures {
		x, n := proportionInput(c)
		return figures{"ci": ClopperPearson(x, n, .05)}
	},
	"mcnemar": func(c golden) figures {
		in := read[struct{ B, C int }](c.t, c.Input)
		return figures{"exact_p": McNemarTest(in.B, in.C).Value}
	},
	"fisher_exact": func(c golden) figures {
		in := read[ratingsInput](c.t, c.Input).Table
		f := FisherExact(in[0][0], in[0][1], in[1][0], in[1][1])
		return figures{"two": f.TwoSided.Value, "greater": f.Greater.Value, "less": f.Less.Value}
	},
	"fisher_exact_two_sided_full_flip": func(c golden) figures {
		in := read[struct {
			K []int `json:"k_controls_all_fail_vs_k_treatments_all_pass"`
		}](c.t, c.Input)
		return figures{"p": each(in.K, func(k int) *float64 { return FisherExact(0, k, k, 0).TwoSided.Value })}
	},
	"energy_distance_permutation": func(c golden) figures {
		in := read[struct{ X, Y []float64 }](c.t, c.Input)
		all := append(append([]float64{}, in.X...), in.Y...)
		e := EnergyTest(each(all, func(x float64) []float64 {
			return each(all, func(y float64) float64 { return math.Abs(x - y) })
		}), len(in.X), 1)
		require.True(c.t, e.Exact)
		return figures{"energy": e.Value.Value, "permutations": e.Permutations, "p": e.P.Value, "extreme": *e.P.Value * float64(e.Permutations)}
	},
	"permutation_min_p": func(c golden) figures {
		in := read[struct {
			Designs [][2]int `json:"designs_k_m"`
		}](c.t, c.Input)
		return figures{"min_p": each(in.Designs, func(d [2]int) *float64 { return AttainableP(d[0], d[1]).Value })}
	},
	"multiple_testing": func(c golden) figures {
		in := read[struct {
			P     []float64
			Alpha float64
		}](c.t, c.Input)
		bh, rejected, bonferroni := BenjaminiHochberg(in.P), 0, 0
		for i, p := range bh {
			if p <= in.Alpha {
				rejected++
			}
			if in.P[i]*float64(len(in.P)) <= in.Alpha {
				bonferroni++
			}
		}
		return figures{"bh_adjusted": bh, "holm_adjusted": Holm(in.P), "bh_rejections": rejected, "bonferroni_rejections": bonferroni}
	},
	"clustered_se": func(c golden) figures {
		in := read[tasks](c.t, c.Input)
		m := ClusteredMean(each(in.Successes, func(c int) []float64 {
			row := make([]float64, in.Trials)
			for i := range c {
				row[i] = 1
			}
			return row
		}))
		return figures{"mean": m.Value.Value, "clustered_se": m.SE}
	},
	"n_pairs_mcnemar": func(c golden) figures {
		in := read[struct {
			Psi                 float64 `json:"discordant_rate"`
			Delta, Alpha, Power float64
		}](c.t, c.Input)
		return figures{"n": McNemarSampleSize(in.Psi, in.Delta, in.Alpha, in.Power).Value}
	},
	"bootstrap_and_jackknife_se": func(c golden) figures {
		in := read[struct{ LSAT, GPA []float64 }](c.t, c.Input)
		r := func(items []int) Value {
			return Some(stat.Correlation(each(items, func(i int) float64 { return in.LSAT[i] }), each(items, func(i int) float64 { return in.GPA[i] }), nil))
		}
		acceleration, se := jackknife(len(in.GPA), nil, r)
		boot := Bootstrap(len(in.GPA), r, BootstrapOptions{Seed: 1})
		require.InDelta(c.t, .135, *boot.SE, .01, "the note of the case")
		require.True(c.t, boot.BCa.Contains(.776) && boot.Percentile.Contains(.776))
		return figures{"r": r(allItems(len(in.GPA))).Value, "jackknife_se": se, "jackknife_acceleration": acceleration}
	},
	"bootstrap_exact": func(c golden) figures {
		in := read[struct{ X []float64 }](c.t, c.Input)
		n, drawn, count := len(in.X), 0, map[float64]float64{}
		total := int(math.Pow(float64(n), float64(n)))
		// Draws all n^n resamples, one after the other.
		draw := func(int) int {
			i := drawn / n / int(math.Pow(float64(n), float64(drawn%n))) % n
			drawn++
			return i
		}
		for _, mean := range resample(n, nil, total, draw, func(items []int) Value {
			return Some(stat.Mean(each(items, func(i int) float64 { return in.X[i] }), nil))
		}) {
			count[math.Round(mean*1e9)/1e9] += 1 / float64(total)
		}
		var distribution [][2]float64
		for k := range n + 1 {
			mean := math.Round(float64(k)/float64(n)*1e9) / 1e9
			distribution = append(distribution, [2]float64{mean, count[mean]})
		}
		return figures{"distribution": distribution}
	},
	"alpha_spending": func(c golden) figures {
		in := read[struct{ Fractions [][]float64 }](c.t, c.Input)
		return figures{"z": each(in.Fractions, func(fractions []float64) []float64 {
			boundaries, flag := AlphaSpending(fractions, .05)
			require.Empty(c.t, flag)
			require.InDelta(c.t, .05, boundaries[len(boundaries)-1].Spent, 1e-9)
			return each(boundaries, func(b Boundary) float64 { return b.Z })
		})}
	},
}

// tasks are the successes of repeated tasks.
type tasks struct {
	Trials    int   `json:"trials_per_task"`
	Successes []int `json:"successes_per_task"`
}
