package genaisemconvprocessor

import (
	"go.opentelemetry.io/collector/component"

	"github.com/looptrace/looptrace/internal/genaispans"
)

// Config configures the processor.
type Config struct {
	// Rules are mappings of the operator. They run in order, before the built-in tables.
	Rules []genaispans.Rule `mapstructure:"rules"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{} }

// Validate reports all problems at once.
func (c *Config) Validate() error { return genaispans.ValidateRules(c.Rules) }
