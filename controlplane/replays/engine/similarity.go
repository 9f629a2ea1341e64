package engine

import (
	"encoding/json"
	"strings"
)

// mostRunes is the longest text that is compared rune by rune. Longer ones are compared by their words.
const mostRunes = 512

// similarity returns how similar two texts of arguments are, from 0 to 1.
func similarity(a, b string) float64 {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return textSimilarity(a, b)
	}
	return valueSimilarity(x, y)
}

// valueSimilarity is the mean over the members of both values.
func valueSimilarity(a, b any) float64 {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return 0
		}
		sum, n := 0., len(x)
		for name, value := range x {
			if other, ok := y[name]; ok {
				sum += valueSimilarity(value, other)
			}
		}
		for name := range y {
			if _, ok := x[name]; !ok {
				n++
			}
		}
		if n == 0 {
			return 1
		}
		return sum / float64(n)
	case []any:
		y, ok := b.([]any)
		if !ok {
			return 0
		}
		n := max(len(x), len(y))
		if n == 0 {
			return 1
		}
		sum := 0.
		for i := range min(len(x), len(y)) {
			sum += valueSimilarity(x[i], y[i])
		}
		return sum / float64(n)
	case string:
		if y, ok := b.(string); ok {
			return textSimilarity(x, y)
		}
		return 0
	}
	if a == b {
		return 1
	}
	return 0
}

func textSimilarity(a, b string) float64 {
	if a == b {
		return 1
	}
	x, y := []rune(a), []rune(b)
	if len(x) > mostRunes || len(y) > mostRunes {
		return wordSimilarity(a, b)
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			cost := before
			if x[i] != y[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return 1 - float64(row[len(y)])/float64(max(len(x), len(y)))
}

// wordSimilarity is the share of words that both texts have.
func wordSimilarity(a, b string) float64 {
	words := map[string]int{}
	for _, word := range strings.Fields(a) {
		words[word] |= 1
	}
	for _, word := range strings.Fields(b) {
		words[word] |= 2
	}
	both := 0
	for _, in := range words {
		if in == 3 {
			both++
		}
	}
	if len(words) == 0 {
		return 0
	}
	return float64(both) / float64(len(words))
}
