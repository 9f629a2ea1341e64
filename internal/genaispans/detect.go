package genaispans

import (
	"math/bits"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// dialectID numbers the dialects in the order of detection. A span is named after the first dialect that it matches.
// Its fields are merged from all that match.
type dialectID uint8

const (
	native dialectID = iota
	langfuse
	openInference
	openLLMetry
	vercel
	vercel7
	pydanticAI
	logfire
	googleADK
	strands
	agentFramework
	semanticKernel
	autoGen
	ag2
	haystack
	liveKit
	genkit
	springAI
	liteLLM
	langSmith
	mlflow
	claudeCode
	anthropicSDK
	codex
	geminiCLI
	copilot
	mastra
	openLIT
	agentOps
	laminar
	sentry
	koog
	langWatch
	weave
	agenta
	voltAgent
	flue
	openRouter
	mcp
	otelGenAI
	otelGenAIOld
	generic
	dialectCount
)

// dialectSet is a set of dialects.
type dialectSet uint64

func setOf(ids ...dialectID) (s dialectSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s dialectSet) has(id dialectID) bool { return s&(1<<id) != 0 }

func (s dialectSet) first() dialectID { return dialectID(bits.TrailingZeros64(uint64(s))) }

// scopeInfo is what the name of an instrumentation scope implies for all its spans.
type scopeInfo struct {
	name, version string
	dialects      dialectSet
	// framework is the agent framework or SDK that the scope instruments, or empty.
	framework string
	// exported is true for spans from an export of Looptrace.
	exported bool
}

// scopePrefixes map scope names to dialects. Of prefixes that overlap, the longest comes first.
var scopePrefixes = []struct {
	prefix  string
	dialect dialectID
}{
	{"langfuse-sdk", langfuse},
	{"openinference", openInference},
	{"@arizeai/openinference-", openInference},
	{"beeai", openInference},
	{"@traceloop/", openLLMetry},
	{"traceloop.tracer", openLLMetry},
	{"pydantic-ai", pydanticAI},
	{"pydantic-evals", logfire},
	{"logfire", logfire},
	{"gcp.vertex.agent", googleADK},
	{"strands.telemetry.tracer", strands},
	{"strands-agents", strands},
	{"opentelemetry.instrumentation.strands", strands},
	{"agent_framework", agentFramework},
	{"Experimental.Microsoft.Agents.AI", agentFramework},
	{"Experimental.Microsoft.Extensions.AI", agentFramework},
	{"Microsoft.SemanticKernel", semanticKernel},
	{"semantic_kernel", semanticKernel},
	{"autogen", autoGen},
	{"opentelemetry.instrumentation.ag2", ag2},
	{"livekit-agents", liveKit},
	{"genkit-", genkit},
	{"litellm", liteLLM},
	{"langsmith", langSmith},
	{"mlflow", mlflow},
	{"com.anthropic.claude_code", claudeCode},
	{"com.anthropic.", anthropicSDK},
	{"codex_", codex},
	{"gemini-cli", geminiCLI},
	{"github.copilot", copilot},
	{"@mastra/", mastra},
	{"openlit", openLIT},
	{"agentops", agentOps},
	{"lmnr", laminar},
	{"sentry", sentry},
	{"ai.koog", koog},
	{"langwatch", langWatch},
	{"weave", weave},
	{"agenta", agenta},
	{"@voltagent/", voltAgent},
	{"@flue/", flue},
	{"openrouter", openRouter},
}

// traceloopLibraries are the libraries that OpenLLMetry instruments under the scope
// opentelemetry.instrumentation.NAME. OpenTelemetry's own instrumentations have other names (openai_v2,
// google_genai), or the same name and other attributes.
var traceloopLibraries = map[string]bool{
	"agno": true, "alephalpha": true, "anthropic": true, "bedrock": true, "chromadb": true, "cohere": true, "crewai": true,
	"google_generativeai": true, "groq": true, "haystack": true, "lancedb": true, "langchain": true, "llamaindex": true,
	"marqo": true, "milvus": true, "mistralai": true, "ollama": true, "openai": true, "openai.v1": true, "openai.v0": true,
	"openai_agents": true, "pinecone": true, "qdrant": true, "replicate": true, "sagemaker": true, "together": true,
	"transformers": true, "vertexai": true, "watsonx": true, "weaviate": true, "writer": true,
}

const contribScope = "opentelemetry.instrumentation."

// scopeOf classifies a scope once for all its spans.
func scopeOf(scope pcommon.InstrumentationScope) scopeInfo {
	info := scopeInfo{name: scope.Name(), version: scope.Version(), exported: isExported(scope)}
	if info.name == "" {
		return info
	}
	library, isContrib := strings.CutPrefix(info.name, contribScope)
	switch {
	case info.name == "ai":
		info.dialects |= setOf(vercel)
	case info.name == "gen_ai":
		info.dialects |= setOf(vercel7)
	case isContrib && traceloopLibraries[library]:
		info.dialects |= setOf(openLLMetry)
	default:
		for _, known := range scopePrefixes {
			if strings.HasPrefix(info.name, known.prefix) {
				info.dialects |= setOf(known.dialect)
				break
			}
		}
	}
	info.framework = frameworkOfScope(info.name)
	return info
}

// knownKey caches what an attribute key implies.
type knownKey struct {
	key   string
	signs dialectSet
	// isRead is set once the fields below are filled in. They are not needed for spans that are not GenAI.
	isRead     bool
	uses       []use
	indexedKey indexedKey
	// usage says what the attribute counts if no rule reads it.
	usage usageKey
}

// detect finds the dialects of a span from its scope, the prefixes of its attribute keys and the names of its events.
// It parses nothing and allocates nothing: most spans are not GenAI and end here. It caches the result for each key,
// because the next span mostly has the same keys in the same order.
func (x *span) detect(span ptrace.Span, scope *scopeInfo) dialectSet {
	found := scope.dialects
	i := 0
	for key := range span.Attributes().All() {
		if i == len(x.known) {
			x.known = append(x.known, knownKey{})
		}
		if k := &x.known[i]; k.key != key {
			k.key, k.signs, k.isRead = key, 0, false
			if len(key) > 1 && sentinelBytes[key[0]] {
				k.signs = sentinel(key)
			}
		}
		found |= x.known[i].signs
		i++
	}
	if events := span.Events(); events.Len() > 0 {
		for _, event := range events.All() {
			if strings.HasPrefix(event.Name(), "gen_ai.") {
				found |= setOf(otelGenAIOld)
			}
		}
	}
	return found
}

// sentinelBytes are the first bytes of the keys that sentinel knows.
var sentinelBytes = func() (table [256]bool) {
	for _, c := range []byte("abcefghiklmoprstvw") {
		table[c] = true
	}
	return table
}()

// sentinel returns the dialects that the key of an attribute indicates.
func sentinel(key string) dialectSet {
	switch key[0] {
	case 'a':
		switch {
		case strings.HasPrefix(key, "ai."):
			return setOf(vercel)
		case strings.HasPrefix(key, "agentops."):
			return setOf(agentOps)
		case strings.HasPrefix(key, "ag.type."), strings.HasPrefix(key, "ag.data."), strings.HasPrefix(key, "ag.metrics."):
			return setOf(agenta)
		case strings.HasPrefix(key, "ag2."):
			return setOf(ag2)
		case strings.HasPrefix(key, "anthropic.request.id"):
			return setOf(anthropicSDK)
		}
	case 'c':
		if strings.HasPrefix(key, "codex.") {
			return setOf(codex)
		}
	case 'e':
		if strings.HasPrefix(key, "embedding.") {
			return setOf(openInference)
		}
	case 'f':
		if strings.HasPrefix(key, "flue.") {
			return setOf(flue)
		}
	case 'g':
		switch {
		case strings.HasPrefix(key, "gen_ai."):
			return genAISentinel(key[len("gen_ai."):])
		case strings.HasPrefix(key, "genkit:"):
			return setOf(genkit)
		case strings.HasPrefix(key, "gcp.vertex.agent."):
			return setOf(googleADK)
		case strings.HasPrefix(key, "github.copilot."):
			return setOf(copilot)
		}
	case 'h':
		if strings.HasPrefix(key, "haystack.") {
			return setOf(haystack)
		}
	case 'i', 'o':
		switch {
		case strings.HasPrefix(key, "openinference."):
			return setOf(openInference)
		case key == "input.value", key == "output.value", key == "input.mime_type":
			return setOf(generic)
		case strings.HasPrefix(key, "openrouter."):
			return setOf(openRouter)
		}
	case 'k':
		if strings.HasPrefix(key, "koog.") {
			return setOf(koog)
		}
	case 'l':
		return lSentinel(key)
	case 'm':
		switch {
		case strings.HasPrefix(key, "mlflow."):
			return setOf(mlflow)
		case strings.HasPrefix(key, "mastra."):
			return setOf(mastra)
		case key == "mcp.method.name":
			return setOf(mcp)
		}
	case 'p':
		if strings.HasPrefix(key, "pydantic_ai.") {
			return setOf(pydanticAI)
		}
	case 'r':
		if strings.HasPrefix(key, "reranker.") || strings.HasPrefix(key, "retrieval.documents") {
			return setOf(openInference)
		}
	case 's':
		switch {
		case strings.HasPrefix(key, "spring.ai."):
			return setOf(springAI)
		case strings.HasPrefix(key, "sk.available_functions"):
			return setOf(semanticKernel)
		case key == "sentry.op":
			return setOf(sentry)
		}
	case 't':
		if strings.HasPrefix(key, "traceloop.") {
			return setOf(openLLMetry)
		}
	case 'v':
		if strings.HasPrefix(key, "voltagent.") {
			return setOf(voltAgent)
		}
	case 'w':
		if strings.HasPrefix(key, "wandb.") || strings.HasPrefix(key, "weave.") {
			return setOf(weave)
		}
	}
	return 0
}

func lSentinel(key string) dialectSet {
	switch {
	case strings.HasPrefix(key, "llm."):
		rest := key[len("llm."):]
		switch {
		case strings.HasPrefix(rest, "input_messages."):
			return setOf(openInference)
		case strings.HasPrefix(rest, "request."), strings.HasPrefix(rest, "usage."), strings.HasPrefix(rest, "prompts."):
			return setOf(openLLMetry)
		default:
			return setOf(openInference)
		}
	case strings.HasPrefix(key, "langfuse."):
		return setOf(langfuse)
	case strings.HasPrefix(key, "langsmith."):
		return setOf(langSmith)
	case strings.HasPrefix(key, "langwatch."):
		return setOf(langWatch)
	case strings.HasPrefix(key, "lmnr."):
		return setOf(laminar)
	case strings.HasPrefix(key, "lk."):
		return setOf(liveKit)
	case key == runmodel.KeyKind, key == runmodel.KeyRun:
		return setOf(native)
	case key == runmodel.KeyFromLog:
		return setOf(otelGenAI)
	case key == "logfire.pending_parent_id":
		return setOf(logfire)
	}
	return 0
}

// genAISentinel classifies a key by what follows "gen_ai.".
func genAISentinel(key string) dialectSet {
	switch {
	case strings.HasPrefix(key, "prompt."):
		if isDigit(key, len("prompt.")) {
			return setOf(openLLMetry, otelGenAIOld)
		}
	case strings.HasPrefix(key, "completion."):
		if isDigit(key, len("completion.")) {
			return setOf(openLLMetry, otelGenAIOld)
		}
	case key == "system":
		return setOf(otelGenAIOld)
	case key == "event.start_time":
		return setOf(strands, otelGenAIOld)
	}
	return setOf(otelGenAI)
}

func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
