package stats

// gwet is Gwet's AC1 with the weights Identity, AC2 with others: (Pa-Pe)/(1-Pe), Pe = Σ w_kl / (q(q-1)) · Σ_k p_k (1-p_k). It stays
// near the percent agreement where almost all ratings are of one category, and kappa does not. NoVariation if only one category
// occurs: the formula would give 1. Gwet 2008, 2014.
func (m margins) gwet(w Weights) Value {
	if !m.varied {
		return None(NoVariation)
	}
	spread := 0.
	for _, p := range m.share {
		spread += p * (1 - p)
	}
	q := float64(m.q)
	return corrected(m.agree, weightSum(w, m.q)/(q*(q-1))*spread)
}
