package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

type trap struct {
	name, scope string
	span        func(ptrace.Span)
	attrs       map[string]any
	// want are attributes that must exist afterwards. nil means that the attribute must not exist.
	want map[string]any
}

func spanNamed(name string) func(ptrace.Span) {
	return func(s ptrace.Span) { s.SetName(name) }
}

func withEvents(t *testing.T, name string, events ...[2]any) func(ptrace.Span) {
	t.Helper()
	return func(s ptrace.Span) {
		s.SetName(name)
		for _, e := range events {
			event := s.Events().AppendEmpty()
			event.SetName(e[0].(string))
			require.NoError(t, event.Attributes().FromRaw(e[1].(map[string]any)))
		}
	}
}

const (
	asked    = `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`
	answered = `[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]`
)

// TestTraps maps minimal spans that instrumentations are known to get wrong.
func TestTraps(t *testing.T) {
	t.Parallel()
	input, output, cacheRead, cacheWrite := runmodel.KeyInputTokens, runmodel.KeyOutputTokens, runmodel.KeyCacheReadTokens, runmodel.KeyCacheWriteTokens
	for _, trap := range []trap{
		{
			"cached tokens inside of input", "openinference.instrumentation.openai", nil,
			map[string]any{"openinference.span.kind": "LLM", "llm.token_count.prompt": 100, "llm.token_count.prompt_details.cache_read": 80},
			map[string]any{input: int64(100), cacheRead: int64(80), keyUsageConvention: nil},
		},
		{
			"cached tokens outside of input", "com.anthropic.claude_code.tracing", spanNamed("claude_code.llm_request"),
			map[string]any{"input_tokens": 120, "cache_read_tokens": 900, "cache_creation_tokens": 30},
			map[string]any{input: int64(1050), cacheRead: int64(900), cacheWrite: int64(30), keyUsageConvention: "exclusive"},
		},
		{
			"more cached tokens than input", "my.tracer", nil,
			map[string]any{"gen_ai.operation.name": "chat", input: 4, cacheRead: 29_447},
			map[string]any{input: int64(29_451), runmodel.KeyOriginalPrefix + input: int64(4)},
		},
		{
			"double subtraction: the total says what input is", "ai", nil,
			map[string]any{
				"ai.operationId": "ai.generateText.doGenerate", "ai.usage.inputTokens": 5734, "ai.usage.outputTokens": 178,
				"ai.usage.totalTokens": 10_394, "ai.usage.inputTokenDetails.cacheReadTokens": 4482,
			},
			map[string]any{input: int64(5734 + 4482)},
		},
		{
			"spellings of cache writes", "my.tracer", nil,
			map[string]any{"gen_ai.usage.cache_creation_input_tokens": 7, "gen_ai.usage.cache_creation.input_tokens": 7, input: 100},
			map[string]any{cacheWrite: int64(7), input: int64(100)},
		},
		{
			"usage repeated on agents is no usage of a call", "gen_ai", nil,
			map[string]any{"gen_ai.operation.name": "agent_step", input: 5},
			map[string]any{runmodel.KeyKind: runmodel.KindTask, input: int64(5)},
		},
		{
			"a response that is fetched again", "gen_ai.reference", nil,
			map[string]any{"gen_ai.operation.name": "fetch_response", input: 5},
			map[string]any{runmodel.KeyUsageCounted: false},
		},
		{
			"a raw request beneath a call", "litellm", spanNamed("raw_gen_ai_request"),
			map[string]any{"gen_ai.usage.prompt_tokens": 5},
			map[string]any{runmodel.KeyUsageCounted: false, runmodel.KeyKind: runmodel.KindSpan},
		},
		{
			"a framework as the provider", "strands.telemetry.tracer", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents", "gen_ai.request.model": "us.anthropic.claude-sonnet-4"},
			map[string]any{runmodel.KeyProviderName: "aws.bedrock", runmodel.KeyFramework: "strands-agents", "gen_ai.system": "strands-agents"},
		},
		{
			"an API as the provider", "ai", nil,
			map[string]any{"ai.operationId": "ai.streamText.doStream", "ai.model.provider": "openai.responses"},
			map[string]any{runmodel.KeyProviderName: "openai"},
		},
		{
			"result and response, thinking and reasoning", "pydantic-ai", nil,
			map[string]any{"gen_ai.operation.name": "chat", runmodel.KeyInputMessages: `[{"role":"assistant","parts":[{"type":"thinking","content":"Hm"},` +
				`{"type":"tool_call","id":"1","name":"f","arguments":{}}]},{"role":"user","parts":[{"type":"tool_call_response","id":"1","name":"f","result":"ok"}]}]`},
			map[string]any{runmodel.KeyInputMessages: `[{"role":"assistant","parts":[{"type":"reasoning","content":"Hm"},` +
				`{"type":"tool_call","id":"1","name":"f","arguments":{}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"1","name":"f","response":"ok"}]}]`},
		},
		{
			"seconds", "openlit", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.server.time_to_first_token": 0.5},
			map[string]any{runmodel.KeyTimeToFirstChunk: 0.5},
		},
		{
			"milliseconds under the same key", "strands.telemetry.tracer", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.server.time_to_first_token": 2046},
			map[string]any{runmodel.KeyTimeToFirstChunk: 2.046},
		},
		{
			"a time in place of a duration", "langfuse-sdk", func(s ptrace.Span) { s.SetStartTimestamp(1_700_000_000_000_000_000) },
			map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.completion_start_time": `"2023-11-14T22:13:21.5Z"`},
			map[string]any{runmodel.KeyTimeToFirstChunk: 1.5},
		},
		{
			"JSON in finish reasons", "litellm", nil,
			map[string]any{"gen_ai.request.model": "gpt-5", runmodel.KeyFinishReasons: `["stop"]`},
			map[string]any{runmodel.KeyFinishReasons: []any{"stop"}, runmodel.KeyOriginalPrefix + runmodel.KeyFinishReasons: `["stop"]`},
		},
		{
			"tools as a list of JSON texts", "ai", nil,
			map[string]any{"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.tools": []any{`{"type":"function","name":"f","inputSchema":{"type":"object"}}`}},
			map[string]any{runmodel.KeyToolDefinitions: `[{"type":"function","name":"f","parameters":{"type":"object"}}]`},
		},
		{
			"numbers as strings, and none that are none", "org.springframework.boot", nil,
			map[string]any{"gen_ai.operation.name": "chat", input: "11", output: "NaN", "gen_ai.request.temperature": "0.7", "gen_ai.request.max_tokens": -1},
			map[string]any{input: int64(11), output: "NaN", "gen_ai.request.temperature": 0.7, "gen_ai.request.max_tokens": nil},
		},
		{
			"huge indices and hostile keys", "", nil,
			map[string]any{"llm.input_messages.0.message.content": "Hi", "llm.input_messages.99999999999.message.content": "x", "gen_ai.prompt.__proto__.x": "y"},
			map[string]any{runmodel.KeyInputMessages: asked, "llm.input_messages.99999999999.message.content": "x", "gen_ai.prompt.__proto__.x": "y"},
		},
		{
			"an operation that lies about the kind", "langsmith", nil,
			map[string]any{"gen_ai.operation.name": "embeddings", "langsmith.span.kind": "retriever"},
			map[string]any{"gen_ai.operation.name": "retrieval", runmodel.KeyOriginalPrefix + "gen_ai.operation.name": "embeddings"},
		},
		{
			"operations by other names", "org.springframework.boot", nil,
			map[string]any{"gen_ai.operation.name": "embedding"},
			map[string]any{"gen_ai.operation.name": "embeddings"},
		},
		{
			"contents that were not captured", "gcp.vertex.agent", spanNamed("call_llm"),
			map[string]any{"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"},
			map[string]any{runmodel.KeyInputMessages: nil, runmodel.KeyOutputMessages: nil},
		},
		{
			"one event for each direction", "strands.telemetry.tracer", withEvents(t, "chat",
				[2]any{eventDetails, map[string]any{runmodel.KeyInputMessages: asked}}, [2]any{eventDetails, map[string]any{runmodel.KeyOutputMessages: answered}}),
			map[string]any{"gen_ai.operation.name": "chat"},
			map[string]any{runmodel.KeyInputMessages: asked, runmodel.KeyOutputMessages: answered},
		},
		{
			"a turn in place of a prompt's name", "gemini-cli", nil,
			map[string]any{"gen_ai.operation.name": "llm_call", runmodel.KeyPromptName: "945b########0"},
			map[string]any{runmodel.KeyPromptName: nil, runmodel.KeyOriginalPrefix + runmodel.KeyPromptName: "945b########0"},
		},
		{
			"a project in place of a session", "langsmith", nil,
			map[string]any{"langsmith.span.kind": "chain", "langsmith.trace.session_id": "project", "langsmith.metadata.thread_id": "thread"},
			map[string]any{runmodel.KeySessionID: "thread"},
		},
		{
			"the id of a call by another key", "gemini-cli", nil,
			map[string]any{"gen_ai.operation.name": "tool_call", "gen_ai.tool.call_id": "1"},
			map[string]any{runmodel.KeyToolCallID: "1"},
		},
		{
			"one name for the model asked and the model that answered", "openinference.instrumentation.openai", nil,
			map[string]any{"openinference.span.kind": "LLM", "llm.model_name": "gpt-5-2026", "llm.invocation_parameters": `{"model":"gpt-5"}`},
			map[string]any{runmodel.KeyRequestModel: "gpt-5", runmodel.KeyResponseModel: "gpt-5-2026"},
		},
		{
			"a cost in units of its own", "github.copilot", nil,
			map[string]any{"gen_ai.operation.name": "chat", "github.copilot.cost": 1.5},
			map[string]any{runmodel.KeyCostUSD: nil},
		},
		{
			"a cost as text", "openlit", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.cost": "0.25"},
			map[string]any{runmodel.KeyCostUSD: 0.25},
		},
		{
			"a cost of 0 without a price", "openlit", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.cost": 0.0},
			map[string]any{runmodel.KeyCostUSD: nil},
		},
		{
			"a cost of 0 without a price, of AG2", "opentelemetry.instrumentation.ag2", nil,
			map[string]any{"ag2.span.type": "llm", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.cost": 0.0},
			map[string]any{runmodel.KeyCostUSD: nil},
		},
		{
			"estimates of the parts of a prompt", "@voltagent/core", nil,
			map[string]any{
				"span.type": "llm", "usage.prompt_context.system_tokens_estimated": 12, "usage.prompt_context.tool_tokens_estimated": 39,
				"usage.prompt_context.system_message_count": 1, "usage.prompt_context.tool_count": 1,
			},
			map[string]any{input: nil, output: nil},
		},
		{
			"estimates beside a count without a total", "@voltagent/core", nil,
			map[string]any{
				"span.type": "llm", "llm.usage.prompt_tokens": 301, "usage.prompt_context.tool_tokens_estimated": 39, "usage.prompt_context.tool_count": 1,
			},
			map[string]any{input: int64(301)},
		},
		{
			"no conversation out of a trace", "my.tracer", func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{1}) },
			map[string]any{"gen_ai.operation.name": "chat"},
			map[string]any{runmodel.KeyConversationID: nil, runmodel.KeySessionID: nil},
		},
		{
			"session and conversation are two things", "my.tracer", nil,
			map[string]any{"langfuse.session.id": "a", runmodel.KeySessionID: "b", runmodel.KeyConversationID: "c"},
			map[string]any{runmodel.KeySessionID: "a", runmodel.KeyConversationID: "c", runmodel.KeyOriginalPrefix + runmodel.KeySessionID: "b"},
		},
		{
			"a failure that the status does not say", "langfuse-sdk", nil,
			map[string]any{"langfuse.observation.type": "span", "langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "boom"},
			map[string]any{runmodel.KeyStatus: runmodel.StatusError, runmodel.KeyErrorMessage: "boom"},
		},
		{
			"an item of an experiment", "langfuse-sdk", nil,
			map[string]any{"langfuse.observation.type": "span", "langfuse.experiment.id": "8d030a1904c503b1"},
			map[string]any{runmodel.KeySource: runmodel.SourceEvaluation},
		},
		{
			"an item of an experiment that states its source", "langfuse-sdk", nil,
			map[string]any{"langfuse.experiment.id": "8d030a1904c503b1", runmodel.KeySource: runmodel.SourceReplay},
			map[string]any{runmodel.KeySource: runmodel.SourceReplay},
		},
		{
			"success as text", "com.anthropic.claude_code.tracing", spanNamed("claude_code.tool"),
			map[string]any{"success": "false", "tool_name": "Bash"},
			map[string]any{runmodel.KeyStatus: runmodel.StatusError, runmodel.KeyToolName: "Bash"},
		},
		{
			"an error that a tool returns", "gcp.vertex.agent", spanNamed("execute_tool f"),
			map[string]any{"gcp.vertex.agent.tool_response": `{"error":"boom"}`},
			map[string]any{runmodel.KeyStatus: runmodel.StatusError, runmodel.KeyErrorMessage: "boom"},
		},
		{
			"contents renamed to pii", "livekit-agents", spanNamed("llm_request"),
			map[string]any{"lk.pii.response.text": "Hello"},
			map[string]any{runmodel.KeyOutputMessages: answered},
		},
		{
			"calls of tools as text", "ai.koog", spanNamed("llm.chat"),
			map[string]any{"gen_ai.prompt.0.role": "tool", "gen_ai.prompt.0.content": `[{"function":{"name":"f","arguments":"{\"a\":1}"},"id":"1","type":"function"}]`},
			map[string]any{runmodel.KeyInputMessages: `[{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"f","arguments":{"a":1}}]}]`},
		},
		{
			"the schema of parameters in place of arguments", "openinference.instrumentation.smolagents", nil,
			map[string]any{"openinference.span.kind": "TOOL", "tool.parameters": `{"q":{"type":"string"}}`, "input.value": `{"args":[],"kwargs":{"q":"Tokyo"}}`},
			map[string]any{runmodel.KeyToolCallArguments: `{"q":"Tokyo"}`},
		},
		{
			"content split into indexed strings", "openinference.instrumentation.claude_agent_sdk", nil,
			map[string]any{"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content.0": "Hi"},
			map[string]any{runmodel.KeyInputMessages: asked},
		},
		{
			"a request that holds its answer", "logfire.openai_agents", spanNamed("Chat completion with {gen_ai.request.model!r}"),
			map[string]any{"input": `[{"role":"user","content":"Hi"}]`, "request_data": `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}`},
			map[string]any{runmodel.KeyInputMessages: asked},
		},
		{
			"partial usage is none", "logfire.claude_agent_sdk", nil,
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.partial.output_tokens": 0},
			map[string]any{output: nil, input: nil},
		},
		{
			"one object in place of a list of messages", "gemini-cli", nil,
			map[string]any{"gen_ai.operation.name": "llm_call", runmodel.KeyOutputMessages: `{"parts":[{"text":"Hm","thought":true},{"text":"Hello"}],"role":"model"}`},
			map[string]any{runmodel.KeyOutputMessages: `[{"role":"assistant","parts":[{"type":"reasoning","content":"Hm"},{"type":"text","content":"Hello"}]}]`},
		},
		{
			"an agent that does not know its model", "agent_framework", nil,
			map[string]any{"gen_ai.operation.name": "execute_tool", runmodel.KeyToolCallResult: `{"type":"function_result","result":"sunny"}`},
			map[string]any{runmodel.KeyToolCallResult: "sunny"},
		},
		{
			"attributes that are JSON in JSON", "mlflow", nil,
			map[string]any{"gen_ai.operation.name": `"chat"`},
			map[string]any{"gen_ai.operation.name": "chat"},
		},
		{
			"names of spans mean nothing without their scope", "my.tracer", spanNamed("agent_turn"),
			map[string]any{"a": "b"},
			map[string]any{runmodel.KeyKind: nil, runmodel.KeyDialect: nil},
		},
		{
			"redacted contents", "com.anthropic.claude_code.tracing", spanNamed("claude_code.interaction"),
			map[string]any{runmodel.KeyInputMessages: "<REDACTED>"},
			map[string]any{runmodel.KeyInputMessages: "<REDACTED>", keyContentState: stateRedacted},
		},
		{
			"contents that were cut off", "gemini-cli", nil,
			map[string]any{"gen_ai.operation.name": "llm_call", runmodel.KeyInputMessages: `[{"role":"user","par[TRUNCATED: original length 9000]`},
			map[string]any{keyContentState: stateTruncated, runmodel.KeyOriginalPrefix + runmodel.KeyInputMessages: `[{"role":"user","par[TRUNCATED: original length 9000]`},
		},
		{
			"scores in events", "my.tracer", withEvents(t, "chat", [2]any{eventEvaluation, map[string]any{
				"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.5, "gen_ai.evaluation.score.label": "half",
			}}),
			map[string]any{"gen_ai.operation.name": "chat"},
			map[string]any{runmodel.KeyScores: []any{`{"name":"relevance","value":0.5,"label":"half"}`}},
		},
		{
			"scores in OpenInference's annotations and evaluations", "my.tracer", nil,
			map[string]any{
				"openinference.span.kind":                 "CHAIN",
				"annotations.0.annotation.name":           "hallucination",
				"annotations.0.annotation.score":          1,
				"annotations.0.annotation.label":          "hallucinated",
				"annotations.0.annotation.explanation":    "not in the documents",
				"annotations.0.annotation.annotator_kind": "HUMAN",
				"annotations.0.annotation.identifier":     "judge-v2",
				"evaluations.0.evaluation.name":           "tone",
				"evaluations.0.evaluation.label":          "kind",
				"trace.evaluations.0.evaluation.name":     "correctness",
				"trace.evaluations.0.evaluation.score":    0.95,
				"annotations.999999999.annotation.name":   "beyond",
				"annotations.2.annotation.score":          1,
			},
			map[string]any{runmodel.KeyScores: []any{
				`{"name":"hallucination","value":1,"label":"hallucinated","explanation":"not in the documents","id":"judge-v2","source":"human"}`,
				`{"name":"tone","label":"kind"}`,
				`{"name":"correctness","value":0.95,"of":"run"}`,
			}},
		},
		{
			"scores that are the output of Phoenix's evaluators", "phoenix.evals.tracing", nil,
			map[string]any{
				"openinference.span.kind": "EVALUATOR",
				"output.value":            `[{"name": "faithfulness", "score": 0.5, "label": "partly", "explanation": "one of two", "metadata": {}, "kind": "llm", "direction": "maximize"}]`,
			},
			map[string]any{runmodel.KeyScores: []any{`{"name":"faithfulness","value":0.5,"label":"partly","explanation":"one of two"}`}},
		},
		{
			"an output of a model is no score", "my.tracer", nil,
			map[string]any{"openinference.span.kind": "LLM", "output.value": `[{"name": "faithfulness", "score": 0.5}]`},
			map[string]any{runmodel.KeyScores: nil},
		},
		{
			"Logfire's feedback judges the span above", "logfire", nil,
			map[string]any{"logfire.feedback.name": "factuality", "factuality": 0.1, "logfire.feedback.comment": "the agent lied"},
			map[string]any{runmodel.KeyScores: []any{`{"name":"factuality","value":0.1,"explanation":"the agent lied","of":"parent"}`}},
		},
		{
			"scores of Pydantic Evals", "pydantic-evals", nil,
			map[string]any{
				"assertions": `{"is_json":{"name":"is_json","value":true,"reason":null,"source":{"name":"IsJSON","arguments":null}}}`,
				"scores":     `{"accuracy":{"name":"accuracy","value":0.75,"reason":"close","source":{"name":"Judge","arguments":null}}}`,
				"labels":     `{"tone":{"name":"tone","value":"kind","reason":null,"source":{"name":"Tone","arguments":null}}}`,
			},
			map[string]any{runmodel.KeyScores: []any{
				`{"name":"is_json","value":true}`, `{"name":"accuracy","value":0.75,"explanation":"close"}`, `{"name":"tone","label":"kind"}`,
			}},
		},
		{
			"scores of LangWatch", "langwatch", withEvents(t, "main", [2]any{eventLangWatch, map[string]any{
				"json_encoded_event": `{"evaluation_id":"eval_1","name":"toxicity","status":"processed","passed":true,"score":0.92,"details":"grounded"}`,
			}}, [2]any{eventLangWatch, map[string]any{
				"json_encoded_event": `{"evaluation_id":"eval_2","name":"skipped","status":"skipped","score":1}`,
			}}),
			map[string]any{"langwatch.span.type": "evaluation"},
			map[string]any{runmodel.KeyScores: []any{`{"name":"toxicity","value":0.92,"label":"passed","explanation":"grounded","id":"eval_1"}`}},
		},
		{
			"parts of unknown types stay", "my.tracer", nil,
			map[string]any{"gen_ai.operation.name": "chat", runmodel.KeyOutputMessages: `[{"role":"model","parts":[{"type":"acme","x":[1,{"y":null}]}]}]`},
			map[string]any{runmodel.KeyOutputMessages: `[{"role":"assistant","parts":[{"type":"acme","x":[1,{"y":null}]}]}]`},
		},
	} {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			change := trap.span
			if change == nil {
				change = func(ptrace.Span) {}
			}
			got := mapOne(nil, trap.scope, trap.attrs, change).Attributes().AsRaw()
			for key, want := range trap.want {
				if want == nil {
					assert.NotContains(t, got, key)
				} else {
					assert.Equal(t, want, got[key], key)
				}
			}
		})
	}
}
