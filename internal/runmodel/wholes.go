package runmodel

import "slices"

// preferWholes lets a span that sums up others count in their stead if it states more than they do together: then some of
// them were not recorded, or only in part. It does not if the difference is the cached or reasoning tokens of those below:
// then the two count differently.
func preferWholes(spans []Span, index map[uint64]int, counts []bool) {
	isSum := func(i int) bool {
		return !spans[i].isCall() && spans[i].countsAtAll() && spans[i].InputTokens != nil && spans[i].OutputTokens != nil
	}
	sums := 0
	for i := range spans {
		if isSum(i) && !counts[i] {
			sums++
		}
	}
	if sums == 0 {
		return
	}
	over := nearestAbove(spans, index, isSum)
	depths := Depths(spans)
	order := make([]int, len(spans)) // ancestors first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return depths[a] - depths[b] })
	below := make([]tokens, len(spans)) // what counts below a sum
	whole := make([]bool, len(spans))
	for _, i := range slices.Backward(order) {
		counted := below[i]
		switch own := tokensOf(&spans[i]); {
		case counts[i]:
			counted = own
		case isSum(i) && own.exceeds(counted):
			whole[i], counted = true, own
		}
		if parent := over[i]; parent >= 0 && (counts[i] || isSum(i)) {
			below[parent].add(counted)
		}
	}
	covered := make([]bool, len(spans)) // by a whole above
	for _, i := range order {
		if parent := over[i]; parent >= 0 {
			covered[i] = whole[parent] || covered[parent]
		}
		counts[i] = (counts[i] || whole[i]) && !covered[i]
	}
}

// nearestAbove returns for each span the nearest ancestor that satisfies is, -1 for none. A cycle has none.
func nearestAbove(spans []Span, index map[uint64]int, is func(int) bool) []int {
	const unknown, none = -2, -1
	above := make([]int, len(spans))
	for i := range above {
		above[i] = unknown
	}
	var path []int
	for i := range spans {
		path = path[:0]
		found := none
		for at := i; ; {
			if above[at] != unknown {
				found = above[at]
				break
			}
			above[at] = none // until it is known; in a cycle it stays
			path = append(path, at)
			parent, ok := index[spans[at].ParentSpanID]
			if !ok {
				break
			}
			if is(parent) {
				above[at] = parent
				path = path[:len(path)-1]
				found = parent
				break
			}
			at = parent
		}
		for _, at := range path {
			above[at] = found
		}
	}
	return above
}

// tokens are the tokens of some spans.
type tokens struct{ input, output, cached, reasoning int64 }

func tokensOf(s *Span) tokens {
	of := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	return tokens{of(s.InputTokens), of(s.OutputTokens), of(s.CacheReadTokens) + of(s.CacheWriteTokens), of(s.ReasoningTokens)}
}

func (t *tokens) add(other tokens) {
	t.input += other.input
	t.output += other.output
	t.cached += other.cached
	t.reasoning += other.reasoning
}

// exceeds reports whether t has tokens that the parts lack.
func (t tokens) exceeds(parts tokens) bool {
	input, output := t.input-parts.input, t.output-parts.output
	if input < 0 || output < 0 || parts == (tokens{}) {
		return false
	}
	return input > 0 && input != parts.cached || output > 0 && output != parts.reasoning
}
