package runmodel

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRestoreAttributes(t *testing.T) {
	t.Parallel()
	span := Span{
		RequestModel: "gpt-5", ResponseModel: "gpt-5-2025", InputTokens: new(int64(9)), Dialect: "otel-genai", ErrorMessage: "no answer",
		Attributes: map[string]string{
			"plain": "text", "gen_ai.output.type": "text", KeyOriginalPrefix + KeyProviderName: "langchain",
			KeyAdded: KeyResponseModel + " gen_ai.output.type " + KeyDialect,
		},
		AttributesJSON: map[string]string{KeyOriginalPrefix + KeyInputTokens: "4"},
	}
	assert.Equal(t, map[string]any{
		"plain": "text", KeyRequestModel: "gpt-5", KeyInputTokens: json.RawMessage("4"), KeyProviderName: "langchain",
	}, span.RestoreAttributes())
}

// An attribute that any version of a span received is no added one, in any order of the versions.
func TestAddedOfVersions(t *testing.T) {
	t.Parallel()
	version := func(n uint64, span Span, added string) Span {
		span.SpanID, span.Version = 1, n
		if added != "" {
			span.Attributes = map[string]string{KeyAdded: added}
		}
		return span
	}
	for name, test := range map[string]struct {
		versions []Span
		want     map[string]any
	}{
		"added by both":              {[]Span{version(1, Span{AgentName: "a"}, KeyAgentName), version(2, Span{AgentName: "a"}, KeyAgentName)}, map[string]any{}},
		"different ones":             {[]Span{version(1, Span{AgentName: "a"}, KeyAgentName), version(2, Span{ToolName: "t"}, KeyToolName)}, map[string]any{}},
		"received later":             {[]Span{version(1, Span{AgentName: "a"}, KeyAgentName), version(2, Span{AgentName: "b"}, "")}, map[string]any{KeyAgentName: "b"}},
		"received before":            {[]Span{version(1, Span{AgentName: "a"}, ""), version(2, Span{AgentName: "b"}, KeyAgentName)}, map[string]any{KeyAgentName: "b"}},
		"a version without any":      {[]Span{version(1, Span{AgentName: "a"}, KeyAgentName), version(2, Span{}, "")}, map[string]any{}},
		"received, then others only": {[]Span{version(1, Span{AgentName: "a"}, ""), version(2, Span{ToolName: "t"}, KeyToolName)}, map[string]any{KeyAgentName: "a"}},
	} {
		folded := Fold(test.versions)
		require.Len(t, folded, 1, name)
		assert.Equal(t, test.want, folded[0].RestoreAttributes(), name)
		log := test.versions[1]
		log.FromLog = true
		folded = Fold([]Span{test.versions[0], log})
		require.Len(t, folded, 1, name)
		assert.Len(t, folded[0].RestoreAttributes(), len(test.want), "%s, from a log", name)
	}
}
