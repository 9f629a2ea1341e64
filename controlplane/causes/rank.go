// Package causes finds what the runs of a failure group have that good runs of the same agent do not have. It reads what was recorded, and
// asks no model. docs/causes.md has the rules.
package causes

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// Share is how many of some runs have something.
type Share struct{ Count, Of int }

// Candidate is a possible cause of a failure.
type Candidate struct {
	Kind Kind
	// Title is a sentence in words. It has recorded text.
	Title string
	// Key is stable: the same trait of the same group has the same one.
	Key string
	// Failed and Good are how many runs have it, of those that tell. Difference is that of the shares, failed minus good, with CI, its 95%
	// interval.
	Failed, Good Share
	Difference   float64
	CI           stats.Interval
	// PAdjusted is of Fisher's exact test, after Holm's correction over all traits that could be told apart.
	PAdjusted float64
	// MovesWith are the titles of others that the same runs have, so that these runs cannot tell which of them is the cause.
	MovesWith []string
	// Edits undo it in other runs, too. WhyNoEdit says why there are none.
	Edits     []edit.Edit
	WhyNoEdit string
}

// alpha is the level of the tests.
const alpha = 0.05

// Separates reports whether failed runs have it more often than good ones, beyond chance.
func (c *Candidate) Separates() bool { return c.PAdjusted <= alpha && c.CI[0] > 0 }

// Ranking are the candidates of a group, the best first.
type Ranking struct {
	Candidates []Candidate
	// Tested is how many traits were tested: those that could be told apart, each only once if the same runs have them.
	Tested int
}

// maxCandidates is how many candidates a ranking has.
const maxCandidates = 20

// Rank compares the failed runs of a group with good runs of the same agent.
func Rank(failed, good []Run, place Place) Ranking {
	c := comparison{failed: failed, good: good, place: place}
	c.runs = slices.Concat(failed, good)
	columns := c.columns()
	tested := test(columns)
	found := slices.DeleteFunc(columns, func(col *column) bool { return math.IsNaN(col.p) || col.candidate.Difference <= 0 })
	ordered := ordered(found)
	ordered = ordered[:min(len(ordered), maxCandidates)]
	ranking := Ranking{Candidates: make([]Candidate, len(ordered)), Tested: tested}
	for i, col := range ordered {
		c.explain(col)
		ranking.Candidates[i] = col.candidate
	}
	for i, col := range ordered {
		for _, other := range col.with {
			if len(ranking.Candidates[i].MovesWith) < maxMovesWith && slices.Contains(ordered, other) {
				ranking.Candidates[i].MovesWith = append(ranking.Candidates[i].MovesWith, other.candidate.Title)
			}
		}
	}
	return ranking
}

// maxMovesWith is how many others a candidate names.
const maxMovesWith = 5

// comparison is of the failed runs and the good runs, which runs has one after the other.
type comparison struct {
	failed, good, runs []Run
	place              Place
}

// column is a trait with the runs that have it.
type column struct {
	trait
	// has and told are by run. A run that does not tell of the subject counts for neither.
	has, told []bool
	p         float64 // NaN if it cannot be told apart
	candidate Candidate
	with      []*column
}

// columns returns the traits of all runs, in the order of their keys.
func (c *comparison) columns() []*column {
	seen := map[trait]*column{}
	var columns []*column
	add := func(t trait) {
		if seen[t] == nil {
			col := &column{trait: t, has: make([]bool, len(c.runs)), told: make([]bool, len(c.runs))}
			for i := range c.runs {
				col.told[i], col.has[i] = c.tells(&c.runs[i], t)
			}
			seen[t] = col
			columns = append(columns, col)
		}
	}
	for i := range c.runs {
		for t := range c.runs[i].traits {
			add(t)
			if t.kind == Parameter || t.kind == ToolDefinition {
				add(trait{t.subject, absent})
			}
		}
	}
	columns = slices.Concat(columns, c.orders(), c.timeouts())
	slices.SortFunc(columns, func(a, b *column) int { return strings.Compare(a.key(), b.key()) })
	for _, col := range columns {
		col.count(len(c.failed))
	}
	return columns
}

