package genaispans

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// Classify calls each with every span of td, in order, and with whether it is GenAI: whether the store will say so of the
// span once it is mapped (runmodel.Span.IsGenAI). A dialect alone does not decide, because SDKs of platforms mark every HTTP
// request as their own. Classify changes nothing, and allocates nothing for a span that no rule and no dialect matches.
func (m *Mapper) Classify(td ptrace.Traces, each func(s ptrace.Span, isGenAI bool)) {
	x := m.spans.Get().(*span)
	defer m.spans.Put(x)
	for _, rs := range td.ResourceSpans().All() {
		resource := rs.Resource().Attributes()
		inherited := detectResource(resource)
		for _, ss := range rs.ScopeSpans().All() {
			scope := scopeOf(ss.Scope())
			scope.dialects |= inherited
			for _, s := range ss.Spans().All() {
				each(s, m.isGenAI(x, s, &scope, resource))
			}
		}
	}
	x.release()
}

func (m *Mapper) isGenAI(x *span, s ptrace.Span, scope *scopeInfo, resource pcommon.Map) bool {
	if m.mayChange(x, s, scope) && !statesOperation(s.Attributes()) {
		mapped := ptrace.NewSpan()
		s.CopyTo(mapped)
		kept := *scope // x refers to it, so it is allocated; the scope of spans that are not mapped is not
		m.mapSpan(x, mapped, &kept, resource)
		s = mapped
	}
	return runpdata.IsGenAI(s.Attributes())
}

// statesOperation reports whether a span has an operation. The mapping may rename it, but takes none away. Of repeated keys, the
// store keeps the last.
func statesOperation(attrs pcommon.Map) (stated bool) {
	for key, value := range attrs.All() {
		if key == runmodel.KeyOperationName && value.Type() == pcommon.ValueTypeStr {
			stated = value.Str() != ""
		}
	}
	return stated
}

// mayChange reports whether the mapping may change what decides about a span. The scores of a span that Looptrace exported
// do not.
func (m *Mapper) mayChange(x *span, s ptrace.Span, scope *scopeInfo) bool {
	for i := range m.rules {
		if m.rules[i].mayApply(s, scope) {
			return true
		}
	}
	return !scope.exported && x.detect(s, scope) != 0
}
