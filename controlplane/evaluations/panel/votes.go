package panel

import (
	"cmp"
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// VoteCounts counts votes by status. Total is the sum of all but Cached.
type VoteCounts struct {
	Total         int `json:"total"`
	OK            int `json:"ok"`
	ParseError    int `json:"parse_error"`
	Refused       int `json:"refused"`
	OffScale      int `json:"off_scale"`
	Timeout       int `json:"timeout"`
	ProviderError int `json:"provider_error"`
	Skipped       int `json:"skipped"`
	Pending       int `json:"pending"`
	// Cached counts those of OK that were made before.
	Cached int `json:"cached"`
}

func (c *VoteCounts) add(status Status, cached bool) {
	c.Total++
	switch status {
	case OK:
		c.OK++
		if cached {
			c.Cached++
		}
	case ParseError:
		c.ParseError++
	case Refused:
		c.Refused++
	case OffScale:
		c.OffScale++
	case Timeout:
		c.Timeout++
	case ProviderError:
		c.ProviderError++
	case Skipped:
		c.Skipped++
	case Pending:
		c.Pending++
	}
}

// Add adds other counts.
func (c *VoteCounts) Add(other VoteCounts) {
	c.Total += other.Total
	c.OK += other.OK
	c.ParseError += other.ParseError
	c.Refused += other.Refused
	c.OffScale += other.OffScale
	c.Timeout += other.Timeout
	c.ProviderError += other.ProviderError
	c.Skipped += other.Skipped
	c.Pending += other.Pending
	c.Cached += other.Cached
}

// failed are those that were asked and gave no valid vote.
func (c *VoteCounts) failed() int {
	return c.ParseError + c.Refused + c.OffScale + c.Timeout + c.ProviderError
}

// table has the votes by output and judge, and what is computed from them.
type table struct {
	*Input
	// members are the judges that make the score, escalation the one that decides where they split, -1 for none.
	members    []int
	escalation int
	// clusters has the item of each output, or the group of its item. grouped is whether two items are in one.
	clusters []int
	grouped  bool
	// cells has the votes of output o and judge j from starts[o*judges+j] on to the next start, by repeat and order.
	cells  []int32
	starts []int32
	// values[judge][output] is what the judge's repeats come to; NaN for none.
	values [][]float64
	// judged reports whether a member was asked about the output.
	judged []bool
	// verdicts are those of the panel, before what an escalation decides; final with that.
	verdicts, final []verdict
	// resamples bounds the work of bootstraps.
	options stats.BootstrapOptions
}

// bootstrapWork bounds how many ratings, in all resamples of a bootstrap together, are read again; below leastResamples the interval
// would be too coarse.
const (
	allResamples   = 2000
	leastResamples = 200
	bootstrapWork  = 1e8
)

func newTable(in *Input) *table {
	t := &table{Input: in, escalation: -1}
	for j, judge := range in.Judges {
		if judge.Escalation {
			t.escalation = j
		} else {
			t.members = append(t.members, j)
		}
	}
	outputs, judges := len(in.Outputs), len(in.Judges)
	t.clusters = make([]int, outputs)
	inGroups := map[int]int{}
	for o, output := range in.Outputs {
		t.clusters[o] = output.Item
		if output.Group != 0 {
			t.clusters[o] = -output.Group // items count from 1
			t.grouped = t.grouped || inGroups[output.Group] != 0 && inGroups[output.Group] != output.Item
			inGroups[output.Group] = output.Item
		}
	}
	ratings := float64(outputs) * float64(max(1, judges)+len(in.categories()))
	t.options = stats.BootstrapOptions{
		Seed: in.Seed, Clusters: t.clusters,
		Resamples: int(max(leastResamples, min(allResamples, bootstrapWork/max(1, ratings)))),
	}
	t.group()
	t.judged = make([]bool, outputs)
	t.values = make([][]float64, judges)
	for j := range judges {
		t.values[j] = make([]float64, outputs)
		for o := range outputs {
			t.values[j][o] = t.combine(t.repeats(o, j))
			if j != t.escalation && !in.Outputs[o].Absent && !t.judged[o] {
				t.judged[o] = slices.ContainsFunc(t.cell(o, j), func(v int32) bool { return in.Votes[v].Status != Skipped })
			}
		}
	}
	return t
}

// group sorts the votes into cells.
func (t *table) group() {
	judges := len(t.Judges)
	t.starts = make([]int32, len(t.Outputs)*judges+1)
	place := func(v Vote) int { return int(v.Output)*judges + int(v.Judge) }
	for _, v := range t.Votes {
		t.starts[place(v)+1]++
	}
	for i := range len(t.starts) - 1 {
		t.starts[i+1] += t.starts[i]
	}
	next := slices.Clone(t.starts)
	t.cells = make([]int32, len(t.Votes))
	for i, v := range t.Votes {
		t.cells[next[place(v)]] = int32(i)
		next[place(v)]++
	}
	for i := range len(t.starts) - 1 {
		if cell := t.cells[t.starts[i]:t.starts[i+1]]; len(cell) > 1 {
			slices.SortFunc(cell, func(a, b int32) int {
				x, y := &t.Votes[a], &t.Votes[b]
				return cmp.Or(cmp.Compare(x.Repeat, y.Repeat), cmp.Compare(x.Order, y.Order), cmp.Compare(x.Status, y.Status), cmp.Compare(x.Value, y.Value))
			})
		}
	}
}

func (t *table) cell(output, judge int) []int32 {
	i := output*len(t.Judges) + judge
	return t.cells[t.starts[i]:t.starts[i+1]]
}

// status is that of a vote, by its value, too.
func (in *Input) status(v *Vote) Status {
	if v.Status == OK && !in.onScale(v.Value) {
		return OffScale
	}
	return v.Status
}

// repeats are the values of a judge's repeats on an output. Of a preference each needs both orders, and is a tie if they differ.
func (t *table) repeats(output, judge int) []float64 { return t.repeatsOf(t.cell(output, judge)) }

func (in *Input) repeatsOf(cell []int32) []float64 {
	var values []float64
	if in.Kind == Preference {
		in.pairs(cell, func(ab, ba float64) { values = append(values, bothOrders(ab, ba)) })
		return values
	}
	for _, i := range cell {
		if v := &in.Votes[i]; in.status(v) == OK {
			values = append(values, v.Value)
		}
	}
	return values
}

// pairs calls back with the valid votes of each repeat that has both orders.
func (in *Input) pairs(cell []int32, each func(ab, ba float64)) {
	for i := 1; i < len(cell); i++ {
		ab, ba := &in.Votes[cell[i-1]], &in.Votes[cell[i]]
		if ab.Repeat == ba.Repeat && ab.Order == AB && ba.Order == BA && in.status(ab) == OK && in.status(ba) == OK {
			each(ab.Value, ba.Value)
		}
	}
}

// ValueFrom returns what the votes of a judge on an output come to, NaN for none. They are those of the input from a place on, in the order
// of repeats, of a preference first that in the order ab.
func (in *Input) ValueFrom(place int) float64 {
	cell := make([]int32, len(in.Votes)-place)
	for i := range cell {
		cell[i] = int32(place + i)
	}
	return in.combine(in.repeatsOf(cell))
}

// bothOrders is the winner that both orders name, else a tie.
func bothOrders(ab, ba float64) float64 {
	if ab == ba {
		return ab
	}
	return .5
}

// combine is the mean of repeats, or their majority on a nominal scale. Without one a preference is a tie, and others have no value.
func (in *Input) combine(repeats []float64) float64 {
	switch {
	case len(repeats) == 0:
		return math.NaN()
	case len(repeats) == 1:
		return repeats[0]
	}
	if !in.nominal() {
		return number(stats.Mean(repeats))
	}
	return in.majority(repeats)
}

// majority is NaN for a tie, which is a value of its own for a preference.
func (in *Input) majority(values []float64) float64 {
	m := stats.Majority(values)
	if m.Flag == stats.Tied && in.Kind == Preference {
		return .5
	}
	return number(m)
}

// number is NaN without a value.
func number(v stats.Value) float64 {
	if x, ok := v.Get(); ok {
		return x
	}
	return math.NaN()
}

// pointer is nil for NaN and infinities.
func pointer(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
