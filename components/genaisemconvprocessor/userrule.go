package genaisemconvprocessor

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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
