package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
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
	// prior is the pseudo-count of each row of a confusion matrix.
	prior float64
	// rates are those of Confusion, one after the other.
	rates []float64
	// groups have the items by their votes, of has the group of each item, -1 without votes.
	groups []voteGroup
	of     []int
}

// dawidSkeneIterations bounds the iterations. They end when no marginal and no error rate moves by more than dawidSkeneMove. Those of
// a resample begin where all items ended, and are as exact as its interval needs.
const (
	dawidSkeneIterations = 1000
	dawidSkeneMove       = 1e-7
	resampleIterations   = 300
	resampleMove         = 1e-5
	// resampleWork bounds the votes of different groups that are read in all iterations of all resamples. First there are fewer resamples, then
	// they draw fewer clusters.
	resampleWork      = 4e8
	resampleLeast     = 200
	resampleClusters  = 2000
	fewestOfResamples = 500
)

// fewestJudges is the number of judges from which votes alone can tell how reliable each of them is.
const fewestJudges = 3

// EstimateDawidSkene estimates the items' categories and the judges' error rates together by expectation maximization, from the
// majority of votes on. The categories are 0 to categories-1; a category is known only by its votes, so that judges that are mostly wrong
// turn the answer around. It takes the judges' errors as independent of each other. prior is the number of votes that each judge is
// supposed to have given beside its own in each true category, the same number of each: 0 is the estimate of the paper, whose rates of few votes are
// often 0 or 1, and 1 says less than the votes of one item. TooFew without votes of three judges, of whom two say nothing about each
// other; OutOfDomain for numbers outside. Dawid and Skene 1979.
func EstimateDawidSkene(votes []Vote, items, judges, categories int, prior float64) DawidSkene {
	if items < 1 || judges < fewestJudges || categories < 2 {
		return DawidSkene{Flag: TooFew}
	}
	if !finite(prior) || prior < 0 {
		return DawidSkene{Flag: OutOfDomain}
	}
	d := DawidSkene{Posterior: make([][]float64, items), Marginals: make([]float64, categories), prior: prior, rates: make([]float64, judges*categories*categories)}
	byItem, voted, voters := make([][]Vote, items), make([]bool, judges), 0
	for _, v := range votes {
		if v.Item < 0 || v.Item >= items || v.Judge < 0 || v.Judge >= judges || v.Category < 0 || v.Category >= categories {
			return DawidSkene{Flag: OutOfDomain}
		}
		byItem[v.Item] = append(byItem[v.Item], v)
		if !voted[v.Judge] {
			voted[v.Judge] = true
			voters++
		}
	}
	if voters < fewestJudges {
		return DawidSkene{Flag: TooFew}
	}
	d.groups, d.of = sameVotes(byItem, categories)
	d.iterate(dawidSkeneIterations, dawidSkeneMove)
	for j := range judges {
		d.Confusion = append(d.Confusion, nil)
		for k := range categories {
			row := (j*categories + k) * categories
			d.Confusion[j] = append(d.Confusion[j], d.rates[row:row+categories:row+categories])
		}
	}
	for i, g := range d.of {
		if g >= 0 {
			d.Posterior[i] = slices.Clone(d.groups[g].posterior)
		}
	}
	return d
}

func (d *DawidSkene) iterate(most int, move float64) {
	marginals, rates := make([]float64, len(d.Marginals)), make([]float64, len(d.rates))
	for d.Iterations < most && !d.Converged {
		d.Iterations++
		d.Converged = d.maximize(marginals, rates) < move
		marginals, d.Marginals = d.Marginals, marginals
		rates, d.rates = d.rates, rates
		d.expect(marginals, rates)
	}
}

