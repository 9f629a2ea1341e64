package stats

import (
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// ICC has the six intraclass correlations of Shrout and Fleiss 1979, each with a 95% interval, and the mean squares behind them.
type ICC struct {
	// BMS is the mean square between items, WMS within items, JMS between raters, EMS the residual.
	BMS, WMS, JMS, EMS float64
	// Single is the reliability of one rater, Average that of the mean of all: ICC(·,1) and ICC(·,k).
	// OneWay has different raters for each item (1), Agreement random raters (2), Consistency these raters (3).
	OneWay, Agreement, Consistency ICCForm
}

// ICCForm is one form for a single rater and for the mean of all raters.
type ICCForm struct{ Single, Average Estimate }

// IntraclassCorrelation computes ICC from complete ratings[item][rater] by two-way mean squares: ICC(1,1) = (B-W)/(B+(k-1)W),
// ICC(2,1) = (B-E)/(B+(k-1)E+k(J-E)/n), ICC(3,1) = (B-E)/(B+(k-1)E), averages (B-W)/B, (B-E)/(B+(J-E)/n), (B-E)/B.
// Intervals by F; for form 2 with Satterthwaite's degrees of freedom, McGraw and Wong 1996. At most 1. NoVariation if no two ratings
// differ or the items vary less than by chance, TooFew with less than 2 items or raters, OutOfDomain with missing ratings: with gaps use [Krippendorff] on the interval scale.
func IntraclassCorrelation(ratings [][]float64) ICC {
	n := len(ratings)
	switch {
	case n < 2 || len(ratings[0]) < 2:
		return iccWithout(TooFew)
	case !rectangle(ratings):
		return iccWithout(OutOfDomain)
	}
	k := len(ratings[0])
	icc := meanSquares(ratings)
	if !finite(icc.BMS, icc.WMS, icc.JMS, icc.EMS) {
		return iccWithout(OutOfDomain)
	}
	if icc.BMS+icc.WMS == 0 {
		return iccWithout(NoVariation)
	}
	b, w, j, e := icc.BMS, icc.WMS, icc.JMS, icc.EMS
	kf, nf := float64(k), float64(n)
	icc.OneWay.Single.Value = ratio(b-w, b+(kf-1)*w)
	icc.OneWay.Average.Value = ratio(b-w, b)
	icc.Agreement.Single.Value = ratio(b-e, b+(kf-1)*e+kf*(j-e)/nf)
	icc.Agreement.Average.Value = ratio(b-e, b+(j-e)/nf)
	icc.Consistency.Single.Value = ratio(b-e, b+(kf-1)*e)
	icc.Consistency.Average.Value = ratio(b-e, b)
	if w > 0 {
		icc.OneWay.Single.CI, icc.OneWay.Average.CI = fIntervals(b/w, nf-1, nf*(kf-1), kf)
	}
	if e > 0 {
		icc.Consistency.Single.CI, icc.Consistency.Average.CI = fIntervals(b/e, nf-1, (nf-1)*(kf-1), kf)
		if value, ok := icc.Agreement.Single.Get(); ok {
			icc.Agreement.Single.CI, icc.Agreement.Average.CI = agreementIntervals(value, icc, nf, kf)
		}
	}
	return icc
}

func iccWithout(flag Flag) ICC {
	form := ICCForm{Single: Estimate{Value: none(flag)}, Average: Estimate{Value: none(flag)}}
	return ICC{OneWay: form, Agreement: form, Consistency: form}
}

// ratio is a/b. Without a value unless b is above 0: the items vary less than by chance.
func ratio(a, b float64) Value {
	if b <= 0 {
		return none(NoVariation)
	}
	return some(a / b)
}

func meanSquares(ratings [][]float64) ICC {
	n, k := float64(len(ratings)), float64(len(ratings[0]))
	byItem, byRater := make([]float64, len(ratings)), make([]float64, len(ratings[0]))
	for i, row := range ratings {
		byItem[i] = stat.Mean(row, nil)
		for j, x := range row {
			byRater[j] += x / n
		}
	}
	mean := stat.Mean(byItem, nil)
	var between, within, raters, residual float64
	for i, row := range ratings {
		between += k * (byItem[i] - mean) * (byItem[i] - mean)
		for j, x := range row {
			within += (x - byItem[i]) * (x - byItem[i])
			rest := x - byItem[i] - (byRater[j] - mean)
			residual += rest * rest
		}
	}
	for _, own := range byRater {
		raters += n * (own - mean) * (own - mean)
	}
	// What is left by rounding is no variation.
	if residual < 1e-12*(between+within) {
		residual = 0
	}
	return ICC{BMS: between / (n - 1), WMS: within / (n * (k - 1)), JMS: raters / (k - 1), EMS: residual / ((n - 1) * (k - 1))}
}

// fIntervals are those of forms 1 and 3.
func fIntervals(f, df1, df2, k float64) (single, average *Interval) {
	low := f / distuv.F{D1: df1, D2: df2}.Quantile(.975)
	high := f * distuv.F{D1: df2, D2: df1}.Quantile(.975)
	if !(low > 0) { // there is no difference between items
		return nil, nil
	}
	return interval((low-1)/(low+k-1), (high-1)/(high+k-1)), interval(1-1/low, 1-1/high)
}

// agreementIntervals are those of form 2.
func agreementIntervals(icc float64, ms ICC, n, k float64) (single, average *Interval) {
	fj := ms.JMS / ms.EMS
	up := k*icc*fj + n*(1+(k-1)*icc) - k*icc
	down := n*(1+(k-1)*icc) - k*icc
	v := (k - 1) * (n - 1) * up * up / ((n-1)*k*k*icc*icc*fj*fj + down*down)
	if !(v > 0) || !finite(v) {
		return nil, nil
	}
	upper := distuv.F{D1: n - 1, D2: v}.Quantile(.975)
	lower := distuv.F{D1: v, D2: n - 1}.Quantile(.975)
	of := k*ms.JMS + (k*n-k-n)*ms.EMS
	low := n * (ms.BMS - upper*ms.EMS) / (upper*of + n*ms.BMS)
	high := n * (lower*ms.BMS - ms.EMS) / (of + n*lower*ms.BMS)
	single = interval(low, high)
	if 1+(k-1)*low <= 1e-9 { // the reliability of the mean has no lower bound
		return single, nil
	}
	return single, interval(k*low/(1+(k-1)*low), k*high/(1+(k-1)*high))
}
