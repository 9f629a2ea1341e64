package conformance

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// unsaid are the members of provider's types that messages leave out: they say how something was sent, and not what.
var unsaid = []string{
	"id", "logprobs", "namespace", "toolset_name", "prompt_cache_breakpoint", "cache_control", "acknowledged_safety_checks", "pending_safety_checks",
	"displayName", "scheduling", "partialArgs", "container_id",
}

// TestItemTypes feeds every message, item and part that the type definitions of provider SDKs have (record/itemtypes.py). Nothing
// that they say may vanish, and what the model or a tool said may not become the user's.
func TestItemTypes(t *testing.T) {
	t.Parallel()
	var types struct {
		Samples map[string][]map[string]any `json:"samples"`
	}
	readJSON(t, filepath.Join("testdata", "item-types.json"), &types)
	require.Greater(t, len(types.Samples), 70)
	for _, name := range slices.Sorted(maps.Keys(types.Samples)) {
		messages := types.Samples[name]
		text, err := json.Marshal(messages)
		require.NoError(t, err)
		received, read := receive(t, callWith(string(text)))
		spans := allSpans(received, read)
		require.Len(t, spans, 1)
		got, _ := spans[0].contents.messages(spans[0].InputMessageIDs).([]any)
		all := plainJSON(t, got)
		for _, said := range textsOf(messages[len(messages)-1], nil) {
			assert.Contains(t, all, said, "%s: %s became %s", name, text, all)
		}
		if item := messages[len(messages)-1]; item["type"] != nil && item["role"] == nil {
			for _, message := range got {
				if message.(map[string]any)["role"] == "user" {
					assert.Contains(t, plainJSON(t, message), "before", "%s became the user's: %s", name, all)
				}
			}
		}
	}
}

// callWith returns a call of a model with input messages.
func callWith(messages string) payload {
	p := payload{traces: ptrace.NewTraces(), logs: plog.Logs{}}
	ss := p.traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName("langfuse-sdk")
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{1})
	s.SetStartTimestamp(1_795_860_000_000_000_000)
	s.Attributes().PutStr("langfuse.observation.type", "generation")
	s.Attributes().PutStr("langfuse.observation.input", messages)
	return p
}

// textsOf returns the texts of a sample, but for those of members that are unsaid.
func textsOf(value any, texts []string) []string {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "text-") {
			texts = append(texts, value)
		}
	case []any:
		for _, element := range value {
			texts = textsOf(element, texts)
		}
	case map[string]any:
		for key, inner := range value {
			if !slices.Contains(unsaid, key) {
				texts = textsOf(inner, texts)
			}
		}
	}
	return texts
}
