package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Labels counts what a judge said of items that people labelled.
type Labels struct {
	// Positives are items that people passed, of which the judge passed TruePositives; Negatives those that they failed, of which the
	// judge failed TrueNegatives.
	Positives, TruePositives, Negatives, TrueNegatives int
}

// RoganGladen corrects the share p of n items that a judge passed, by its sensitivity q1 and specificity q0 on labelled items:
// (p+q0-1)/(q0+q1-1), held in [0, 1], with the variance [p(1-p)/n + (1-θ)² q0(1-q0)/m0 + θ² q1(1-q1)/m1]/(q0+q1-1)² for the
// interval. Uninformative if q0+q1 <= 1, TooFew without an item or a label of either kind. Rogan and Gladen 1978; Lee et al. 2025.
func RoganGladen(passed, n int, labels Labels, alpha float64) Estimate {
	switch {
	case passed < 0 || passed > n || labels.TruePositives < 0 || labels.TruePositives > labels.Positives ||
		labels.TrueNegatives < 0 || labels.TrueNegatives > labels.Negatives || !level(alpha):
		return Estimate{Value: none(OutOfDomain)}
	case n == 0 || labels.Positives == 0 || labels.Negatives == 0:
		return Estimate{Value: none(TooFew)}
	}
	p, m1, m0 := float64(passed)/float64(n), float64(labels.Positives), float64(labels.Negatives)
	q1, q0 := float64(labels.TruePositives)/m1, float64(labels.TrueNegatives)/m0
	informed := q0 + q1 - 1
	if informed <= 1e-12 {
		return Estimate{Value: none(Uninformative)}
	}
	theta := max(0, min(1, (p+q0-1)/informed))
	variance := (p*(1-p)/float64(n) + (1-theta)*(1-theta)*q0*(1-q0)/m0 + theta*theta*q1*(1-q1)/m1) / (informed * informed)
	e := Estimate{Value: some(theta)}
	if variance > 0 {
		half := normalQuantile(alpha) * math.Sqrt(variance)
		e.CI = interval(max(0, theta-half), min(1, theta+half))
	}
	if min(labels.Positives, labels.Negatives) < 30 {
		e.Flag = FewItems
	}
	return e
}

// PPI is the mean of people's labels, made more precise by a judge: mean(Y) + λ (mean(F unlabelled) - mean(F labelled)), with
// λ = cov(Y,F)/((1+n/N) var F) held in [0, 1]. labels and judged are of the same n items, unlabelled are the judge's scores of N others.
// Lambda is how much the judge counts. TooFew with less than 2 of either, and the flag FewItems below 30 labels, where the plain mean of
// labels is as good. Angelopoulos, Duchi and Zrnic 2023, PPI++.
func PPI(labels, judged, unlabelled []float64, alpha float64) (e Estimate, lambda float64) {
	n, others := float64(len(labels)), float64(len(unlabelled))
	switch {
	case len(labels) != len(judged) || !finite(labels...) || !finite(judged...) || !finite(unlabelled...) || !level(alpha):
		return Estimate{Value: none(OutOfDomain)}, 0
	case n < 2 || others < 2:
		return Estimate{Value: none(TooFew)}, 0
	}
	if spread := stat.Variance(append(append([]float64{}, judged...), unlabelled...), nil); spread > 0 {
		lambda = max(0, min(1, stat.Covariance(labels, judged, nil)/((1+n/others)*spread)))
	}
	if !finite(lambda) {
		return Estimate{Value: none(OutOfDomain)}, 0
	}
	rest := make([]float64, len(labels))
	for i := range labels {
		rest[i] = labels[i] - lambda*judged[i]
	}
	theta := stat.Mean(rest, nil) + lambda*stat.Mean(unlabelled, nil)
	e.Value = some(theta)
	variance := stat.Variance(rest, nil)/n + lambda*lambda*stat.Variance(unlabelled, nil)/others
	if variance > 0 {
		half := normalQuantile(alpha) * math.Sqrt(variance)
		e.CI = interval(theta-half, theta+half)
	}
	if n < 30 && e.Value.Value != nil {
		e.Flag = FewItems
	}
	return e, lambda
}

