package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Alignment is how well a rating fits those of others: for categories the share of equal ones, for numbers less the root mean square
// distance.
type Alignment string

// Alignments.
const (
	AlignCategories Alignment = "categories"
	AlignNumbers    Alignment = "numbers"
)

// AltTest is the answer to whether a judge may replace people.
type AltTest struct {
	// WinningRate is the share of people whom the judge can replace; from .5 on it passes.
	WinningRate Value
	// Advantage is the mean over people of the share of items on which the judge fits the others at least as well as they do.
	Advantage Value
	Passes    bool
	// P has the adjusted p value of each person, nil without one.
	P []*float64
}

// AlternativeTest leaves out one person at a time and compares that person and the judge by how well they fit the other people:
// per item 1 for who fits at least as well, and a one-sided paired t test of (person - judge) < epsilon, adjusted by Benjamini-Yekutieli
// at alpha. judge[item], people[item][person], NaN where missing. epsilon is what replacing a person saves: .2 for experts, .1 for
// crowds. FewItems below 30 items; TooFew with less than 2 people, or if nobody has 2 items; NoVariation if all p values are missing
// because each item gave the same result. Calderon et al. 2025, arXiv 2501.10970.
func AlternativeTest(judge []float64, people [][]float64, alignment Alignment, epsilon, alpha float64) AltTest {
	without := func(flag Flag) AltTest { return AltTest{WinningRate: none(flag), Advantage: none(flag)} }
	columns, flag := byRater(people)
	switch {
	case flag != "":
		return without(flag)
	case len(judge) != len(people) || !finite(epsilon) || !level(alpha):
		return without(OutOfDomain)
	}
	raw := make([]float64, len(columns))
	advantage, counted, most, tested := 0., 0, 0, 0
	for j := range columns {
		raw[j] = math.NaN()
		var behind []float64
		wins := 0
		for i, row := range people {
			own, theirs := alignment.of(row[j], row, j), alignment.of(judge[i], row, j)
			if math.IsNaN(own) || math.IsNaN(theirs) {
				continue
			}
			switch {
			case own == theirs:
				behind = append(behind, 0)
				wins++
			case theirs > own:
				behind = append(behind, -1)
				wins++
			default:
				behind = append(behind, 1)
			}
		}
		n := len(behind)
		most = max(most, n)
		if n < 2 {
			continue
		}
		counted++
		advantage += float64(wins) / float64(n)
		if constant(behind) {
			continue
		}
		mean, deviation := stat.MeanStdDev(behind, nil)
		t := (mean - epsilon) / stat.StdErr(deviation, float64(n))
		raw[j] = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.CDF(t)
		tested++
	}
	switch {
	case counted == 0:
		return without(TooFew)
	case tested == 0:
		result := without(NoVariation)
		result.Advantage = some(advantage / float64(counted))
		return result
	}
	result := AltTest{Advantage: some(advantage / float64(counted)), P: make([]*float64, len(columns))}
	won := 0
	for j, p := range BenjaminiYekutieli(raw) {
		result.P[j] = number(p)
		if p <= alpha { // not for NaN
			won++
		}
	}
	result.WinningRate = some(float64(won) / float64(tested))
	result.Passes = 2*won >= tested
	if most < 30 {
		result.WinningRate.Flag, result.Advantage.Flag = FewItems, FewItems
	}
	return result
}

// of is how well x fits the row without the rating of one rater; NaN if something is missing.
func (a Alignment) of(x float64, row []float64, without int) float64 {
	sum, n := 0., 0.
	for k, other := range row {
		if k == without || math.IsNaN(other) {
			continue
		}
		n++
		switch {
		case a == AlignNumbers:
			sum += (x - other) * (x - other)
		case x == other:
			sum++
		}
	}
	switch {
	case n == 0 || math.IsNaN(x):
		return math.NaN()
	case a == AlignNumbers:
		return -math.Sqrt(sum / n)
	}
	return sum / n
}
