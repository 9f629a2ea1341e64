package runmodel

import (
	"math"
	"strings"
)

// Limits of what a span may report and of a run's totals: 2^53 tokens and a trillion dollars. They keep every sum
// within the numbers that JSON and its readers support.
const (
	MaxTokens  = 1 << 53
	MaxCostUSD = 1e12
)

// MaxTimestamp is the end of 2261, the last whole year that nanoseconds in 64 bits can name.
const MaxTimestamp = 9_214_646_399_999_999_999

// Limits for attributes of any convention whose name says that they count tokens or cost. They are wider, because a
// name proves little. A time in nanoseconds is below both.
const (
	maxNamedTokens = 1 << 62
	maxNamedCost   = 1e20
)

// Bound returns the largest number that a span's attribute may have. It is +Inf for attributes that are neither token
// counts nor costs.
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

// RoundUp converts n for a comparison with Bound. A plain conversion would round 2^53 + 1 down.
func RoundUp(n int64) float64 {
	number := float64(n)
	if n > MaxTokens && int64(number) < n {
		return math.Nextafter(number, math.Inf(1))
	}
	return number
}

// MayExceed reports whether a number can exceed any Bound. It saves looking up the attribute's name.
func MayExceed(number float64) bool { return number > MaxCostUSD }