// tells reports whether a run tells of the subject of a trait, and whether it has the trait.
func (c *comparison) tells(r *Run, t trait) (told, has bool) {
	_, has = r.traits[t]
	switch t.kind {
	case Parameter, ToolDefinition:
		told = r.told[subject{t.kind, "", t.agent}]
		if t.value == absent {
			has = told && !r.told[t.subject]
		}
	case Attribute, Environment, Release, AgentRelease:
		told = true
	default:
		told = r.told[t.subject]
	}
	return told, has
}

// maxOrdered is how many tools are compared by their order.
const maxOrdered = 20

// orders are the tools that are called without another one before.
func (c *comparison) orders() []*column {
	calls := map[string]int{}
	for i := range c.runs {
		for _, tool := range c.runs[i].called {
			calls[tool]++
		}
	}
	tools := make([]string, 0, len(calls))
	for tool := range calls {
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b string) int { return cmp.Or(cmp.Compare(calls[b], calls[a]), strings.Compare(a, b)) })
	tools = tools[:min(len(tools), maxOrdered)]
	var columns []*column
	for _, tool := range tools {
		for _, other := range tools {
			if tool == other {
				continue
			}
			col := &column{trait: trait{subject{kind: Order, name: tool}, other}, has: make([]bool, len(c.runs)), told: make([]bool, len(c.runs))}
			together := 0
			for i := range c.runs {
				at, before := slices.Index(c.runs[i].called, tool), slices.Index(c.runs[i].called, other)
				col.told[i] = at >= 0
				col.has[i] = at >= 0 && (before < 0 || before > at)
				if at >= 0 && !col.has[i] {
					together++
				}
			}
			if together > 1 {
				columns = append(columns, col)
			}
		}
	}
	return columns
}

// timeouts is the tool that failed runs cut off after less time than good calls take, if no timeout is recorded. Good runs without so long a
// call do not tell whether they would have been cut off.
func (c *comparison) timeouts() []*column {
	of := subject{kind: Timeout, name: c.place.Tool}
	var cut []time.Duration
	for i := range c.runs {
		if c.runs[i].told[of] {
			return nil
		}
		if d := c.runs[i].calls[c.place.Tool].timedOut; d > 0 {
			cut = append(cut, d)
		}
	}
	if len(cut) == 0 {
		return nil
	}
	slices.Sort(cut)
	limit := cut[len(cut)/2] * 6 / 5 // calls that are cut off end a little after the timeout
	col := &column{trait: trait{of, cutOff}, has: make([]bool, len(c.runs)), told: make([]bool, len(c.runs))}
	for i := range c.runs {
		times := c.runs[i].calls[c.place.Tool]
		col.has[i] = times.timedOut > 0 && times.timedOut <= limit
		col.told[i] = times.timedOut > 0 || times.longest > limit
	}
	return []*column{col}
}

// count fills in the candidate's numbers. The first runs are the failed ones.
func (col *column) count(failed int) {
	c := &col.candidate
	c.Kind, c.Key = col.kind, col.key()
	for i := range col.told {
		share := &c.Good
		if i < failed {
			share = &c.Failed
		}
		if col.told[i] {
			share.Of++
			if col.has[i] {
				share.Count++
			}
		}
	}
	col.p = math.NaN()
	fisher := stats.FisherExact(c.Failed.Count, c.Failed.Of-c.Failed.Count, c.Good.Count, c.Good.Of-c.Good.Count)
	ci := stats.NewcombeDifference(c.Good.Count, c.Good.Of, c.Failed.Count, c.Failed.Of, alpha)
	if ci == nil || fisher.Least.Value == nil || *fisher.Least.Value > alpha {
		return // whatever runs have it, it is not told from chance
	}
	c.Difference, c.CI, col.p = share(c.Failed)-share(c.Good), *ci, *fisher.TwoSided.Value
}

