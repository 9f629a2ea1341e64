package instrument

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecipes(t *testing.T) {
	t.Parallel()
	list, err := readRecipes()
	require.NoError(t, err)
	assert.Len(t, list, len(packagesOf), "every named package belongs to a page")
	for _, r := range list {
		assert.Contains(t, []string{Python, JavaScript, Go, Java, Any}, r.Language, r.ID)
		assert.Contains(t, r.Run, r.File[:strings.Index(r.File, ".")], r.ID)
		assert.NotContains(t, r.Notes, "```", r.ID)
		assert.NotContains(t, r.Code, "lt_", r.ID)
	}
}

func TestGuide(t *testing.T) {
	t.Parallel()
	guides, err := New()
	require.NoError(t, err)
	const address = "https://trace.example.com"
	for _, c := range []struct{ language, framework, recipe string }{
		{"", "", ""},
		{"python", "", "opentelemetry-python"},
		{"javascript", "", "opentelemetry-node"},
		{"typescript", "", "opentelemetry-node"},
		{"go", "", "opentelemetry-go"},
		{"java", "", "opentelemetry-java"},
		{"", "java", "opentelemetry-java"},
		{"", "python", "opentelemetry-python"},
		{"", "langgraph", "langgraph"},
		{"python", "haystack-ai", "haystack"},
		{"javascript", "ai", "vercel-ai"},
		{"", "openai", "openai"},
		{"", "instructor", "openai"},
		{"python", "langchain-openai", "langchain"},
		{"javascript", "@langchain/openai", "langchain-js"},
		{"typescript", "langchain", "langchain-js"},
		{"", "langchain", "langchain"},
		{"", "ag2", "ag2"},
		{"", "autogen-agentchat", "autogen"},
		{"", "semantic-kernel", "semantic-kernel"},
		{"", "mastra", "mastra"},
		{"java", "com.openai:openai-java", "opentelemetry-java"},
		{"go", "opentelemetry-collector", "opentelemetry-collector"},
	} {
		guide, err := guides.Guide(address, c.language, c.framework, uuid.New())
		require.NoError(t, err)
		if c.recipe == "" {
			assert.Nil(t, guide.Recipe)
			assert.Len(t, guide.Frameworks, len(packagesOf))
			continue
		}
		require.NotNil(t, guide.Recipe)
		assert.Equal(t, c.recipe, guide.Recipe.ID)
	}
	for _, c := range [][2]string{{"", "cobol"}, {"go", "langgraph"}} {
		_, err := guides.Guide(address, c[0], c[1], uuid.New())
		require.ErrorIs(t, err, ErrUnknownFramework)
	}
}

func TestVariablesOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	guides, err := New()
	require.NoError(t, err)
	for language, capture := range map[string]string{"": "span_only", "python": "span_only", "java": "true", "typescript": "true"} {
		guide, err := guides.Guide("https://trace.example.com", language, "", uuid.New())
		require.NoError(t, err)
		variables := map[string]string{}
		for _, v := range guide.OTLP {
			variables[v.Name] = v.Value
		}
		assert.Equal(t, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "https://trace.example.com", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=" + KeyPlaceholder,
			"OTEL_TRACES_EXPORTER":       "otlp", "OTEL_LOGS_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "none",
			"OTEL_SEMCONV_STABILITY_OPT_IN":                      "gen_ai_latest_experimental",
			"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": capture,
		}, variables, language)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	guides, err := New()
	require.NoError(t, err)
	text, err := guides.Text("https://trace.example.com", uuid.New())
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(text, "# Looptrace\n\n> "))
	for id := range packagesOf {
		assert.Contains(t, text, "\n"+id+": ")
	}
	assert.Contains(t, text, "export LOOPTRACE_ENDPOINT=https://trace.example.com\n")
	assert.Equal(t, strings.Count(text, "lt_"), strings.Count(text, KeyPlaceholder), "no key except the placeholder")
	assert.Zero(t, strings.Count(text, "```")%2)
	assert.NotContains(t, text, "%!")
}

func TestValidEndpoint(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1:7090": "http://127.0.0.1:7090", "https://trace.example.com/": "https://trace.example.com",
		"http://[::1]:7090": "http://[::1]:7090", "https://example.com/looptrace/": "https://example.com/looptrace",
	} {
		got, ok := ValidEndpoint(address)
		assert.True(t, ok, address)
		assert.Equal(t, want, got)
	}
	for _, address := range []string{
		"", "trace.example.com", "ftp://x", "http://", "http://a b", "http://$(id)", "http://x/;id", "http://`id`", "http://u:p@x", "http://x'", "http://x?a", "http://x/$HOME",
	} {
		_, ok := ValidEndpoint(address)
		assert.False(t, ok, address)
	}
}
