package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Preferred is what a judge prefers of two sides' outputs for an item. The outcome is that of B: 1 for a win, 0 for a loss, .5 for a tie.
type Preferred struct {
	Item, A, B, Judge int
	Outcome           float64
}

// PreferenceRanking is what judges' preferences among several sides come to.
type PreferenceRanking struct {
	// Strengths are log odds against the average side, whose intervals hold together.
	Strengths []Estimate `json:"strengths"`
	// Pairs has each two sides once, ordered as in [Several].
	Pairs  []PreferencePair  `json:"pairs"`
	Judges []DiscerningJudge `json:"judges"`
	// Items counts those with votes.
	Items int  `json:"items"`
	Votes int  `json:"votes"`
	Flag  Flag `json:"flag,omitempty"`
}

// PreferencePair is how often B is preferred to A, a tie as half.
type PreferencePair struct {
	A int `json:"a"`
	B int `json:"b"`
	// Share has an interval that holds together with those of the other pairs.
	Share Estimate `json:"share"`
	// PAdjusted is that of a share of one half, counting all pairs.
	PAdjusted *float64 `json:"p_adjusted"`
	Verdict   Verdict  `json:"verdict"`
	// Votes are those on just these two; without any, the share follows from the other pairs.
	Votes int `json:"votes"`
}

// DiscerningJudge is how clearly a judge tells sides apart: its log odds are Discrimination times the difference of strengths. The
// geometric mean over judges is 1.
type DiscerningJudge struct {
	Discrimination float64 `json:"discrimination"`
	Votes          int     `json:"votes"`
}

// Flags of preferences.
const (
	// NotConnected: some sides were compared with each other, but not with the rest.
	NotConnected Flag = "not_connected"
)

const (
	// fewPreferred is the number of items below which preferences have no ranking.
	fewPreferred = 20
	// discriminationVariance is that of the logarithms of discriminations beforehand: estimates are shrunk to 0.
	discriminationVariance = .25
)

// BradleyTerry fits log odds of B being preferred to A of s_B - s_A, in which all votes count alike. A tie is half a win of each. Beside the
// votes, each pair that has some has the votes of half an item for either side, so that a side that always wins has a strength, too.
// What each item adds to the estimates, with all its votes, makes clustered standard errors, and a multiplier bootstrap of items
// intervals by max-T that hold together.
//
// A second fit has log odds of a_i (s_B - s_A) for judge i. The logarithms of a_i are drawn to 0 by a normal density, since few votes say
// little of a judge. Strengths and verdicts are not those of this fit: where sides are equal nothing tells the a_i, and those that fit
// best by chance would find differences too often.
//
// TooFew with fewer than 20 items or 2 sides, NotConnected if no chain of comparisons leads from a side to another, OutOfDomain for
// votes that are none. Bradley and Terry 1952; Davidson 1970 discusses ties.
func BradleyTerry(sides, judges int, votes []Preferred, options CompareOptions) PreferenceRanking {
	if options.Alpha == 0 {
		options.Alpha = .05
	}
	r := PreferenceRanking{Strengths: []Estimate{}, Pairs: []PreferencePair{}, Judges: []DiscerningJudge{}, Votes: len(votes)}
	byItem := map[int][]Preferred{}
	for _, v := range votes {
		if v.A == v.B || v.A < 0 || v.B < 0 || v.A >= sides || v.B >= sides || v.Judge < 0 || v.Judge >= judges || !probability(v.Outcome) {
			r.Flag = OutOfDomain
			return r
		}
		byItem[v.Item] = append(byItem[v.Item], v)
	}
	r.Items = len(byItem)
	switch {
	case !level(options.Alpha):
		r.Flag = OutOfDomain
	case sides < 2 || r.Items == 0:
		r.Flag = TooFew
	case !connected(sides, votes):
		r.Flag = NotConnected
	case r.Items < fewPreferred:
		r.Flag = TooFew
	}
	if r.Flag != "" {
		return r
	}
	m := newPreferences(sides, judges, votes)
	fit, information := m.fit()
	if fit == nil {
		r.Flag = OutOfDomain
		return r
	}
	items := make([][]Preferred, 0, len(byItem))
	for _, item := range sortedKeys(byItem) {
		items = append(items, byItem[item])
	}
	influence := m.influence(items, fit, information)
	strengths := newSpread(influence[:sides], r.Items, options)
	for i := range sides {
		r.Strengths = append(r.Strengths, Estimate{Value: some(fit[i]), CI: strengths.interval(i, fit[i], options.Alpha)})
	}
	r.pairs(m, fit, influence, options)
	m.aware = judges > 1
	if fit, _ = m.fit(); fit == nil {
		r.Flag = OutOfDomain
		return r
	}
	for _, log := range m.logs(fit) {
		r.Judges = append(r.Judges, DiscerningJudge{Discrimination: math.Exp(log)})
	}
	for _, v := range votes {
		r.Judges[v.Judge].Votes++
	}
	return r
}

