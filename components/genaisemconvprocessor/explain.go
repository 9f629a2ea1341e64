package genaisemconvprocessor

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Explanation tells what was made of one span.
type Explanation struct {
	// Span is the span, mapped.
	Span  ptrace.Span
	Scope string
	// Dialects are those that the span matched, the first of which named it. A span without any is not GenAI; only
	// rules of the configuration touched it.
	Dialects []string
	// Fields are the attributes that were written or taken as they were, by their keys.
	Fields []ExplainedField
}

// ExplainedField is an attribute and where its value comes from.
type ExplainedField struct {
	Key, Value string
	// From is the key that the value was read from, or what else determined it. It is the field's own key where the
	// attribute came as it is.
	From string
}

// Explain maps spans as Map does, and tells of each what it was made from.
func (m *Mapper) Explain(td ptrace.Traces) []Explanation {
	var explanations []Explanation
	x := new(span)
	for _, rs := range td.ResourceSpans().All() {
		resource := rs.Resource().Attributes()
		inherited := detectResource(resource)
		for _, ss := range rs.ScopeSpans().All() {
			scope := scopeOf(ss.Scope())
			scope.dialects |= inherited
			for _, s := range ss.Spans().All() {
				explanations = append(explanations, m.explain(x, s, &scope, resource))
			}
		}
	}
	return explanations
}

func (m *Mapper) explain(x *span, s ptrace.Span, scope *scopeInfo, resource pcommon.Map) Explanation {
	sources := map[string]string{}
	x.trace = func(key, source string) { sources[key] = source }
	e := Explanation{Span: s, Scope: scope.name}
	before := make(map[string]bool, s.Attributes().Len())
	for key := range s.Attributes().All() {
		before[key] = true
	}
	if _, ok := m.mapSpan(x, s, scope, resource); ok {
		for id := range dialects {
			if x.found.has(dialectID(id)) {
				e.Dialects = append(e.Dialects, dialects[id].name)
			}
		}
	}
	for key, value := range s.Attributes().All() {
		source, isTold := sources[key]
		switch {
		case isTold:
		case before[key] && isTarget(key):
			source = key
		case before[key], strings.HasPrefix(key, keyOriginalPrefix):
			continue
		}
		e.Fields = append(e.Fields, ExplainedField{Key: key, Value: valueText(value), From: source})
	}
	slices.SortFunc(e.Fields, func(a, b ExplainedField) int { return strings.Compare(a.Key, b.Key) })
	return e
}

func isTarget(key string) bool {
	for to := range targetCount {
		if fields[to].key == key {
			return true
		}
	}
	return false
}
