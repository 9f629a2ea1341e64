package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

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
	}
	groups, of := sameVotes(byItem, categories)
	for j := range d.Confusion {
		d.Confusion[j] = make([][]float64, categories)
		for k := range categories {
			d.Confusion[j][k] = make([]float64, categories)
		}
	}
	for d.Iterations < dawidSkeneIterations && !d.Converged {
		d.Iterations++
		d.Converged = d.maximize(groups) < dawidSkeneMove
		d.expect(groups)
	}
	for i, g := range of {
		if g >= 0 {
			d.Posterior[i] = slices.Clone(groups[g].posterior)
		}
	}
	return d
}

// voteGroup has items with the same votes, which have the same posterior: there are few of them for many items.
type voteGroup struct {
	items     float64
	votes     []Vote
	posterior []float64
}

// sameVotes groups items, with the shares of their votes as the first posterior. of has the group of each item, -1 without votes.
func sameVotes(byItem [][]Vote, categories int) (groups []voteGroup, of []int) {
	of = make([]int, len(byItem))
	places := map[string]int{}
	var key []byte
	for i, votes := range byItem {
		if len(votes) == 0 {
			of[i] = -1
			continue
		}
		slices.SortFunc(votes, func(a, b Vote) int {
			return cmp.Or(cmp.Compare(a.Judge, b.Judge), cmp.Compare(a.Category, b.Category))
		})
		key = key[:0]
		for _, v := range votes {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(v.Judge)), uint64(v.Category))
		}
		g, ok := places[string(key)]
		if !ok {
			g = len(groups)
			places[string(key)] = g
			posterior := make([]float64, categories)
			for _, v := range votes {
				posterior[v.Category]++
			}
			normalize(posterior)
			groups = append(groups, voteGroup{votes: votes, posterior: posterior})
		}
		groups[g].items++
		of[i] = g
	}
	return groups, of
}

// maximize estimates the shares of categories and the judges' error rates from the items' categories, and returns how far they moved.
func (d *DawidSkene) maximize(groups []voteGroup) (moved float64) {
	marginals := make([]float64, len(d.Marginals))
	rates := make([][][]float64, len(d.Confusion))
	for j := range rates {
		rates[j] = make([][]float64, len(marginals))
		for k := range rates[j] {
			rates[j][k] = make([]float64, len(marginals))
		}
	}
	for _, g := range groups {
		for k, p := range g.posterior {
			marginals[k] += g.items * p
			for _, v := range g.votes {
				rates[v.Judge][k][v.Category] += g.items * p
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
func (d *DawidSkene) expect(groups []voteGroup) {
	prior := logarithms(d.Marginals)
	rates := make([][][]float64, len(d.Confusion))
	for j, confusion := range d.Confusion {
		rates[j] = make([][]float64, len(confusion))
		for k := range confusion {
			rates[j][k] = logarithms(confusion[k])
		}
	}
	for _, g := range groups {
		most := math.Inf(-1)
		for k := range g.posterior {
			log := prior[k]
			for _, v := range g.votes {
				log += rates[v.Judge][k][v.Category]
			}
			g.posterior[k] = log
			most = max(most, log)
		}
		for k, log := range g.posterior {
			g.posterior[k] = math.Exp(log - most)
		}
		normalize(g.posterior)
	}
}

func logarithms(p []float64) []float64 {
	logs := make([]float64, len(p))
	for i, x := range p {
		logs[i] = math.Log(x)
	}
	return logs
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
