package stats

import "math"

// Table crosses two raters: Table[k][l] counts the items that the first put in category k and the second in l.
type Table [][]int

// CrossRatings crosses the ratings a and b of the same items on a scale of ascending categories. An item that one of them did not rate
// (NaN) is left out. Without a scale it is what was observed; weights by place need the full scale.
// The flag is OutOfDomain for a rating that the scale has not and for different lengths, else empty.
func CrossRatings(a, b, scale []float64) (Table, Flag) {
	if len(a) != len(b) {
		return nil, OutOfDomain
	}
	places, flag := placesOf([][]float64{a, b}, scale)
	if flag != "" {
		return nil, flag
	}
	table := make(Table, len(places))
	for k := range table {
		table[k] = make([]int, len(places))
	}
	for i := range a {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			table[places[a[i]]][places[b[i]]]++
		}
	}
	return table, ""
}

// Counts are those of the table's items, each with two ratings.
func (t Table) Counts() Counts {
	var counts Counts
	for k, row := range t {
		for l, n := range row {
			for range n {
				one := make([]int, len(t))
				if l < len(one) {
					one[k]++
					one[l]++
				}
				counts = append(counts, one)
			}
		}
	}
	return counts
}

// shares are those of the cells, rows and columns of the table.
func (t Table) shares() (cells [][]float64, rows, columns []float64, n int, flag Flag) {
	q := len(t)
	for _, row := range t {
		for _, count := range row {
			if count < 0 {
				return nil, nil, nil, 0, OutOfDomain
			}
			n += count
		}
		if len(row) != q {
			return nil, nil, nil, 0, OutOfDomain
		}
	}
	if n == 0 {
		return nil, nil, nil, 0, TooFew
	}
	cells, rows, columns = make([][]float64, q), make([]float64, q), make([]float64, q)
	for k, row := range t {
		cells[k] = make([]float64, q)
		for l, count := range row {
			p := float64(count) / float64(n)
			cells[k][l] = p
			rows[k] += p
			columns[l] += p
		}
	}
	return cells, rows, columns, n, ""
}

// Kappa is Cohen's kappa with its standard errors.
type Kappa struct {
	Estimate
	// SE is the standard error, SE0 the one if kappa were 0, and Z is kappa/SE0. Each is nil if it is 0 or unknown.
	SE, SE0, Z *float64
}

// Cohen is Cohen's kappa of two raters: (Po-Pe)/(1-Pe), Pe = Σ_kl w_kl p_k. p_.l, with the asymptotic standard error and the 95%
// interval of Fleiss, Cohen and Everitt 1969. With few items prefer [Bootstrap]. NoVariation if both used one and the same category.
func (t Table) Cohen(w Weights) Kappa {
	cells, rows, columns, n, flag := t.shares()
	if flag != "" {
		return Kappa{Estimate: Estimate{Value: none(flag)}}
	}
	q := len(t)
	agree, chance := 0., 0.
	byRow, byColumn := make([]float64, q), make([]float64, q)
	for k := range q {
		for l := range q {
			weight := w.of(k, l, q)
			agree += weight * cells[k][l]
			chance += weight * rows[k] * columns[l]
			byRow[k] += weight * columns[l]
			byColumn[l] += weight * rows[k]
		}
	}
	result := Kappa{Estimate: Estimate{Value: corrected(agree, chance)}}
	kappa, ok := result.Get()
	if !ok {
		return result
	}
	var spread, spread0 float64
	for k := range q {
		for l := range q {
			weight, expected := w.of(k, l, q), byRow[k]+byColumn[l]
			of := weight - expected*(1-kappa)
			spread += cells[k][l] * of * of
			spread0 += rows[k] * columns[l] * (weight - expected) * (weight - expected)
		}
	}
	less := kappa - chance*(1-kappa)
	scale := math.Sqrt(float64(n)) * (1 - chance)
	if variance := spread - less*less; variance > 1e-15 {
		se := math.Sqrt(variance) / scale
		result.SE, result.CI = number(se), interval(max(-1, kappa-z95*se), min(1, kappa+z95*se))
	}
	if variance := spread0 - chance*chance; variance > 1e-15 {
		se := math.Sqrt(variance) / scale
		result.SE0, result.Z = number(se), number(kappa/se)
	}
	return result
}

// byRater turns ratings[item][rater] into columns, of which there are two or more.
func byRater(ratings [][]float64) ([][]float64, Flag) {
	if len(ratings) == 0 || len(ratings[0]) < 2 {
		return nil, TooFew
	}
	columns := make([][]float64, len(ratings[0]))
	for _, row := range ratings {
		if len(row) != len(columns) {
			return nil, OutOfDomain
		}
		for j, x := range row {
			columns[j] = append(columns[j], x)
		}
	}
	return columns, ""
}
