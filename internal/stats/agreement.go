package stats

import "math"

// PercentAgreement is the share of pairs of raters that agree, a mean over the items with two or more ratings; weights give partial
// credit. Pa = mean_i Σ_k r_ik (Σ_l w_kl r_il - 1) / (r_i (r_i-1)). It is not corrected for chance. In [0, 1]; TooFew without an item
// of two ratings. Gwet, Handbook of Inter-Rater Reliability, 2014.
func (c Counts) PercentAgreement(w Weights) Value {
	m, flag := c.margins(w)
	if flag != "" {
		return none(flag)
	}
	return some(m.agree)
}

// Fleiss is the result of [Counts.Fleiss].
type Fleiss struct {
	Value
	// Agreement and Chance are the observed agreement and the one expected by chance.
	Agreement, Chance *float64
	// Z is kappa by its standard error without agreement, and P its two-sided p value. ByCategory is the kappa of each category
	// against all others, without a value for one that does not occur. All three need the same number of ratings on every item.
	Z, P       *float64
	ByCategory []Value
}

// Fleiss is Fleiss' kappa: (Pa-Pe)/(1-Pe), Pe = Σ_kl w_kl p_k p_l, with p_k the mean share of category k. For the weights Identity with
// z = kappa/SE and kappa by category. NoVariation if only one category occurs, TooFew without an item of two ratings.
// Fleiss 1971; Fleiss, Nee and Landis 1979; with missing ratings as in irrCAC.
func (c Counts) Fleiss(w Weights) Fleiss {
	m, flag := c.margins(w)
	if flag != "" {
		return Fleiss{Value: none(flag)}
	}
	value, chance := m.fleiss(w)
	if value.Flag != "" {
		return Fleiss{Value: value}
	}
	f := Fleiss{Value: value, Agreement: number(m.agree), Chance: number(chance)}
	raters := c.raters()
	kappa, ok := f.Get()
	if !ok || raters < 2 || w != Identity {
		return f
	}
	n, r := float64(len(c)), float64(raters)
	spread, skew := 0., 0.
	f.ByCategory = make([]Value, m.q)
	for k, p := range m.share {
		spread += p * (1 - p)
		skew += p * (1 - p) * (1 - 2*p)
		apart := 0.
		for _, row := range c {
			apart += float64(row[k] * (raters - row[k]))
		}
		f.ByCategory[k] = none(NoVariation)
		if p > 0 && p < 1 {
			f.ByCategory[k] = some(1 - apart/(n*r*(r-1)*p*(1-p)))
		}
	}
	variance := 2 * (spread*spread - skew) / (n * r * (r - 1) * spread * spread)
	if variance > 0 {
		z := kappa / math.Sqrt(variance)
		f.Z, f.P = number(z), number(twoSided(z))
	}
	return f
}

func (m margins) fleiss(w Weights) (kappa Value, chance float64) {
	if !m.varied {
		return none(NoVariation), 0
	}
	for k, p := range m.share {
		for l, other := range m.share {
			chance += w.of(k, l, m.q) * p * other
		}
	}
	return corrected(m.agree, chance), chance
}

// raters is the number of ratings of every item, 0 if it differs.
func (c Counts) raters() int {
	all := 0
	for i, row := range c {
		total := 0
		for _, n := range row {
			total += n
		}
		if i > 0 && total != all {
			return 0
		}
		all = total
	}
	return all
}

// GwetAC is Gwet's AC1 with the weights Identity, AC2 with others: (Pa-Pe)/(1-Pe), Pe = Σ w_kl / (q(q-1)) · Σ_k p_k (1-p_k). It stays
// near the percent agreement where almost all ratings are of one category, and kappa does not. NoVariation if only one category
// occurs: the formula would give 1. Gwet 2008, 2014.
func (c Counts) GwetAC(w Weights) Value {
	m, flag := c.margins(w)
	if flag != "" {
		return none(flag)
	}
	return m.gwet(w)
}

func (m margins) gwet(w Weights) Value {
	if !m.varied {
		return none(NoVariation)
	}
	spread := 0.
	for _, p := range m.share {
		spread += p * (1 - p)
	}
	q := float64(m.q)
	return corrected(m.agree, weightSum(w, m.q)/(q*(q-1))*spread)
}
