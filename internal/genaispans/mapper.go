// Package genaispans knows the spans of GenAI instrumentations and maps them to the newest OpenTelemetry GenAI semantic
// conventions. It keeps all received attributes. Each dialect has a table in a file named dialect_*.go.
package genaispans

import (
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Mapper maps spans. It is safe for concurrent use.
type Mapper struct {
	rules []userRule
	spans sync.Pool
}

// shared is the compiled tables that all mappers use.
var shared struct{ uses map[string][]use }

func init() { shared.uses = compile() }

// Counts are the numbers of mapped spans, by the first dialect that each matched, in the order of Dialects.
type Counts [dialectCount]int64

// NewMapper returns a Mapper that applies rules before its own tables. ValidateRules must accept them.
func NewMapper(rules []Rule) *Mapper {
	m := &Mapper{rules: compileRules(rules)}
	m.spans.New = func() any { return new(span) }
	return m
}

// Map maps spans in place: it adds attributes of the newest GenAI conventions and Looptrace's own, and removes none.
// A span that is not GenAI stays unchanged, apart from configured rules. A span that Looptrace exported only gets its scores.
func (m *Mapper) Map(td ptrace.Traces) (counts Counts) {
	x := m.spans.Get().(*span)
	defer m.spans.Put(x)
	for _, rs := range td.ResourceSpans().All() {
		resource := rs.Resource().Attributes()
		inherited := detectResource(resource)
		for _, ss := range rs.ScopeSpans().All() {
			scope := scopeOf(ss.Scope())
			scope.dialects |= inherited
			for _, s := range ss.Spans().All() {
				if id, ok := m.mapSpan(x, s, &scope, resource); ok {
					counts[id]++
				}
			}
		}
	}
	x.release()
	return counts
}

// detectResource returns the dialects that only the resource identifies.
func detectResource(resource pcommon.Map) dialectSet {
	if sdk, ok := resource.Get("telemetry.sdk.name"); ok && sdk.Type() == pcommon.ValueTypeStr && sdk.Str() == "openlit" {
		return setOf(openLIT)
	}
	if service, ok := resource.Get(runmodel.KeyServiceName); ok && service.Type() == pcommon.ValueTypeStr && service.Str() == "openrouter" {
		return setOf(openRouter)
	}
	return 0
}

func (m *Mapper) mapSpan(x *span, s ptrace.Span, scope *scopeInfo, resource pcommon.Map) (dialectID, bool) {
	for i := range m.rules {
		m.rules[i].apply(s, scope, x.trace)
	}
	if scope.exported {
		x.exportedScores(s)
		return 0, false
	}
	found := x.detect(s, scope)
	if found == 0 {
		return 0, false
	}
	x.reset(s, scope, resource, found)
	x.refine()
	x.mapOne()
	return x.found.first(), true
}

// refine decides between dialects that one key cannot distinguish.
func (x *span) refine() {
	if x.found.has(vercel) {
		_, isOld := x.attrs.Get("ai.operationId")
		_, hasName := x.attrs.Get("operation.name")
		if _, isNew := x.attrs.Get(runmodel.KeyOperationName); isNew && !isOld && !hasName {
			x.found = x.found&^setOf(vercel) | setOf(vercel7)
		}
	}
	if x.found.has(logfire) {
		x.resolvePending()
	}
}

func (x *span) mapOne() {
	x.gather(shared.uses)
	_, x.fromLog = x.get(runmodel.KeyFromLog)
	x.recordOf = x.str(runmodel.KeyRecordOf)
	x.decideKind()
	x.readFlattened()
	for id := range dialects {
		if x.found.has(dialectID(id)) && dialects[id].derive != nil {
			dialects[id].derive(x)
		}
		if x.found.has(dialectID(id)) && dialects[id].exclusive != nil && dialects[id].exclusive(x) {
			x.exclusive = true
		}
	}
	if len(x.usage) > 0 && (x.kind != runmodel.KindTask || !x.found.has(vercel7)) { // a step of the AI SDK 7 repeats the usage of its calls
		x.usageAttributes()
	}
	x.readEvents()
	x.offerFinish()
	x.toolFields()
	x.keys = allKeys // from here on attributes are added
	x.apply()
	x.writeOwn()
}

// readFlattened offers the values of keys with an index.
func (x *span) readFlattened() {
	x.offer(toInputMessages, openInference, fromCanonical, x.flatMessages(x.flat.input, "user"), "indexed keys")
	x.flat.inputLossy, x.flat.lossy = x.flat.lossy, false
	x.offer(toOutputMessages, openInference, fromCanonical, x.flatMessages(x.flat.output, "assistant"), "indexed keys")
	x.flat.outputLossy = x.flat.lossy
	x.offer(toToolDefinitions, openInference, fromCanonical, x.flatTools(), "indexed keys")
	x.offer(toRetrievalDocuments, openInference, fromCanonical, x.flatDocuments(), "indexed keys")
	for _, e := range x.flat.output {
		if e.rest == "finish_reason" || e.rest == "message.finish_reason" {
			x.offer(toFinishReasons, openInference, fromText, e.value.AsString(), "indexed keys")
			break
		}
	}
}

// toolFields falls back to the span's inputs and outputs for a tool's arguments and result, and to the span's name
// for the tool's name.
func (x *span) toolFields() {
	if x.kind != runmodel.KindTool {
		return
	}
	copyTo := func(to, from target) {
		if !x.has(to) && x.has(from) {
			x.best[to] = x.best[from]
			x.best[to].as = asAny
		}
	}
	copyTo(toToolCallArguments, toInputs)
	copyTo(toToolCallResult, toOutputs)
	x.unwrapTool()
	if !x.has(toToolName) {
		x.offer(toToolName, generic, fromText, toolNameOf(x.Name()), "name of the span")
	}
}

// writeOwn writes Looptrace's own attributes.
func (x *span) writeOwn() {
	if value, had := x.own(ownDialect); !had {
		value.SetStr(x.dialect())
	}
	switch framework := dialects[x.found.first()].framework; {
	case x.scope.framework != "":
		x.setFramework(x.scope.framework)
	default:
		x.setFramework(framework)
	}
	if x.str(runmodel.KeyOperationName) == "fetch_response" {
		// It fetches a response that another span created and counted.
		x.putOwnBool(ownUsageCounted, false)
	}
	x.writeAdded()
}
