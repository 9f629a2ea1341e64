package genaispans

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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

// conversions are the values of Rule.As.
var conversions = []string{"any", "string", "int", "double", "bool", "strings", "json", "milliseconds"}

// ValidateRules reports all problems of rules at once.
func ValidateRules(rules []Rule) error {
	var errs []error
	for i := range rules {
		path := fmt.Sprintf("rules[%d]", i)
		r := &rules[i]
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

// userRule is a compiled Rule.
type userRule struct {
	Rule
	as          form
	scopePrefix bool
}

func compileRules(rules []Rule) []userRule {
	compiled := make([]userRule, len(rules))
	for i, r := range rules {
		compiled[i] = userRule{Rule: r, as: userForms[r.As]}
		compiled[i].When.Scope, compiled[i].scopePrefix = strings.CutSuffix(r.When.Scope, "*")
	}
	return compiled
}

var userForms = map[string]form{
	"": asAny, "any": asAny, "string": asText, "int": asCount, "double": asNumber, "bool": asBool, "strings": asStrings,
	"json": asJSON, "milliseconds": asMillis,
}

func (r *userRule) matches(s ptrace.Span, scope *scopeInfo) bool {
	if r.When.Scope != "" || r.scopePrefix {
		if r.scopePrefix && !strings.HasPrefix(scope.name, r.When.Scope) || !r.scopePrefix && scope.name != r.When.Scope {
			return false
		}
	}
	if r.When.Attribute == "" {
		return true
	}
	value, ok := s.Attributes().Get(r.When.Attribute)
	return ok && (r.When.Value == "" || value.AsString() == r.When.Value)
}

// mayApply reports whether a rule matches a span that has one of its source attributes.
func (r *userRule) mayApply(s ptrace.Span, scope *scopeInfo) bool {
	return r.matches(s, scope) && slices.ContainsFunc(r.From, func(key string) bool {
		_, ok := s.Attributes().Get(key)
		return ok
	})
}

func (r *userRule) apply(s ptrace.Span, scope *scopeInfo, trace func(target, source string)) {
	if !r.matches(s, scope) {
		return
	}
	attrs := s.Attributes()
	if _, ok := attrs.Get(r.To); ok {
		return
	}
	for _, key := range r.From {
		value, ok := attrs.Get(key)
		if !ok || !usable(value, r.as) {
			continue
		}
		x := span{attrs: attrs}
		c := candidate{value: value, source: key, as: r.as, kind: fromAttribute}
		if x.putAs(r.To, &c) {
			if trace != nil {
				trace(r.To, key+" (rule of the configuration)")
			}
			return
		}
	}
}

// putAs writes a value under any key.
func (x *span) putAs(key string, c *candidate) bool {
	const slot = toTotalTokens // any target: the candidate uses its slot
	x.best[slot] = *c
	switch c.as {
	case asCount:
		n, ok := x.count(slot)
		if ok {
			x.attrs.PutInt(key, n)
		}
		return ok
	case asNumber, asMillis:
		f, ok := x.number(slot)
		if ok {
			x.attrs.PutDouble(key, f)
		}
		return ok
	case asBool:
		b, ok := boolOf(c)
		if ok {
			x.attrs.PutBool(key, b)
		}
		return ok
	case asStrings:
		list := stringsOf(c)
		slice := x.attrs.PutEmptySlice(key)
		for _, s := range list {
			slice.AppendEmpty().SetStr(s)
		}
		return true
	case asJSON:
		x.attrs.PutStr(key, jsonOf(c.plain()))
		return true
	case asText:
		x.attrs.PutStr(key, c.plain())
		return true
	}
	kept := pcommon.NewValueEmpty()
	c.value.CopyTo(kept)
	kept.CopyTo(x.attrs.PutEmpty(key))
	return true
}