// Intervals are those of figures of items and their posteriors, by the percentiles of a bootstrap over clusters of items. Each resample
// has an estimate of its own, so that they contain that rates of judges are estimated, too. figures gets the items that were drawn, and
// returns NaN for one that has no value, whose interval is nil. Nil for all without clusters. With more than 2,000 clusters a resample draws as
// many, of many judges down to 500, and counts as far from the figure as one of all would be.
func (d *DawidSkene) Intervals(figures func(items []int, posterior func(item int) []float64) []float64, options BootstrapOptions) []*Interval {
	found := figures(allItems(len(d.of)), d.posterior)
	intervals := make([]*Interval, len(found))
	members, flag := clustered(len(d.of), options.Clusters)
	parts := len(d.of)
	if members != nil {
		parts = len(members)
	}
	if d.Flag != "" || flag != "" || parts < 2 {
		return intervals
	}
	if options.Resamples <= 0 {
		options.Resamples = 2000
	}
	size := 0
	for _, g := range d.groups {
		size += len(g.votes)
	}
	const iterations = 50                                                           // about as many as usual
	work := iterations * float64(size) / float64(parts) * float64(len(d.Marginals)) // of a cluster
	draws := min(parts, max(fewestOfResamples, min(resampleClusters, int(resampleWork/work/resampleLeast))))
	resamples := min(options.Resamples, max(resampleLeast, int(resampleWork/work/float64(draws))))
	nearer := math.Sqrt(float64(draws) / float64(parts))
	random := rand.New(rand.NewPCG(options.Seed, 0xd5)) //nolint:gosec // the same seed must give the same answer
	values := make([][]float64, len(found))
	var items []int
	for range resamples {
		items = items[:0]
		for range draws {
			if drawn := random.IntN(parts); members == nil {
				items = append(items, drawn)
			} else {
				items = append(items, members[drawn]...)
			}
		}
		again := d.again(items)
		for f, x := range figures(items, again.posterior) {
			if !math.IsNaN(x) {
				values[f] = append(values[f], found[f]+nearer*(x-found[f]))
			}
		}
	}
	level := options.level()
	for f, drawn := range values {
		if float64(len(drawn)) < .95*float64(resamples) || math.IsNaN(found[f]) {
			continue
		}
		slices.Sort(drawn)
		intervals[f] = interval(stat.Quantile(level/2, stat.LinInterp, drawn, nil), stat.Quantile(1-level/2, stat.LinInterp, drawn, nil))
	}
	return intervals
}

// again is the estimate of items that were drawn.
func (d *DawidSkene) again(items []int) DawidSkene {
	a := DawidSkene{Marginals: slices.Clone(d.Marginals), rates: slices.Clone(d.rates), prior: d.prior, of: make([]int, len(d.of))}
	places := make([]int, len(d.groups)) // 0 for a group that is not there yet
	for _, i := range items {
		a.of[i] = -1
		g := d.of[i]
		if g < 0 {
			continue
		}
		if places[g] == 0 {
			a.groups = append(a.groups, voteGroup{votes: d.groups[g].votes, posterior: slices.Clone(d.groups[g].posterior)})
			places[g] = len(a.groups)
		}
		a.groups[places[g]-1].items++
		a.of[i] = places[g] - 1
	}
	a.iterate(resampleIterations, resampleMove)
	return a
}

// posterior is that of an item, nil without votes.
func (d *DawidSkene) posterior(item int) []float64 {
	if g := d.of[item]; g >= 0 {
		return d.groups[g].posterior
	}
	return nil
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

// maximize estimates the shares of categories and the judges' error rates from the items' categories, into the given lists, and returns how
// far they moved.
func (d *DawidSkene) maximize(marginals, rates []float64) (moved float64) {
	q := len(marginals)
	clear(marginals)
	for i := range rates {
		rates[i] = d.prior / float64(q)
	}
	for _, g := range d.groups {
		for k, p := range g.posterior {
			p *= g.items
			marginals[k] += p
			for _, v := range g.votes {
				rates[(v.Judge*q+k)*q+v.Category] += p
			}
		}
	}
	normalize(marginals)
	for row := 0; row < len(rates); row += q {
		normalize(rates[row : row+q])
	}
	for k, p := range marginals {
		moved = max(moved, math.Abs(p-d.Marginals[k]))
	}
	for i, p := range rates {
		moved = max(moved, math.Abs(p-d.rates[i]))
	}
	return moved
}

// expect estimates the items' categories from the shares of categories and the judges' error rates. It uses the given lists.
func (d *DawidSkene) expect(prior, rates []float64) {
	q := len(prior)
	logarithms(prior, d.Marginals)
	logarithms(rates, d.rates)
	for _, g := range d.groups {
		most := math.Inf(-1)
		for k := range g.posterior {
			log := prior[k]
			for _, v := range g.votes {
				log += rates[(v.Judge*q+k)*q+v.Category]
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

func logarithms(logs, p []float64) {
	for i, x := range p {
		logs[i] = math.Log(x)
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