func share(s Share) float64 { return float64(s.Count) / float64(s.Of) }

// test corrects the p values for the number of tests. Traits that the same runs have, or all others, are one test.
func test(columns []*column) int {
	var p []float64
	index := map[string]int{}
	at := make([]int, len(columns))
	for i, col := range columns {
		if math.IsNaN(col.p) {
			continue
		}
		key := col.runs()
		n, known := index[key]
		if !known {
			n = len(p)
			index[key] = n
			p = append(p, col.p)
		}
		at[i] = n
	}
	adjusted := stats.Holm(p)
	for i, col := range columns {
		if !math.IsNaN(col.p) {
			col.candidate.PAdjusted = adjusted[at[i]]
		}
	}
	return len(p)
}

// runs names the runs that have a trait and those that do not. It is the same for a trait and its opposite.
func (col *column) runs() string {
	text := make([]byte, len(col.has))
	first := -1
	for i := range text {
		switch {
		case !col.told[i]:
			text[i] = '-'
		default:
			if first < 0 {
				first = i
			}
			text[i] = '0'
			if col.has[i] != col.has[first] {
				text[i] = '1'
			}
		}
	}
	return string(text)
}

// ordered returns columns by how strongly they separate failed runs from good ones: by the lower bound of the difference. Of those that
// move together, what an edit can change comes before what a run did, and that before labels.
func ordered(columns []*column) []*column {
	byStrength := func(a, b *column) int {
		return cmp.Or(cmp.Compare(b.candidate.CI[0], a.candidate.CI[0]), cmp.Compare(specific(a.kind), specific(b.kind)), strings.Compare(a.key(), b.key()))
	}
	slices.SortFunc(columns, byStrength)
	list := make([]*column, 0, len(columns))
	for len(columns) > 0 {
		first := columns[0]
		together, rest := []*column{first}, []*column{}
		for _, col := range columns[1:] {
			if first.candidate.Separates() && col.candidate.Separates() && agreement(first, col) >= movesTogether {
				together = append(together, col)
			} else {
				rest = append(rest, col)
			}
		}
		slices.SortStableFunc(together, func(a, b *column) int { return cmp.Compare(specific(a.kind), specific(b.kind)) })
		for _, col := range together {
			for _, other := range together {
				if other != col {
					col.with = append(col.with, other)
				}
			}
		}
		list, columns = append(list, together...), rest
	}
	slices.SortStableFunc(list, func(a, b *column) int { return cmp.Compare(separates(a), separates(b)) })
	return list
}

func separates(col *column) int {
	if col.candidate.Separates() {
		return 0
	}
	return 1
}

// specific orders kinds: what makes the agent first, then what it did, then labels.
func specific(kind Kind) int {
	return slices.Index([]Kind{
		PromptVersion, Instructions, ToolDefinition, Model, Parameter, Timeout, Retry, ToolResult, Order, Environment, AgentRelease, Release, Attribute,
	}, kind)
}

// movesTogether is the least agreement of traits that move together.
const movesTogether = 0.8

// agreement is the phi coefficient of two traits, over the runs that tell of both.
func agreement(a, b *column) float64 {
	var both, onlyA, onlyB, none float64
	for i := range a.has {
		switch {
		case !a.told[i] || !b.told[i]:
		case a.has[i] && b.has[i]:
			both++
		case a.has[i]:
			onlyA++
		case b.has[i]:
			onlyB++
		default:
			none++
		}
	}
	below := math.Sqrt((both + onlyA) * (both + onlyB) * (none + onlyA) * (none + onlyB))
	if below == 0 {
		return 0
	}
	return (both*none - onlyA*onlyB) / below
}

// number reads a whole number.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the values of timeouts are made by FormatInt
	return n
}
