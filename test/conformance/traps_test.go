package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// trapSpan is a span of a trap. parent is the number of an earlier one, from 1, or 0.
type trapSpan struct {
	scope, name string
	parent      int
	attributes  map[string]any
}

// usage is the expected total of a run: input, output, cache read, cache written and reasoning tokens.
type usage [5]float64

func (u usage) fields() map[string]any {
	all := make(map[string]any, len(u))
	for i, field := range []string{fieldInputTokens, fieldOutputTokens, fieldCacheRead, fieldCacheWrite, fieldReasoningTokens} {
		all[field] = u[i]
	}
	return all
}

// genAI returns attributes of a call in the newest conventions, with those of more.
func genAI(operation string, input, output int64, more map[string]any) map[string]any {
	all := map[string]any{
		"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5-mini",
		"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output,
	}
	for key, value := range more {
		all[key] = value
	}
	return all
}

// anthropicCall returns attributes of a call of Anthropic's model, with those of more.
func anthropicCall(input, output int64, more map[string]any) map[string]any {
	all := genAI("chat", input, output, more)
	all["gen_ai.provider.name"], all["gen_ai.request.model"] = "anthropic", "claude-sonnet-4-5"
	return all
}

// traps are payloads in which clients state tokens more than once, or parts of them separately. Each is a minimal
// version of what the named client sends.
var traps = []struct {
	name  string
	spans []trapSpan
	want  usage
}{
	{"an agent's span sums its calls (Strands, smolagents, OpenAI Agents, Claude Agent SDK)", []trapSpan{
		{"strands.telemetry.tracer", "invoke_agent weather", 0, genAI("invoke_agent", 300, 30, nil)},
		{"strands.telemetry.tracer", "chat", 1, genAI("chat", 100, 10, nil)},
		{"strands.telemetry.tracer", "chat", 1, genAI("chat", 200, 20, nil)},
	}, usage{300, 30}},
	{"only the agent's span states tokens", []trapSpan{
		{"openinference.instrumentation.claude_agent_sdk", "ClaudeAgentSDK.query", 0, map[string]any{
			"openinference.span.kind": "AGENT", "llm.token_count.prompt": int64(300), "llm.token_count.completion": int64(30),
		}},
		{"openinference.instrumentation.claude_agent_sdk", "get_weather", 1, map[string]any{"openinference.span.kind": "TOOL"}},
	}, usage{300, 30}},
	{"Google ADK: call_llm and generate_content state the same call", []trapSpan{
		{"gcp.vertex.agent", "invocation", 0, nil},
		{"gcp.vertex.agent", "call_llm", 1, map[string]any{
			"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "gemini-2.5-flash", "gen_ai.usage.input_tokens": int64(100),
			"gen_ai.usage.output_tokens": int64(10),
		}},
		{"opentelemetry.instrumentation.google_genai", "generate_content gemini-2.5-flash", 2, genAI("generate_content", 100, 10,
			map[string]any{"gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gemini-2.5-flash"})},
	}, usage{100, 10}},
	{"Codex: the turn sums its responses", []trapSpan{
		{"codex_cli_rs", "session_task.turn", 0, map[string]any{
			"codex.turn.token_usage.input_tokens": int64(300), "codex.turn.token_usage.cached_input_tokens": int64(120),
			"codex.turn.token_usage.output_tokens": int64(30), "model": "gpt-5-codex",
		}},
		{"codex_cli_rs", "handle_responses", 1, map[string]any{"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10)}},
		{"codex_cli_rs", "handle_responses", 1, map[string]any{"gen_ai.usage.input_tokens": int64(200), "gen_ai.usage.output_tokens": int64(20)}},
	}, usage{300, 30}},
	{"Vercel AI SDK to 6: ai.generateText wraps ai.generateText.doGenerate", []trapSpan{
		{"ai", "ai.generateText", 0, map[string]any{
			"ai.operationId": "ai.generateText", "operation.name": "ai.generateText",
			"ai.model.id": "gpt-5-mini", "ai.model.provider": "openai.chat", "ai.usage.inputTokens": int64(300), "ai.usage.outputTokens": int64(30),
			"ai.usage.cachedInputTokens": int64(120),
		}},
		{"ai", "ai.generateText.doGenerate", 1, map[string]any{
			"ai.operationId": "ai.generateText.doGenerate",
			"operation.name": "ai.generateText.doGenerate", "ai.model.id": "gpt-5-mini", "ai.model.provider": "openai.chat",
			"ai.usage.inputTokens": int64(300), "ai.usage.outputTokens": int64(30), "ai.usage.cachedInputTokens": int64(120),
			"gen_ai.usage.input_tokens": int64(300), "gen_ai.usage.output_tokens": int64(30),
		}},
	}, usage{300, 30, 120}},
	{"Vercel AI SDK 7: invoke_agent and agent_step repeat the call", []trapSpan{
		{"gen_ai", "invoke_agent", 0, genAI("invoke_agent", 300, 30, nil)},
		{"gen_ai", "step 0", 1, genAI("agent_step", 300, 30, nil)},
		{"gen_ai", "chat gpt-5-mini", 2, genAI("chat", 300, 30, nil)},
	}, usage{300, 30}},
	{"Pydantic AI: the agent run sums its requests", []trapSpan{
		{"pydantic-ai", "agent run", 0, map[string]any{
			"agent_name": "weather", "model_name": "gpt-5-mini",
			"gen_ai.usage.input_tokens": int64(300), "gen_ai.usage.output_tokens": int64(30), "logfire.msg": "weather run",
		}},
		{"pydantic-ai", "chat gpt-5-mini", 1, genAI("chat", 300, 30, map[string]any{"gen_ai.usage.details.reasoning_tokens": int64(16)})},
	}, usage{300, 30, 0, 0, 16}},
	{"Pydantic AI: aggregated usage has a name of its own", []trapSpan{
		{"pydantic-ai", "invoke_agent weather", 0, map[string]any{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather",
			"gen_ai.aggregated_usage.input_tokens": int64(300), "gen_ai.aggregated_usage.output_tokens": int64(30),
		}},
		{"pydantic-ai", "chat gpt-5-mini", 1, genAI("chat", 300, 30, nil)},
	}, usage{300, 30}},
	{"Logfire: the answer of a stream, with its tokens, is a span of its own", []trapSpan{
		{"logfire.openai", "Chat Completion with 'gpt-5-mini'", 0, map[string]any{
			"logfire.span_type":     "span",
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini",
		}},
		{"logfire.openai", "streaming response from 'gpt-5-mini' took 1.00s", 0, map[string]any{
			"logfire.span_type":    "log",
			"gen_ai.request.model": "gpt-5-mini", "gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10),
		}},
	}, usage{100, 10}},
	{"Logfire: calls with partial usage below, the truth on the agent above", []trapSpan{
		{"logfire.claude_agent_sdk", "invoke_agent", 0, genAI("invoke_agent", 300, 30, nil)},
		{"logfire.claude_agent_sdk", "chat claude-sonnet-4-5", 1, map[string]any{
			"gen_ai.operation.name": "chat",
			"gen_ai.request.model":  "claude-sonnet-4-5", "gen_ai.usage.partial.input_tokens": int64(300), "gen_ai.usage.partial.output_tokens": int64(0),
		}},
	}, usage{300, 30}},
	{"Logfire: a pending span stands for one that is still running", []trapSpan{
		{"logfire.openai", "Chat Completion with 'gpt-5-mini'", 0, genAI("chat", 100, 10, map[string]any{"logfire.span_type": "span"})},
		{"logfire.openai", "Chat Completion with 'gpt-5-mini'", 1, genAI("chat", 100, 10, map[string]any{
			"logfire.span_type": "pending_span", "logfire.pending_parent_id": "0000000000000000",
		})},
	}, usage{100, 10}},
	{"LiteLLM: raw_gen_ai_request below litellm_request", []trapSpan{
		{"litellm", "litellm_request", 0, map[string]any{
			"gen_ai.request.model": "gpt-5-mini", "gen_ai.system": "openai",
			"llm.request.type": "acompletion", "gen_ai.usage.prompt_tokens": int64(100), "gen_ai.usage.completion_tokens": int64(10),
		}},
		{"litellm", "raw_gen_ai_request", 1, map[string]any{
			"llm.openai.model": "gpt-5-mini",
			"llm.openai.usage": `{"prompt_tokens": 100, "completion_tokens": 10}`,
		}},
	}, usage{100, 10}},
	{"Mastra: model_step and model_chunk repeat model_generation", []trapSpan{
		{"@mastra/otel-exporter", "chat gpt-5-mini", 0, genAI("chat", 300, 30, map[string]any{"mastra.span.type": "model_generation"})},
		{"@mastra/otel-exporter", "step: 0", 1, genAI("model_step", 300, 30, map[string]any{"mastra.span.type": "model_step"})},
	}, usage{300, 30}},
	{"OpenInference states a call in two dialects on one span", []trapSpan{
		{"openinference.instrumentation.openai", "ChatCompletion", 0, genAI("chat", 100, 10, map[string]any{
			"openinference.span.kind": "LLM", "llm.token_count.prompt": int64(100), "llm.token_count.completion": int64(10),
			"llm.token_count.prompt_details.cache_read": int64(64), "gen_ai.usage.cache_read.input_tokens": int64(64),
		})},
	}, usage{100, 10, 64}},
	{"a response that is fetched again states the tokens of its creation", []trapSpan{
		{"gen_ai.reference", "chat gpt-5-mini", 0, genAI("chat", 100, 10, nil)},
		{"gen_ai.reference", "fetch_response", 0, genAI("fetch_response", 100, 10, nil)},
	}, usage{100, 10}},
	{"a client that instruments itself below an instrumentation (Anthropic's SDK from 2)", []trapSpan{
		{"opentelemetry.instrumentation.genai.anthropic", "chat claude-sonnet-4-5", 0, anthropicCall(100, 10, nil)},
		{"com.anthropic.sdk.python", "anthropic.messages.create", 1, anthropicCall(100, 10, nil)},
	}, usage{100, 10}},
	{"cached tokens inside of input (the conventions, OpenInference, Vercel 6)", []trapSpan{
		{"openinference.instrumentation.anthropic", "Messages", 0, map[string]any{
			"openinference.span.kind": "LLM",
			"llm.model_name":          "claude-sonnet-4-5", "llm.token_count.prompt": int64(300), "llm.token_count.completion": int64(10),
			"llm.token_count.prompt_details.cache_read": int64(200), "llm.token_count.prompt_details.cache_write": int64(50),
		}},
	}, usage{300, 10, 200, 50}},
	{"cached tokens outside of input (Claude Code)", []trapSpan{
		{"com.anthropic.claude_code.tracing", "claude_code.llm_request", 0, map[string]any{
			"span.type": "llm_request",
			"model":     "claude-sonnet-4-5", "input_tokens": int64(50), "output_tokens": int64(10), "cache_read_tokens": int64(200),
			"cache_creation_tokens": int64(50),
		}},
	}, usage{300, 10, 200, 50}},
	{"cached tokens outside of input (OpenInference of the Claude Agent SDK)", []trapSpan{
		{"openinference.instrumentation.claude_agent_sdk", "ClaudeAgentSDK.query", 0, map[string]any{
			"openinference.span.kind": "AGENT", "llm.token_count.prompt": int64(4), "llm.token_count.completion": int64(10),
			"llm.token_count.prompt_details.cache_read": int64(200), "llm.token_count.prompt_details.cache_write": int64(96),
		}},
	}, usage{300, 10, 200, 96}},
	{"cached tokens outside of input (Strands on Bedrock): more is cached than was put in", []trapSpan{
		{"strands.telemetry.tracer", "chat", 0, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents",
			"gen_ai.request.model": "us.anthropic.claude-sonnet-4", "gen_ai.usage.input_tokens": int64(50), "gen_ai.usage.output_tokens": int64(10),
			"gen_ai.usage.total_tokens": int64(310), "gen_ai.usage.cache_read_input_tokens": int64(200),
			"gen_ai.usage.cache_write_input_tokens": int64(50),
		}},
	}, usage{300, 10, 200, 50}},
	{"the total tells that cached tokens are beside the input (Vercel on Bedrock)", []trapSpan{
		{"ai", "ai.generateText.doGenerate", 0, map[string]any{
			"ai.operationId": "ai.generateText.doGenerate",
			"ai.model.id":    "us.anthropic.claude-sonnet-4", "ai.model.provider": "amazon-bedrock", "ai.usage.inputTokens": int64(5734),
			"ai.usage.outputTokens": int64(178), "ai.usage.totalTokens": int64(10394), "ai.usage.cachedInputTokens": int64(4482),
		}},
	}, usage{10216, 178, 4482}},
	{"buckets that exclude each other (Langfuse)", []trapSpan{
		{"langfuse-sdk", "call", 0, map[string]any{
			"langfuse.observation.type":          "generation",
			"langfuse.observation.model.name":    "claude-sonnet-4-5",
			"langfuse.observation.usage_details": `{"input": 50, "output": 10, "cache_read_input_tokens": 200, "input_cache_creation": 50, "total": 310}`,
		}},
	}, usage{300, 10, 200, 50}},
	{"thoughts outside of output (Gemini's usage_metadata)", []trapSpan{
		{"genkit-tracer", "gemini", 0, map[string]any{
			"genkit:type": "action", "genkit:metadata:subtype": "model",
			"genkit:name":   "googleai/gemini-2.5-flash",
			"genkit:output": `{"message":{"role":"model","content":[{"text":"Rain."}]},"usage":{"inputTokens":100,"outputTokens":10,"thoughtsTokens":16,"totalTokens":126}}`,
		}},
	}, usage{100, 26, 0, 0, 16}},
	{"spelling: cache_creation.input_tokens", cacheWrite("gen_ai.usage.cache_creation.input_tokens"), usage{300, 10, 0, 50}},
	{"spelling: cache_write.input_tokens", cacheWrite("gen_ai.usage.cache_write.input_tokens"), usage{300, 10, 0, 50}},
	{"spelling: cache_creation_input_tokens", cacheWrite("gen_ai.usage.cache_creation_input_tokens"), usage{300, 10, 0, 50}},
	{"spelling: details.cache_write_tokens", cacheWrite("gen_ai.usage.details.cache_write_tokens"), usage{300, 10, 0, 50}},
	{"spelling: input_tokens.cache_write", cacheWrite("gen_ai.usage.input_tokens.cache_write"), usage{300, 10, 0, 50}},
	{"counts as text (Spring AI)", []trapSpan{
		{"org.springframework.boot", "chat gpt-5-mini", 0, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.system": "openai",
			"gen_ai.request.model": "gpt-5-mini", "gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "10",
			"gen_ai.usage.total_tokens": "110",
		}},
	}, usage{100, 10}},
	{"AG2 records the usage of a call again, and that of a compaction, which has no call", []trapSpan{
		{"opentelemetry.instrumentation.ag2", "invoke_agent weather", 0, map[string]any{"ag2.span.type": "agent", "gen_ai.operation.name": "invoke_agent"}},
		{"opentelemetry.instrumentation.ag2", "chat gpt-5-mini", 1, genAI("chat", 100, 10, map[string]any{"ag2.span.type": "llm"})},
		{"opentelemetry.instrumentation.ag2", "record_usage model_call", 1, map[string]any{
			"ag2.span.type": "usage", "ag2.usage.kind": "model_call", "gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10),
		}},
		{"opentelemetry.instrumentation.ag2", "record_usage compaction", 1, map[string]any{
			"ag2.span.type": "usage", "ag2.usage.kind": "compaction", "gen_ai.usage.input_tokens": int64(300), "gen_ai.usage.output_tokens": int64(30),
		}},
	}, usage{400, 40}},
}

