package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// jointDraws is how many times the largest of several statistics is drawn.
const jointDraws = 10_000

// fewUnits is the number of items or groups below which their correlations are too uncertain for a max-T quantile.
const fewUnits = 20

// joint is the distribution of the largest of several t statistics of the same items if all true values are 0: max-T. It turns the level
// of all intervals together into that of each, and a p value into one that counts all of them. Both stay between those of one statistic
// and those of Bonferroni's correction, which holds for any dependence.
type joint struct {
	// largest has the drawn maxima in ascending order. It is nil where max-T does not hold: then it is Bonferroni's correction.
	largest    []float64
	statistics float64
	degrees    float64
}

// newJoint reads what each unit adds to each statistic, influence[statistic][unit], centered at 0. Its scale does not matter. The sum of
// influences times independent normal numbers is drawn, which is the multiplier bootstrap: it is normal with their covariance, so that it
// needs no loop over units. Dividing by one chi of the degrees of freedom makes it a multivariate t. Chernozhukov, Chetverikov and Kato
// 2013; Hothorn, Bretz and Westfall 2008.
func newJoint(influence [][]float64, degrees float64, holds bool, seed uint64) joint {
	m := len(influence)
	j := joint{statistics: float64(m), degrees: degrees}
	if !holds || m < 2 || degrees < 1 {
		return j
	}
	correlation := mat.NewSymDense(m, nil)
	deviations := make([]float64, m)
	for i, one := range influence {
		deviations[i] = floats.Norm(one, 2)
		if !(deviations[i] > 0) || !finite(deviations[i]) {
			return j
		}
	}
	for i := range influence {
		for k := range i + 1 {
			correlation.SetSym(i, k, floats.Dot(influence[i], influence[k])/deviations[i]/deviations[k])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(correlation, true) {
		return j
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	roots := make([]float64, m)
	for i, value := range eigen.Values(nil) {
		roots[i] = math.Sqrt(max(0, value))
	}
	random := rand.New(rand.NewPCG(seed, 0x3a77)) //nolint:gosec // the same seed must give the same answer
	chi := distuv.ChiSquared{K: degrees, Src: random}
	j.largest = make([]float64, jointDraws)
	normal := make([]float64, m)
	for d := range j.largest {
		for i := range normal {
			normal[i] = roots[i] * random.NormFloat64()
		}
		largest := 0.
		for i := range m {
			largest = max(largest, math.Abs(floats.Dot(vectors.RawRowView(i), normal)))
		}
		j.largest[d] = largest / math.Sqrt(chi.Rand()/degrees)
	}
	slices.Sort(j.largest)
	return j
}

// level is that of each interval, so that all of them contain their true values with the chance 1-alpha.
func (j *joint) level(alpha float64) float64 {
	each := alpha / max(1, j.statistics)
	if j.largest == nil {
		return each
	}
	quantile := j.largest[int(math.Ceil((1-alpha)*float64(len(j.largest))))-1]
	t := distuv.StudentsT{Sigma: 1, Nu: j.degrees}
	return max(each, min(alpha, 2*t.Survival(quantile)))
}

// adjust is the chance that any of the statistics is as extreme as one with the p value is, if all true values are 0.
func (j *joint) adjust(p float64) float64 {
	most := min(1, p*max(1, j.statistics))
	if j.largest == nil || !(p > 0 && p < 1) {
		return most
	}
	place, _ := slices.BinarySearch(j.largest, studentQuantile(p, j.degrees))
	return max(p, min(most, float64(1+len(j.largest)-place)/float64(1+len(j.largest))))
}
