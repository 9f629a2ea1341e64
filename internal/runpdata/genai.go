package runpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// IsGenAI reports whether a span with these attributes is GenAI once it is a row (runmodel.Span.IsGenAI). It reads contents
// only if nothing else decides, and allocates nothing if no attribute can.
func IsGenAI(attributes pcommon.Map) bool {
	return isGenAIBy(attributes, isStatement) || isGenAIBy(attributes, isContent)
}

// isGenAIBy is IsGenAI of the attributes whose keys match. That of a row is true if any of its fields is, so it may be asked
// in parts.
func isGenAIBy(attributes pcommon.Map, match func(key string) bool) bool {
	var s *runmodel.Span
	var r *Rows
	for key, value := range attributes.All() {
		if !match(key) {
			continue
		}
		if s == nil {
			s, r = new(runmodel.Span), new(Rows)
		}
		r.setField(s, key, value)
	}
	return s != nil && s.IsGenAI()
}

func isStatement(key string) bool {
	switch key {
	case runmodel.KeyRun, runmodel.KeyKind, runmodel.KeyOperationName,
		runmodel.KeyInputTokens, runmodel.KeyOutputTokens, runmodel.KeyCacheReadTokens,
		runmodel.KeyCacheWriteTokens, runmodel.KeyReasoningTokens, runmodel.KeyOtherTokens:
		return true
	}
	return false
}

func isContent(key string) bool {
	switch key {
	case runmodel.KeyInputMessages, runmodel.KeyOutputMessages, runmodel.KeySystemInstructions, runmodel.KeyToolDefinitions:
		return true
	}
	return false
}
