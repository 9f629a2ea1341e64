package genaisemconvprocessor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
)

// Config configures the processor.
type Config struct {
	// Rules are mappings of the operator. They run in order, before the built-in tables.
	Rules []Rule `mapstructure:"rules"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Rule sets an attribute from the first of several source attributes that has a usable value.
type Rule struct {
	// To is the key of the attribute to set. An existing value is not replaced.
	To string `mapstructure:"to"`
	// From lists the keys of the source attributes, in the order in which they are tried.
	From []string `mapstructure:"from"`
	// As is the type of the value: any (the default), string, int, double, bool, strings, json or milliseconds.
	As string `mapstructure:"as"`
	// When restricts the rule to the spans that match. The zero Condition matches every span.
	When Condition `mapstructure:"when"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Condition matches the spans for which all of its set fields match.
type Condition struct {
	// Scope is the name of the instrumentation scope, or a prefix of it with a * at the end.
	Scope string `mapstructure:"scope"`
	// Attribute is the key of an attribute that the span must have.
	Attribute string `mapstructure:"attribute"`
	// Value is the required value of Attribute, as text.
	Value string `mapstructure:"value"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{} }

// conversions are the values of Rule.As.
var conversions = []string{"any", "string", "int", "double", "bool", "strings", "json", "milliseconds"}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var errs []error
	for i := range c.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		r := &c.Rules[i]
		if r.To == "" {
			errs = append(errs, fmt.Errorf("%s.to is missing: name the attribute to set, for example gen_ai.request.model", path))
		}
		if strings.HasPrefix(r.To, "looptrace.project.") || r.To == "looptrace.received_at" {
			errs = append(errs, fmt.Errorf("%s.to: %s is set by the service only: choose another key", path, r.To))
		}
		if len(r.From) == 0 {
			errs = append(errs, fmt.Errorf("%s.from is empty: list the keys of the attributes to take the value from", path))
		}
		if slices.Contains(r.From, "") {
			errs = append(errs, fmt.Errorf("%s.from has an empty key: remove it", path))
		}
		if slices.Contains(r.From, r.To) && r.To != "" {
			errs = append(errs, fmt.Errorf("%s.from names %s, which is also in to: an existing value is kept anyway, remove it", path, r.To))
		}
		if r.As != "" && !slices.Contains(conversions, r.As) {
			errs = append(errs, fmt.Errorf("%s.as is %q: use one of %s", path, r.As, strings.Join(conversions, ", ")))
		}
		if r.When.Value != "" && r.When.Attribute == "" {
			errs = append(errs, fmt.Errorf("%s.when.value has no when.attribute: name the attribute that must have the value", path))
		}
		if star := strings.IndexByte(r.When.Scope, '*'); star >= 0 && star != len(r.When.Scope)-1 {
			errs = append(errs, fmt.Errorf("%s.when.scope is %q: a * is allowed at the end only", path, r.When.Scope))
		}
	}
	return errors.Join(errs...)
}
