package genaisemconvprocessor

import (
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Mapper maps spans. It may be used by many goroutines at once.
type Mapper struct {
	rules []userRule
	spans sync.Pool
}

// shared is what all mappers have in common: the tables, compiled.
var shared struct{ uses map[string][]use }

func init() { shared.uses = compile() }

// Counts says how many spans were mapped, by the dialect that was detected first.
type Counts [dialectCount]int64

// NewMapper makes a Mapper with the rules of a valid configuration.
func NewMapper(cfg *Config) *Mapper {
	m := &Mapper{rules: compileRules(cfg.Rules)}
	m.spans.New = func() any { return new(span) }
	return m
}

// Map maps spans where they stand: it adds attributes in the newest GenAI conventions and Looptrace's own, and removes
// none. A span that is not GenAI stays as it is.
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

// detectResource tells the dialects that name themselves on the resource only.
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
	found := x.detect(s, scope)
	if found == 0 {
		return 0, false
	}
	x.reset(s, scope, resource, found)
	x.refine()
	x.mapOne()
	return x.found.first(), true
}

// refine settles what takes more than a key to tell.
func (x *span) refine() {
	if x.found.has(vercel) {
		_, isOld := x.attrs.Get("ai.operationId")
		_, named := x.attrs.Get("operation.name")
		if _, isNew := x.attrs.Get(runmodel.KeyOperationName); isNew && !isOld && !named {
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
	x.readEvents()
	x.offerFinish()
	x.toolFields()
	x.keys = allKeys // from here on there are more
	x.apply()
	x.mark()
}

// readFlattened offers what stands under keys with an index.
func (x *span) readFlattened() {
	x.offer(toInputMessages, openInference, isDone, x.flatMessages(x.flat.input, "user"), "indexed keys")
	x.flat.inputLossy, x.flat.lossy = x.flat.lossy, false
	x.offer(toOutputMessages, openInference, isDone, x.flatMessages(x.flat.output, "assistant"), "indexed keys")
	x.flat.outputLossy = x.flat.lossy
	x.offer(toToolDefinitions, openInference, isDone, x.flatTools(), "indexed keys")
	x.offer(toRetrievalDocuments, openInference, isDone, x.flatDocuments(), "indexed keys")
	for _, e := range x.flat.output {
		if e.rest == "finish_reason" || e.rest == "message.finish_reason" {
			x.offer(toFinishReasons, openInference, fromText, e.value.AsString(), "indexed keys")
			break
		}
	}
}

// toolFields gives a tool its arguments and result out of the span's inputs and outputs, where nothing else states
// them; its name out of the span's.
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

// mark writes what Looptrace says of the span itself.
func (x *span) mark() {
	if _, ok := x.attrs.Get(runmodel.KeyDialect); !ok {
		x.attrs.PutStr(runmodel.KeyDialect, x.dialect())
	}
	switch framework := dialects[x.found.first()].framework; {
	case x.scope.framework != "":
		x.setFramework(x.scope.framework)
	default:
		x.setFramework(framework)
	}
	if x.str(runmodel.KeyOperationName) == "fetch_response" {
		// It reads a response again whose creation has stated the usage.
		x.attrs.PutBool(runmodel.KeyUsageCounted, false)
	}
}
