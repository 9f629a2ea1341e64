package runmodel

import (
	"math"
	"strings"
)

// Bounds of what a span may state and of what a run adds up to, so that no sum leaves the numbers that JSON and its readers
// have: 2^53 tokens, a trillion dollars.
const (
	MaxTokens  = 1 << 53
	MaxCostUSD = 1e12
)

// MaxTimestamp is the end of 2261, the last whole year that nanoseconds in 64 bits can name.
const MaxTimestamp = 9_214_646_399_999_999_999

// Bounds of attributes that are counts of tokens or costs by their names, in whatever convention. They are wider: a name says
// less, and a time in nanoseconds is below both.
const (
	maxNamedTokens = 1 << 62
	maxNamedCost   = 1e20
)

// Bound is the greatest number that an attribute of a span may have; those that are no count of tokens and no cost have none.
func Bound(key string) float64 {
	switch key {
	case KeyInputTokens, KeyOutputTokens, KeyCacheReadTokens, KeyCacheWriteTokens, KeyReasoningTokens:
		return MaxTokens
	case KeyCostUSD:
		return MaxCostUSD
	}
	switch key = strings.ToLower(key); {
	case strings.Contains(key, "token"):
		return math.Nextafter(maxNamedTokens, 0)
	case strings.Contains(key, "cost"):
		return math.Nextafter(maxNamedCost, 0)
	}
	return math.Inf(1)
}

// RoundUp is a whole number as one that Bound can be compared with: float64 rounds 2^53 + 1 down.
func RoundUp(n int64) float64 {
	number := float64(n)
	if n > MaxTokens && int64(number) < n {
		return math.Nextafter(number, math.Inf(1))
	}
	return number
}

// MayExceed tells whether a number may be over the bound of some attribute.
func MayExceed(number float64) bool { return number > MaxCostUSD }