// SpearmanBrown is the reliability of the mean of k raters of which one has the reliability r: k r / (1+(k-1) r). OutOfDomain unless
// k >= 1, r <= 1 and the divisor is above 0. Spearman 1910, Brown 1910.
func SpearmanBrown(r, k float64) Value {
	divisor := 1 + (k-1)*r
	if !(k >= 1) || !(r <= 1) || !(divisor > 0) {
		return none(OutOfDomain)
	}
	return some(k * r / divisor)
}

// MajorityAccuracy is the chance that the majority of k independent judges is right, each with probability p; a tie counts as half.
// It is an upper bound, since the errors of judges are correlated: see [EffectiveJudges]. OutOfDomain unless k >= 1 and p is in [0, 1].
// Condorcet 1785.
func MajorityAccuracy(p float64, k int) Value {
	switch {
	case k < 1 || !probability(p):
		return none(OutOfDomain)
	case p == 0 || p == 1:
		return some(p)
	}
	votes := distuv.Binomial{N: float64(k), P: p}
	right := votes.Survival(float64(k / 2))
	if k%2 == 0 {
		right += votes.Prob(float64(k/2)) / 2
	}
	return some(right)
}

// EffectiveJudges is the number of independent judges that k judges are worth: k/(1+(k-1)ρ), ρ the mean correlation of errors over
// pairs of judges. errors[item][judge] is the judge's score less the right one, NaN if missing. A pair of which one makes no errors is
// left out; NoVariation if all are. At most k: less agreement than by chance is no gain. Kish 1965 for clusters.
func EffectiveJudges(errors [][]float64) Value {
	columns, flag := byRater(errors)
	if flag != "" {
		return none(flag)
	}
	sum, pairs := 0., 0
	for i := range columns {
		for j := range i {
			var x, y []float64
			for item := range errors {
				if a, b := columns[i][item], columns[j][item]; !math.IsNaN(a) && !math.IsNaN(b) {
					x, y = append(x, a), append(y, b)
				}
			}
			if r, ok := Pearson(x, y).Get(); ok {
				sum += r
				pairs++
			}
		}
	}
	if pairs == 0 {
		return none(NoVariation)
	}
	k := float64(len(columns))
	return some(k / (1 + (k-1)*max(0, sum/float64(pairs))))
}

// Preference is the verdict of a judge on two answers, by their places in the prompt.
type Preference int

// Preferences.
const (
	Tie Preference = iota
	First
	Second
)

// OrderBias is what a judge that saw each pair in both orders does with the order.
type OrderBias struct {
	// Consistency is the share of pairs with the same winner, or a tie, in both orders.
	Consistency Value
	// Fairness is 0 for no preference of a place: the share of pairs where the first place won more, less that where the second did; in
	// [-1, 1].
	Fairness Value
}

// PositionConsistency compares the verdicts of both orders of the same pairs: in ab the answer of A is First, in ba that of B.
// TooFew without a pair, OutOfDomain for different lengths. Zheng et al. 2023, Shi et al. 2024.
func PositionConsistency(ab, ba []Preference) OrderBias {
	if len(ab) != len(ba) {
		return OrderBias{none(OutOfDomain), none(OutOfDomain)}
	}
	consistent, toFirst, toSecond := 0, 0, 0
	for i := range ab {
		switch {
		case ab[i] == Tie && ba[i] == Tie, ab[i] == First && ba[i] == Second, ab[i] == Second && ba[i] == First:
			consistent++
		case ab[i] == First || ba[i] == First:
			toFirst++
		default:
			toSecond++
		}
	}
	n := len(ab)
	if n == 0 {
		return OrderBias{none(TooFew), none(TooFew)}
	}
	return OrderBias{some(float64(consistent) / float64(n)), some(float64(toFirst-toSecond) / float64(n))}
}
