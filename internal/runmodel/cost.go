package runmodel

import "strconv"

// Attributes of a span's cost, beside KeyCostUSD.
const (
	// KeyCostSource says where the cost comes from: CostSent or CostComputed.
	KeyCostSource = "looptrace.cost_source"
	// KeyPriceVersion names the prices that a computed cost was computed by: the day of the price table, or
	// `project:` and the revision of a project's own price.
	KeyPriceVersion = "looptrace.price_version"
)

// Where a cost comes from, as the API names it.
const (
	CostSent     = "sent"
	CostComputed = "computed"
	// CostWithdrawn stands in a version of a span that takes a computed cost back, since no price is known any more. It
	// is never what a folded span says.
	CostWithdrawn = "withdrawn"
)

// RoundUSD rounds a sum of costs to so many significant digits. Of the 17 with which a float64 is written each addition spoils
// the last: 24 times 0.00035 would be told as 0.008399999999999996. 15 are all that it holds of any decimal number.
func RoundUSD(sum float64, digits int) float64 {
	// It cannot fail: what is parsed was just formatted. Of so few digits the nearest float64 is written with them again.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sum, 'e', digits-1, 64), 64)
	return rounded
}

// overlayCost lays the cost of a newer version over s. A cost, its source and its prices go together, and a computed
// cost, or that there is none, never replaces one that the client sent.
func (s *Span) overlayCost(v *Span) {
	switch {
	case s.CostSource == CostSent && v.CostSource != CostSent:
	case v.CostSource == CostWithdrawn:
		s.CostUSD, s.CostSource, s.PriceVersion = nil, CostWithdrawn, ""
	case v.CostUSD != nil:
		s.CostUSD, s.CostSource, s.PriceVersion = v.CostUSD, v.CostSource, v.PriceVersion
	}
}

// dropWithdrawn ends the fold of a cost: that it was taken back is only of interest to what is laid over.
func (s *Span) dropWithdrawn() {
	if s.CostSource == CostWithdrawn {
		s.CostUSD, s.CostSource, s.PriceVersion = nil, "", ""
	}
}

// CountsCost tells for each folded span of a run whether its cost counts towards the run's, given what CountsUsage says of
// them. A computed cost is the price of the span's tokens, so it counts where they do. A cost that the client sent may
// stand on other spans than the tokens, and is counted by the same rule among the spans that carry a cost.
func CountsCost(spans []Span, countsUsage []bool) []bool {
	return counted(spans, func(i int) bool {
		return spans[i].CostUSD != nil && (spans[i].CostSource == CostSent || countsUsage[i])
	})
}

// Unpriced counts the folded spans of a run whose tokens count and whose cost nothing states, neither they nor what lies
// above or beneath them: the run's cost leaves them out. The arguments are what CountsUsage and CountsCost say.
func Unpriced(spans []Span, countsUsage, countsCost []bool) (n uint64) {
	var index map[uint64]int
	var covers, covered []bool // a counted cost lies beneath, or above
	for i := range spans {
		if !countsUsage[i] || spans[i].CostUSD != nil || !spans[i].hasTokens() {
			continue
		}
		if index == nil { // most runs have none
			index = indexOf(spans)
			covers, covered = aboveCosts(spans, index, countsCost), belowCosts(spans, index, countsCost)
		}
		if !covers[i] && !covered[i] {
			n++
		}
	}
	return n
}

// aboveCosts tells which spans have a counted cost beneath them.
func aboveCosts(spans []Span, index map[uint64]int, countsCost []bool) []bool {
	above := make([]bool, len(spans))
	for i := range spans {
		if !countsCost[i] {
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
			if known[at] { // in a circle it is one of the path
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
	for _, n := range [...]*int64{s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}