func cacheWrite(key string) []trapSpan {
	return []trapSpan{{"any", "chat claude-sonnet-4-5", 0, anthropicCall(300, 10, map[string]any{key: int64(50)})}}
}

// TestTraps checks that tokens count exactly once in each payload that could count them twice.
func TestTraps(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			runs, _ := receive(t, payload{traces: trapTraces(t, trap.spans)})
			totals := make(map[string]any)
			for _, r := range runs {
				for field, value := range usageOf(&r.totals) {
					totals[field] = plus(totals[field], value)
				}
			}
			for field, want := range trap.want.fields() {
				if isZero(want) && isZero(totals[field]) {
					continue
				}
				assert.Equal(t, want, totals[field], field)
			}
		})
	}
}

func trapTraces(t *testing.T, spans []trapSpan) ptrace.Traces {
	t.Helper()
	traces := ptrace.NewTraces()
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "weather")
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, s := range spans {
		scope := resource.ScopeSpans().AppendEmpty()
		scope.Scope().SetName(s.scope)
		span := scope.Spans().AppendEmpty()
		span.SetName(s.name)
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		span.SetParentSpanID(pcommon.SpanID{7: byte(s.parent)})
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i) * time.Second)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Minute - time.Duration(i)*time.Second)))
		require.NoError(t, span.Attributes().FromRaw(s.attributes))
	}
	return traces
}
