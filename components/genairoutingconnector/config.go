package genairoutingconnector

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/looptrace/looptrace/internal/genaispans"
)

// Units of what is sent on together.
const (
	unitTrace = "trace"
	unitSpan  = "span"
)

// Config is the connector's configuration.
type Config struct {
	// Unit is what goes to one route: `trace`, the spans of a trace that arrive in one batch, or `span`, each by itself.
	Unit string `mapstructure:"unit"`

	// GenAI are the pipelines of GenAI spans, and of traces that have one. If it is empty, these are dropped.
	GenAI []pipeline.ID `mapstructure:"genai"`

	// Other are the pipelines of all others. If it is empty, these are dropped.
	Other []pipeline.ID `mapstructure:"other"`

	// Rules are the rules of the genaisemconv processor, if it has any: they decide what is GenAI, too.
	Rules []genaispans.Rule `mapstructure:"rules"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{Unit: unitTrace} }

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Unit != unitTrace && c.Unit != unitSpan {
		errs = append(errs, fmt.Errorf("unit must be trace or span, not %q", c.Unit))
	}
	if len(c.GenAI) == 0 && len(c.Other) == 0 {
		errs = append(errs, errors.New("name a pipeline in genai or in other: without one everything is dropped"))
	}
	return errors.Join(append(errs, genaispans.ValidateRules(c.Rules))...)
}
