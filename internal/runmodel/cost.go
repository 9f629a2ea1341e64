package runmodel

import (
	"cmp"
	"math"
	"strconv"
)

// Attributes of a span's cost, beside KeyCostUSD.
const (
	// KeyCostSource says where the cost comes from: CostSent or CostComputed.
	KeyCostSource = "looptrace.cost_source"
	// KeyPriceVersion names the prices that a cost was computed with: the day of the price table, or `project:` and
	// the revision of the project's own price.
	KeyPriceVersion = "looptrace.price_version"
	// KeyComputedCostUSD is what the tokens of a call cost by the prices, where the client sent another cost.
	KeyComputedCostUSD = "looptrace.computed_cost_usd"
)

// Where a cost comes from, as the API names it.
const (
	CostSent     = "sent"
	CostComputed = "computed"
	// CostWithdrawn marks a version of a span that revokes a computed cost because no price is known any more. A
	// folded span never has it.
	CostWithdrawn = "withdrawn"
)

// CostsDiffer reports whether two costs of a call differ by more than rounding: by more than a hundredth, and more than a
// millionth of a dollar.
func CostsDiffer(a, b float64) bool {
	const most, least = 0.01, 1e-6
	return math.Abs(a-b) > max(most*max(a, b), least)
}

// RoundUSD rounds a sum of costs to some significant digits. A float64 prints 17, and each addition makes the last
// ones wrong: 24 times 0.00035 prints as 0.008399999999999996. 15 digits are always exact.
func RoundUSD(sum float64, digits int) float64 {
	// It cannot fail: the text was just formatted.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sum, 'e', digits-1, 64), 64)
	return rounded
}

// overlayCost applies the cost of a newer version to s. A cost, its source and its price version stay together. A
// computed or withdrawn cost never replaces one that the client sent.
func (s *Span) overlayCost(v *Span) {
	switch {
	case s.CostSource == CostSent && v.CostSource != CostSent:
	case v.CostSource == CostWithdrawn:
		s.CostUSD, s.CostSource, s.PriceVersion = nil, CostWithdrawn, ""
	case v.CostUSD != nil:
		s.CostUSD, s.CostSource, s.PriceVersion = v.CostUSD, v.CostSource, v.PriceVersion
	}
}

// dropWithdrawn clears the mark of a revoked cost, which only matters while versions are folded.
func (s *Span) dropWithdrawn() {
	if s.CostSource == CostWithdrawn {
		s.CostUSD, s.CostSource, s.PriceVersion = nil, "", ""
	}
}

// CountsCost reports for each folded span of a run whether its cost counts towards the run's. countsUsage is the
// result of CountsUsage. A computed cost counts where the span's tokens do, since it is their price, or on a span that sums
// up calls of which none names its model. A cost that the client sent may be on other spans than the tokens, so the same
// rule is applied to the spans that have a cost.
func CountsCost(spans []Span, countsUsage []bool) []bool {
	return countsCost(spans, indexOf(spans), countsUsage)
}

func countsCost(spans []Span, index map[uint64]int, countsUsage []bool) []bool {
	var unnamed, named []bool // whether counted calls without a model are below, and with one
	return counted(spans, index, func(i int) bool {
		s := &spans[i]
		if s.CostUSD == nil || s.CostSource == CostSent || countsUsage[i] || s.isCall() {
			return s.CostUSD != nil && (s.CostSource == CostSent || countsUsage[i])
		}
		if unnamed == nil {
			model := func(i int) string { return cmp.Or(spans[i].ResponseModel, spans[i].RequestModel) }
			unnamed = above(spans, index, func(i int) bool { return countsUsage[i] && model(i) == "" })
			named = above(spans, index, func(i int) bool { return countsUsage[i] && model(i) != "" })
		}
		return unnamed[i] && !named[i]
	})
}

// Unpriced counts the folded spans of a run whose tokens count, but whose cost is not known: neither they nor any
// span above or below them state one. The run's cost leaves them out. The arguments are the results of CountsUsage
// and CountsCost.
func Unpriced(spans []Span, countsUsage, countsCost []bool) (n uint64) {
	var index map[uint64]int
	var covers, covered []bool // a counted cost is below, or above
	for i := range spans {
		if !countsUsage[i] || spans[i].CostUSD != nil || !spans[i].hasTokens() {
			continue
		}
		if index == nil { // most runs have none
			index = indexOf(spans)
			covers, covered = above(spans, index, func(i int) bool { return countsCost[i] }), belowCosts(spans, index, countsCost)
		}
		if !covers[i] && !covered[i] {
			n++
		}
	}
	return n
}

// above reports which spans have a span below them that satisfies is.
func above(spans []Span, index map[uint64]int, is func(int) bool) []bool {
	above := make([]bool, len(spans))
	for i := range spans {
		if !is(i) {
			continue
		}
		for at := i; ; {
			parent, ok := index[spans[at].ParentSpanID]
			if !ok || above[parent] {
				break
			}
			above[parent] = true
			at = parent
		}
	}
	return above
}

// belowCosts tells which spans have a counted cost above them.
func belowCosts(spans []Span, index map[uint64]int, countsCost []bool) []bool {
	below, known := make([]bool, len(spans)), make([]bool, len(spans))
	var path []int
	for i := range spans {
		path = path[:0]
		found := false
		for at := i; ; {
			if known[at] { // or part of a cycle
				found = below[at]
				break
			}
			known[at] = true
			path = append(path, at)
			parent, ok := index[spans[at].ParentSpanID]
			if !ok {
				break
			}
			if countsCost[parent] {
				found = true
				break
			}
			at = parent
		}
		for _, at := range path {
			below[at] = found
		}
	}
	return below
}

func (s *Span) hasTokens() bool {
	for _, n := range [...]*int64{s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens, s.OtherTokens} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}
