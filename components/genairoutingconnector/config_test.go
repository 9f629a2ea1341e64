package genairoutingconnector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/looptrace/looptrace/components/genairoutingconnector/internal/metadata"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	conf, err := confmaptest.LoadConf("testdata/config.yaml")
	require.NoError(t, err)
	for name, problem := range map[string]string{
		"":      "",
		"spans": "",
		"unit":  "unit must be trace or span",
		"empty": "name a pipeline in genai or in other",
		"rules": "rules[0]",
	} {
		sub, err := conf.Sub(component.NewIDWithName(metadata.Type, name).String())
		require.NoError(t, err)
		cfg := createDefaultConfig()
		require.NoError(t, sub.Unmarshal(cfg))
		if err := confmap.Validate(cfg); problem == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, problem, name)
		}
	}
	assert.Equal(t, unitTrace, createDefaultConfig().(*Config).Unit)
}
