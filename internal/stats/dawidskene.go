package stats

import "math"

// Vote is the category, from 0, that a judge gave an item. A judge may vote on an item several times.
type Vote struct{ Item, Judge, Category int }

// DawidSkene is what the votes of noisy judges say about items and judges.
type DawidSkene struct {
	// Marginals is the share of each category.
	Marginals []float64
	// Posterior[item][category] is the probability of the item's category; nil for an item without votes.
	Posterior [][]float64
	// Confusion[judge][true][given] is the probability that the judge gives a category where another is true.
	Confusion  [][][]float64
	Iterations int
	Converged  bool
	Flag       Flag
}

// dawidSkeneIterations bounds the iterations. They end when no marginal and no error rate moves by more than dawidSkeneMove.
const (
	dawidSkeneIterations = 1000
	dawidSkeneMove       = 1e-7
)

// EstimateDawidSkene estimates the items' categories and the judges' error rates together by expectation maximization, from the
// majority of votes on. The categories are 0 to categories-1; a category is known only by its votes, so that judges that are mostly wrong
// turn the answer around. TooFew with less than 2 judges or without votes, OutOfDomain for numbers outside. Dawid and Skene 1979.
func EstimateDawidSkene(votes []Vote, items, judges, categories int) DawidSkene {
	if items < 1 || judges < 2 || categories < 2 || len(votes) == 0 {
		return DawidSkene{Flag: TooFew}
	}
	d := DawidSkene{Posterior: make([][]float64, items), Marginals: make([]float64, categories), Confusion: make([][][]float64, judges)}
	byItem := make([][]Vote, items)
	for _, v := range votes {
		if v.Item < 0 || v.Item >= items || v.Judge < 0 || v.Judge >= judges || v.Category < 0 || v.Category >= categories {
			return DawidSkene{Flag: OutOfDomain}
		}
		byItem[v.Item] = append(byItem[v.Item], v)
		if d.Posterior[v.Item] == nil {
			d.Posterior[v.Item] = make([]float64, categories)
		}
		d.Posterior[v.Item][v.Category]++
	}
	for _, posterior := range d.Posterior {
		normalize(posterior)
	}
	for j := range d.Confusion {
		d.Confusion[j] = make([][]float64, categories)
		for k := range categories {
			d.Confusion[j][k] = make([]float64, categories)
		}
	}
	for d.Iterations < dawidSkeneIterations && !d.Converged {
		d.Iterations++
		d.Converged = d.maximize(byItem) < dawidSkeneMove
		d.expect(byItem)
	}
	return d
}

// maximize estimates the shares of categories and the judges' error rates from the items' categories, and returns how far they moved.
func (d *DawidSkene) maximize(byItem [][]Vote) (moved float64) {
	marginals := make([]float64, len(d.Marginals))
	rates := make([][][]float64, len(d.Confusion))
	for j := range rates {
		rates[j] = make([][]float64, len(marginals))
		for k := range rates[j] {
			rates[j][k] = make([]float64, len(marginals))
		}
	}
	for i, votes := range byItem {
		for k, p := range d.Posterior[i] {
			marginals[k] += p
			for _, v := range votes {
				rates[v.Judge][k][v.Category] += p
			}
		}
	}
	normalize(marginals)
	for k, p := range marginals {
		moved = max(moved, math.Abs(p-d.Marginals[k]))
	}
	d.Marginals = marginals
	for j := range rates {
		for k := range rates[j] {
			normalize(rates[j][k])
			for l, p := range rates[j][k] {
				moved = max(moved, math.Abs(p-d.Confusion[j][k][l]))
			}
		}
	}
	d.Confusion = rates
	return moved
}

// expect estimates the items' categories from the shares of categories and the judges' error rates.
func (d *DawidSkene) expect(byItem [][]Vote) {
	for i, votes := range byItem {
		if d.Posterior[i] == nil {
			continue
		}
		logs, most := make([]float64, len(d.Marginals)), math.Inf(-1)
		for k, p := range d.Marginals {
			logs[k] = math.Log(p)
			for _, v := range votes {
				logs[k] += math.Log(d.Confusion[v.Judge][k][v.Category])
			}
			most = max(most, logs[k])
		}
		for k := range logs {
			d.Posterior[i][k] = math.Exp(logs[k] - most)
		}
		normalize(d.Posterior[i])
	}
}

// normalize divides by the sum, unless that is 0.
func normalize(p []float64) {
	sum := 0.
	for _, x := range p {
		sum += x
	}
	if sum > 0 {
		for i := range p {
			p[i] /= sum
		}
	}
}
