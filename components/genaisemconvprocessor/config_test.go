package genaisemconvprocessor

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	load := func(name string) (*Config, error) {
		sub, err := conf.Sub(name)
		require.NoError(t, err)
		cfg := createDefaultConfig().(*Config)
		if err := sub.Unmarshal(cfg); err != nil {
			return nil, err
		}
		return cfg, cfg.Validate()
	}
	cfg, err := load("genaisemconv/default")
	require.NoError(t, err)
	assert.Empty(t, cfg.Rules)

	cfg, err = load("genaisemconv/rules")
	require.NoError(t, err)
	assert.Equal(t, "gen_ai.request.model", cfg.Rules[0].To)
	assert.Equal(t, "acme.*", cfg.Rules[0].When.Scope)

	_, err = load("genaisemconv/wrong")
	for _, problem := range []string{
		"rules[0].to is missing", "rules[0].from has an empty key", `rules[0].as is "number": use one of any, string`,
		"rules[0].when.value has no when.attribute", `rules[0].when.scope is "a*b"`,
		"rules[1].to: looptrace.project.id is set by the service only", "rules[1].from is empty",
	} {
		require.ErrorContains(t, err, problem)
	}
	_, err = load("genaisemconv/unknown_field")
	require.ErrorContains(t, err, "rule")
}
