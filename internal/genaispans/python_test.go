package genaispans

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParsePython(t *testing.T) {
	t.Parallel()
	usage, ok := parsePython(`{'prompt_tokens': 1213, 'cached': None, 'final': True, "it's": 'a "word"', 'details': {'cached_tokens': 1024, 'audio': [1, 2.5e3]}}`)
	assert.True(t, ok)
	assert.Equal(t, "1213", usage.get("prompt_tokens"))
	assert.Empty(t, usage.get("cached"))
	assert.Equal(t, "true", usage.get("final"))
	assert.Equal(t, `a "word"`, usage.str("it's"))
	assert.Equal(t, "1024", usage.at("details").get("cached_tokens"))
	assert.Equal(t, "[1,2.5e3]", strings.ReplaceAll(usage.at("details").get("audio"), " ", ""))

	for _, text := range []string{
		"", "{", "{'", "{'a'", "{'a': '", `{'a': 'b\'c'}`, "{'a': Choice(id='x')}", "{'a': 1, }", `{"a": 1}`, "{'a': \xff}",
		"{'a': " + strings.Repeat("[", 10_000), "[{'a': 1}]", "{'a': nan}",
	} {
		_, ok := parsePython(text)
		assert.False(t, ok, text)
	}
}
