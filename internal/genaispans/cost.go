package genaispans

import "strconv"

// offerCost offers the cost in a JSON object: its total, else the sum of its parts. Costs of a call that lack those of
// a side with tokens are no cost. isCost tells that all members are costs, else those are whose names say so. apart
// tells that the parts do not overlap.
func (x *span) offerCost(id dialectID, o object, source string, isCost, apart bool) {
	var sides [bucketCount]struct {
		whole, parts float64
		has          bool
	}
	for _, m := range o {
		cost, ok := parseNumber(m.value)
		if !ok || cost < 0 {
			continue
		}
		is, plain := sideOf(m.key, isCost)
		side := &sides[is]
		side.has = true
		if plain {
			side.whole = max(side.whole, cost) // a detail may be named after its side
		} else {
			side.parts += cost
		}
	}
	if sides[allTokens].has {
		x.offer(toCost, id, fromText, formatCost(sides[allTokens].whole), source)
		return
	}
	input, _ := x.count(toInputTokens)
	output, _ := x.count(toOutputTokens)
	if input > 0 && !sides[inputTokens].has || output > 0 && !sides[outputTokens].has {
		return
	}
	sum, found := 0.0, false
	for _, is := range [...]bucket{inputTokens, outputTokens, inputPart} {
		found = found || sides[is].has
		if sum += sides[is].whole; apart || sides[is].whole == 0 {
			sum += sides[is].parts
		}
	}
	if found {
		x.offer(toCost, id, fromText, formatCost(sum), source)
	}
}

// sideOf returns which side of a call a cost is for: allTokens for a total, inputTokens, outputTokens, or inputPart for
// anything else that is paid for, such as a search. plain is true for the cost of a whole side.
func sideOf(name string, isCost bool) (is bucket, plain bool) {
	var has words
	for word := range wordsOf(name) {
		if word == "cost" || word == "costs" {
			isCost = true
			continue
		}
		has |= meaningOf(word)
	}
	plain = has&^(wordInput|wordOutput|wordTotal|wordTokens) == 0
	switch {
	case !isCost, has&wordNot != 0:
		return noTokens, plain
	case has&wordInput != 0, has&(wordCache|wordCached) != 0:
		return inputTokens, plain
	case has&(wordOutput|wordReasoning) != 0:
		return outputTokens, plain
	case plain:
		return allTokens, true
	}
	return inputPart, false
}

func formatCost(usd float64) string { return strconv.FormatFloat(usd, 'g', -1, 64) }

// zeroIsNoPrice drops a cost of 0, which some clients write if they have no price of the model.
func zeroIsNoPrice(x *span) {
	if cost, ok := x.number(toCost); ok && cost == 0 {
		x.best[toCost] = candidate{}
	}
}
