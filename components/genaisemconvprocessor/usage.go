package genaisemconvprocessor

import "go.opentelemetry.io/collector/pdata/pcommon"

// keyUsageConvention says how the input tokens were sent if they were converted: "exclusive" means without cached
// ones.
const keyUsageConvention = "looptrace.usage.convention"

// applyUsage makes input tokens include cached tokens, and output tokens include reasoning tokens, as the conventions
// require. The total shows how they were sent; without a total, cached tokens that exceed the input do; else the
// dialect decides.
func (x *span) applyUsage() {
	input, hasInput := x.count(toInputTokens)
	output, hasOutput := x.count(toOutputTokens)
	read, _ := x.count(toCacheReadTokens)
	written, _ := x.count(toCacheWriteTokens)
	reasoning, _ := x.count(toReasoningTokens)
	total, hasTotal := x.count(toTotalTokens)
	if !hasInput && hasTotal && !hasOutput && x.isCall() {
		x.best[toInputTokens] = x.best[toTotalTokens] // embeddings have a total only
		x.best[toInputTokens].as = asCount
	}
	cached := read + written
	if hasInput && cached > 0 && x.isExclusive(input, output, cached, total, hasTotal && hasOutput) {
		x.setCount(toInputTokens, input+cached)
		x.putOwnString(ownUsageConvention, "exclusive")
		input += cached
	}
	if hasOutput && hasInput && hasTotal && reasoning > 0 && total == input+output+reasoning {
		x.setCount(toOutputTokens, output+reasoning)
	}
}

func (x *span) isExclusive(input, output, cached, total int64, hasTotal bool) bool {
	switch {
	case hasTotal && total == input+output:
		return x.exclusive && input < cached && total < cached
	case hasTotal && total == input+cached+output:
		return true
	case cached > input:
		return true
	}
	return x.exclusive
}

// setCount replaces a candidate by a number.
func (x *span) setCount(to target, n int64) {
	v := pcommon.NewValueInt(n)
	x.best[to].value, x.best[to].kind = v, fromAttribute
}