// pairs sets each two sides.
func (r *PreferenceRanking) pairs(m *preferences, fit []float64, influence [][]float64, options CompareOptions) {
	var apart [][]float64
	for a := range m.sides {
		for b := a + 1; b < m.sides; b++ {
			r.Pairs = append(r.Pairs, PreferencePair{A: a, B: b, Verdict: Inconclusive})
			apart = append(apart, floats.SubTo(make([]float64, len(influence[a])), influence[b], influence[a]))
		}
	}
	spread := newSpread(apart, r.Items, options)
	for i := range r.Pairs {
		pair := &r.Pairs[i]
		share := logistic(fit[pair.B] - fit[pair.A])
		pair.Share.Value = some(share)
		pair.Votes = m.of[[2]int{pair.A, pair.B}]
		// The arcsine is nearer to normal than log odds where one side nearly always wins.
		angle, se := math.Asin(math.Sqrt(share)), spread.errors[i]*math.Sqrt(share*(1-share))/2
		if !(se > 0) {
			continue
		}
		half := studentQuantile(spread.joint.level(options.Alpha), spread.joint.degrees) * se
		low, high := math.Sin(max(0, angle-half)), math.Sin(min(math.Pi/2, angle+half))
		pair.Share.CI = interval(low*low, high*high)
		t := distuv.StudentsT{Sigma: 1, Nu: spread.joint.degrees}
		pair.PAdjusted = number(spread.joint.adjust(2 * t.Survival(math.Abs(angle-math.Pi/4)/se)))
		switch {
		case *pair.PAdjusted > options.Alpha || pair.Share.CI.Contains(.5):
		case share > .5:
			pair.Verdict = BBetter
		default:
			pair.Verdict = ABetter
		}
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func sortedKeys[V any](of map[int]V) []int {
	keys := make([]int, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[int])
	return keys
}

// connected reports whether a chain of votes leads from each side to each other.
func connected(sides int, votes []Preferred) bool {
	reached := map[int]bool{0: true}
	for grew := true; grew; {
		grew = false
		for _, v := range votes {
			if reached[v.A] != reached[v.B] {
				reached[v.A], reached[v.B], grew = true, true, true
			}
		}
	}
	return len(reached) == sides
}

// spread has the standard errors of several statistics, and what they have in common.
type spread struct {
	errors []float64
	joint  joint
}

// newSpread reads what each item adds to the statistics, which have the clustered standard error √(G/(G-1) Σ influence²).
func newSpread(influence [][]float64, items int, options CompareOptions) spread {
	s := spread{errors: make([]float64, len(influence))}
	degrees := float64(items - 1)
	for i, one := range influence {
		s.errors[i] = floats.Norm(one, 2) * math.Sqrt(float64(items)/degrees)
	}
	s.joint = newJoint(influence, degrees, true, options.Seed)
	return s
}

func (s *spread) interval(i int, value, alpha float64) *Interval {
	if !(s.errors[i] > 0) {
		return nil
	}
	half := studentQuantile(s.joint.level(alpha), s.joint.degrees) * s.errors[i]
	return interval(value-half, value+half)
}

// cell is what one judge says of two sides, A before B.
type cell struct{ a, b, judge int }

// preferences is the model. added has the votes for either side that each pair has beside the others.
type preferences struct {
	sides, judges int
	// aware is whether judges have discriminations of their own.
	aware bool
	cells []cell
	place map[cell]int
	of    map[[2]int]int // votes by pair
	added []pairVotes
	all   tally
}

// pairVotes is how many votes are added for either side of a pair.
type pairVotes struct {
	a, b  int
	votes float64
}

// tally has votes and wins of B by cell.
type tally struct{ votes, wins []float64 }

func newPreferences(sides, judges int, votes []Preferred) *preferences {
	m := &preferences{sides: sides, judges: judges, place: map[cell]int{}, of: map[[2]int]int{}}
	itemsOf := map[[2]int]map[int]bool{}
	for _, v := range votes {
		key, _ := v.cell()
		if _, ok := m.place[key]; !ok {
			m.place[key] = len(m.cells)
			m.cells = append(m.cells, key)
		}
		pair := [2]int{key.a, key.b}
		m.of[pair]++
		if itemsOf[pair] == nil {
			itemsOf[pair] = map[int]bool{}
		}
		itemsOf[pair][v.Item] = true
	}
	for a := range sides {
		for b := a + 1; b < sides; b++ {
			if pair := [2]int{a, b}; m.of[pair] > 0 {
				m.added = append(m.added, pairVotes{a, b, endWeight * float64(m.of[pair]) / float64(len(itemsOf[pair]))})
			}
		}
	}
	m.all = m.newTally()
	m.add(&m.all, votes)
	return m
}

// cell is that of a vote, with the outcome of its b.
func (v Preferred) cell() (cell, float64) {
	if v.A > v.B {
		return cell{v.B, v.A, v.Judge}, 1 - v.Outcome
	}
	return cell{v.A, v.B, v.Judge}, v.Outcome
}

func (m *preferences) newTally() tally {
	return tally{make([]float64, len(m.cells)), make([]float64, len(m.cells))}
}

func (m *preferences) add(t *tally, votes []Preferred) {
	for _, v := range votes {
		key, outcome := v.cell()
		t.votes[m.place[key]]++
		t.wins[m.place[key]] += outcome
	}
}

// logs returns those of discriminations, of which one judge has none to estimate.
func (m *preferences) logs(fit []float64) []float64 {
	if !m.aware {
		return make([]float64, m.judges)
	}
	return fit[m.sides:]
}

// logLikelihood is penalized, and counts the votes that are added.
func (m *preferences) logLikelihood(fit []float64) float64 {
	sum, logs := 0., m.logs(fit)
	for i, c := range m.cells {
		x := math.Exp(logs[c.judge]) * (fit[c.b] - fit[c.a])
		sum += m.all.wins[i]*x - m.all.votes[i]*softplus(x)
	}
	for _, pair := range m.added {
		x := fit[pair.b] - fit[pair.a]
		sum += pair.votes * (x - 2*softplus(x))
	}
	for _, log := range logs {
		sum -= log * log / 2 / discriminationVariance
	}
	return sum
}

// softplus is log(1+exp(x)).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// gradient returns what a vote adds to the derivative of the likelihood by side and judge, in a vector that is handed in, and the weight
// of its square in Fisher's information.
func (m *preferences) gradient(into []float64, fit []float64, c cell) (chance, weight float64) {
	for i := range into {
		into[i] = 0
	}
	slope, d := 1., fit[c.b]-fit[c.a]
	if m.aware {
		slope = math.Exp(fit[m.sides+c.judge])
		into[m.sides+c.judge] = slope * d
	}
	into[c.a], into[c.b] = -slope, slope
	chance = logistic(slope * d)
	return chance, chance * (1 - chance)
}

// derive returns the gradient and Fisher's information of the penalized likelihood. The sum of strengths and that of the logarithms of
// discriminations are held at 0.
func (m *preferences) derive(fit []float64) (*mat.VecDense, *mat.SymDense) {
	n := len(fit)
	gradient, information, direction := mat.NewVecDense(n, nil), mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, c := range m.cells {
		p, weight := m.gradient(direction.RawVector().Data, fit, c)
		gradient.AddScaledVec(gradient, m.all.wins[i]-m.all.votes[i]*p, direction)
		information.SymRankOne(information, m.all.votes[i]*weight, direction)
	}
	for _, pair := range m.added {
		direction.Zero()
		direction.SetVec(pair.a, -1)
		direction.SetVec(pair.b, 1)
		p := logistic(fit[pair.b] - fit[pair.a])
		gradient.AddScaledVec(gradient, pair.votes*(1-2*p), direction)
		information.SymRankOne(information, 2*pair.votes*p*(1-p), direction)
	}
	for i := m.sides; i < n; i++ {
		gradient.SetVec(i, gradient.AtVec(i)-fit[i]/discriminationVariance)
		information.SetSym(i, i, information.At(i, i)+1/discriminationVariance)
	}
	for _, block := range [][2]int{{0, m.sides}, {m.sides, n}} {
		const held = 1e7
		direction.Zero()
		for i := block[0]; i < block[1]; i++ {
			direction.SetVec(i, 1)
		}
		gradient.AddScaledVec(gradient, -held*floats.Sum(fit[block[0]:block[1]]), direction)
		information.SymRankOne(information, held, direction)
	}
	return gradient, information
}

// fit maximizes the penalized likelihood by Fisher's scoring, with steps that are halved until they help. It returns strengths, then the
// logarithms of discriminations if there are several judges, and the information there; nil if there is none.
func (m *preferences) fit() ([]float64, *mat.Cholesky) {
	n := m.sides
	if m.aware {
		n += m.judges
	}
	fit := make([]float64, n)
	const steps, halves, near = 200, 30, 1e-9
	now := m.logLikelihood(fit)
	var factor mat.Cholesky
	for range steps {
		gradient, information := m.derive(fit)
		var step mat.VecDense
		if !factor.Factorize(information) || factor.SolveVecTo(&step, gradient) != nil {
			return nil, nil
		}
		scale := 1.
		for range halves {
			next := slices.Clone(fit)
			floats.AddScaled(next, scale, step.RawVector().Data)
			if then := m.logLikelihood(next); then >= now {
				fit, now = next, then
				break
			}
			scale /= 2
		}
		if scale*mat.Norm(&step, math.Inf(1)) < near {
			break
		}
	}
	return fit, &factor
}

// influence is what the votes on each item add to the parameters, and behind them what those do that are beside the items: votes that are
// all the same show no variance.
func (m *preferences) influence(items [][]Preferred, fit []float64, information *mat.Cholesky) [][]float64 {
	all := make([][]float64, len(fit))
	direction, sum := make([]float64, len(fit)), mat.NewVecDense(len(fit), nil)
	add := func(weight float64) {
		var moved mat.VecDense
		if information.SolveVecTo(&moved, sum) != nil {
			moved = *mat.NewVecDense(len(fit), nil)
		}
		for i := range all {
			all[i] = append(all[i], weight*moved.AtVec(i))
		}
		sum.Zero()
	}
	for _, votes := range items {
		for _, v := range votes {
			c, outcome := v.cell()
			p, _ := m.gradient(direction, fit, c)
			floats.AddScaled(sum.RawVector().Data, outcome-p, direction)
		}
		add(1)
	}
	for _, pair := range m.added {
		p := logistic(fit[pair.b] - fit[pair.a])
		for _, outcome := range []float64{0, 1} { // an item with as many votes as others have, and the weight of a half
			off := (outcome - p) * pair.votes / endWeight
			sum.SetVec(pair.a, -off)
			sum.SetVec(pair.b, off)
			add(math.Sqrt(endWeight))
		}
	}
	return all
}
