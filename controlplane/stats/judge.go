package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Correction is a mean of what a judge says of all items, corrected by labels of people on some.
type Correction struct {
	Value
	// Labels counts the items with a label that count, Items all of them: the chance of each to be among the labelled ones is Labels/Items.
	Labels, Items int
	// Lambda is how much the judge counts: 0 for not at all.
	Lambda float64
	// OfJudge and OfLabels are the parts of the variance of Value: that falls with the number of items, and with that of labels.
	OfJudge, OfLabels float64

	center, StandardError, skew, low, high float64
}

// PPI is the mean of people's labels, made more precise by a judge: mean(Y) + λ (mean(F unlabelled) - mean(F labelled)), with
// λ = cov(Y,F)/((1+n/N) var F) held in [0, 1]. judged has what the judge says of each item, labels what people say, NaN for none; both
// are in an order that was drawn at random. Labels count up to the first item without one: nobody knows why later ones were chosen.
// Labels and judgements are from low to high; half a label at each end is beside them, as in [Moments.BoundedInterval]. TooFew with less
// than 2 labels. Angelopoulos, Duchi and Zrnic 2023, PPI++.
func PPI(labels, judged []float64, low, high float64) Correction {
	if len(labels) != len(judged) || !Finite(judged...) {
		return Correction{Value: None(OutOfDomain)}
	}
	n := 0
	for n < len(labels) && !math.IsNaN(labels[n]) {
		n++
	}
	c := Correction{Labels: n, Items: len(labels), low: low, high: high}
	for i, label := range labels[:n] {
		if !(label >= low && label <= high && judged[i] >= low && judged[i] <= high) {
			return Correction{Value: None(OutOfDomain)}
		}
	}
	if n < 2 {
		c.Value = None(TooFew)
		return c
	}
	people, rest, others := labels[:n], judged[n:], float64(len(labels)-n)
	spread := stat.Variance(judged, nil)
	if others > 1 && spread > 0 {
		c.Lambda = max(0, min(1, stat.Covariance(people, judged[:n], nil)/((1+float64(n)/others)*spread)))
	}
	// What is left of labels is from low - λ high to high - λ low.
	var m Moments
	sum := 0.
	for i, label := range people {
		off := label - c.Lambda*judged[i]
		m.add(off, 1)
		sum += off
	}
	m.add(low-c.Lambda*high, EndWeight)
	m.add(high-c.Lambda*low, EndWeight)
	var cubes float64
	c.center, c.StandardError, cubes = m.central()
	c.OfLabels = c.StandardError * c.StandardError
	ofRest := 0.
	if c.Lambda > 0 {
		mean, variance := stat.MeanVariance(rest, nil)
		ofRest, c.OfJudge = c.Lambda*mean, c.Lambda*c.Lambda*variance/others
	}
	c.Value = Some(max(low, min(high, sum/float64(n)+ofRest)))
	c.center += ofRest
	c.StandardError = math.Sqrt(c.OfLabels + c.OfJudge)
	c.skew = cubes / (c.StandardError * c.StandardError * c.StandardError)
	return c
}

// Interval is that of the value: [SkewedInterval] with one degree of freedom less than there are labels. Nil without a value.
func (c *Correction) Interval(alpha float64) *Interval {
	value, ok := c.Get()
	if !ok || !Level(alpha) {
		return nil
	}
	ci := SkewedInterval(c.center, c.StandardError, c.skew, float64(c.Labels-1), alpha)
	if ci == nil {
		return nil
	}
	return NewInterval(max(c.low, min(value, ci[0])), min(c.high, max(value, ci[1])))
}

// P is the two-sided p value of a value of 0, by Student's t. Nil without a value.
func (c *Correction) P() *float64 {
	value, ok := c.Get()
	if !ok {
		return nil
	}
	return NewNumber(2 * distuv.StudentsT{Sigma: 1, Nu: float64(c.Labels - 1)}.Survival(math.Abs(value)/c.StandardError))
}

// Preference is the verdict of a judge on two answers, by their places in the prompt.
type Preference int

// Preferences.
const (
	Tie Preference = iota
	First
	Second
)

// PositionConsistency is the share of pairs that a judge saw in both orders with the same winner, or a tie, in both: in ab the answer of A is
// First, in ba that of B. TooFew without a pair, OutOfDomain for different lengths. Zheng et al. 2023, Shi et al. 2024.
func PositionConsistency(ab, ba []Preference) Value {
	if len(ab) != len(ba) {
		return None(OutOfDomain)
	}
	consistent := 0
	for i := range ab {
		switch {
		case ab[i] == Tie && ba[i] == Tie, ab[i] == First && ba[i] == Second, ab[i] == Second && ba[i] == First:
			consistent++
		}
	}
	if len(ab) == 0 {
		return None(TooFew)
	}
	return Some(float64(consistent) / float64(len(ab)))
}
