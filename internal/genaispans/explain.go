package genaispans

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Explanation says how one span was mapped.
type Explanation struct {
	// Span is the mapped span.
	Span  ptrace.Span
	Scope string
	// Dialects are those that the span matched. The first gives the span its dialect. A span that matches none is not
	// GenAI: only configured rules apply to it.
	Dialects []string
	// Fields are the attributes that were written or kept, sorted by key.
	Fields []ExplainedField
}

// ExplainedField is an attribute and the source of its value.
type ExplainedField struct {
	Key, Value string
	// From is the key that the value was read from, or a description of the source. It is the field's own key if the
	// attribute was received with that key.
	From string
}

// Explain maps spans like Map and returns how it mapped each of them.
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
		source, isWritten := sources[key]
		switch {
		case isWritten:
		case before[key] && isTarget(key):
			source = key
		case before[key], key == runmodel.KeyAdded, strings.HasPrefix(key, runmodel.KeyOriginalPrefix):
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
