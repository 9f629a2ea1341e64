package genaisemconvprocessor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
)

// Config is what an operator sets.
type Config struct {
	// Rules are mappings of the operator's own. They run before the tables, in their order.
	Rules []Rule `mapstructure:"rules"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Rule sets an attribute from the first of other attributes that has a usable value.
type Rule struct {
	// To is the key of the attribute that is set. What it has already is not replaced.
	To string `mapstructure:"to"`
	// From are the keys of attributes, in the order in which they are tried.
	From []string `mapstructure:"from"`
	// As is how the value is read: any (by default), string, int, double, bool, strings, json or milliseconds.
	As string `mapstructure:"as"`
	// When says which spans the rule is for; without it, for all.
	When Condition `mapstructure:"when"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Condition is met by a span for which everything in it is true.
type Condition struct {
	// Scope is the name of the instrumentation scope; with a * at the end, its beginning.
	Scope string `mapstructure:"scope"`
	// Attribute is the key of an attribute that the span must have.
	Attribute string `mapstructure:"attribute"`
	// Value is the value, as text, that the attribute must have.
	Value string `mapstructure:"value"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{} }

// conversions are the values of Rule.As.
var conversions = []string{"any", "string", "int", "double", "bool", "strings", "json", "milliseconds"}

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var errs []error
	for i := range c.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		r := &c.Rules[i]
		if r.To == "" {
			errs = append(errs, fmt.Errorf("%s.to is missing: name the attribute to set, for example gen_ai.request.model", path))
		}
		if strings.HasPrefix(r.To, "looptrace.project.") || r.To == "looptrace.received_at" {
			errs = append(errs, fmt.Errorf("%s.to: %s is set by the service alone: choose another key", path, r.To))
		}
		if len(r.From) == 0 {
			errs = append(errs, fmt.Errorf("%s.from is empty: list the keys of the attributes to take the value from", path))
		}
		if slices.Contains(r.From, "") {
			errs = append(errs, fmt.Errorf("%s.from has an empty key: remove it", path))
		}
		if slices.Contains(r.From, r.To) && r.To != "" {
			errs = append(errs, fmt.Errorf("%s.from names %s, which is also in to: what is there already is kept anyway, remove it", path, r.To))
		}
		if r.As != "" && !slices.Contains(conversions, r.As) {
			errs = append(errs, fmt.Errorf("%s.as is %q: use one of %s", path, r.As, strings.Join(conversions, ", ")))
		}
		if r.When.Value != "" && r.When.Attribute == "" {
			errs = append(errs, fmt.Errorf("%s.when.value stands without when.attribute: name the attribute that must have the value", path))
		}
		if star := strings.IndexByte(r.When.Scope, '*'); star >= 0 && star != len(r.When.Scope)-1 {
			errs = append(errs, fmt.Errorf("%s.when.scope is %q: a * may stand at the end only", path, r.When.Scope))
		}
	}
	return errors.Join(errs...)
}
