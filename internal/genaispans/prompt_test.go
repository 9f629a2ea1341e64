package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestPrompts maps the prompt that a model call of each convention names.
func TestPrompts(t *testing.T) {
	t.Parallel()
	const id = "0198d7a2-6f52-7c61-9a0e-3d1f0f6c1b11"
	for _, test := range []struct {
		name, scope       string
		attrs             map[string]any
		id, prompt, wants string
	}{
		{
			"newest conventions", "opentelemetry.instrumentation.genai.openai",
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.prompt.name": "support/triage", "gen_ai.prompt.version": "3"},
			"", "support/triage", "3",
		},
		{
			"a version that is a number", "my.tracer",
			map[string]any{"gen_ai.operation.name": "chat", "gen_ai.prompt.name": "support/triage", "gen_ai.prompt.version": 3},
			"", "support/triage", "3",
		},
		{
			"Looptrace", "my.tracer",
			map[string]any{"looptrace.kind": "llm", "looptrace.prompt.id": id, "gen_ai.prompt.name": "support/triage", "gen_ai.prompt.version": "3"},
			id, "support/triage", "3",
		},
		{
			"OpenInference, using_prompt_template", "openinference.instrumentation.openai",
			map[string]any{"openinference.span.kind": "LLM", "llm.prompt_template.template": "Hi {{name}}", "llm.prompt_template.version": "v3"},
			"", "", "v3",
		},
		{
			"OpenInference, using_attributes", "openinference.instrumentation.openai",
			map[string]any{"openinference.span.kind": "LLM", "prompt.name": "support/triage", "prompt.version": "3", "llm.prompt_template.version": "v1"},
			"", "support/triage", "3",
		},
		{
			"OpenInference, the template's name", "openinference.instrumentation.openai",
			map[string]any{"openinference.span.kind": "LLM", "llm.prompt_template.name": "support/triage", "llm.prompt_template.version": "3"},
			"", "support/triage", "3",
		},
		{
			"OpenInference, an id of Looptrace", "openinference.instrumentation.openai",
			map[string]any{"openinference.span.kind": "LLM", "prompt.id": id, "llm.prompt_template.version": "3"},
			id, "", "3",
		},
		{
			"OpenInference, an id of another vendor", "openinference.instrumentation.openai",
			map[string]any{"openinference.span.kind": "LLM", "prompt.vendor": "langsmith", "prompt.id": "triage:abc", "prompt.url": "https://example.com/triage"},
			"", "triage:abc", "",
		},
		{
			"OpenInference's LangChain with a prompt of LangSmith", "openinference.instrumentation.langchain",
			map[string]any{"openinference.span.kind": "LLM", "metadata": `{"lc_hub_owner":"-","lc_hub_repo":"triage","lc_hub_commit_hash":"d15fe3c4"}`},
			"", "triage", "d15fe3c4",
		},
		{
			"OpenLLMetry", "opentelemetry.instrumentation.openai.v1",
			map[string]any{
				"llm.request.type": "chat", "traceloop.prompt.managed": true, "traceloop.prompt.key": "support/triage", "traceloop.prompt.version": 3,
				"traceloop.prompt.version_name": "warmer", "traceloop.prompt.version_hash": "a1b2",
			},
			"", "support/triage", "3",
		},
		{
			"OpenLLMetry, a named version", "opentelemetry.instrumentation.openai.v1",
			map[string]any{"llm.request.type": "chat", "traceloop.prompt.key": "support/triage", "traceloop.prompt.version_name": "warmer"},
			"", "support/triage", "warmer",
		},
		{
			"OpenLLMetry's LangChain with a prompt of LangSmith", "opentelemetry.instrumentation.langchain",
			map[string]any{
				"llm.request.type": "chat", "traceloop.association.properties.lc_hub_repo": "triage",
				"traceloop.association.properties.lc_hub_commit_hash": "d15fe3c4",
			},
			"", "triage", "d15fe3c4",
		},
		{
			"Langfuse", "langfuse-sdk",
			map[string]any{"langfuse.observation.type": "generation", "langfuse.observation.prompt.name": "support/triage", "langfuse.observation.prompt.version": 3},
			"", "support/triage", "3",
		},
		{
			"Langfuse through the AI SDK", "ai",
			map[string]any{"ai.operationId": "ai.generateText.doGenerate", "ai.telemetry.metadata.langfusePrompt": `{"name":"support/triage","version":3,"isFallback":false}`},
			"", "support/triage", "3",
		},
		{
			"MLflow", "mlflow",
			map[string]any{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.linkedPrompts": `[{"name": "support-triage", "version": "3"}]`},
			"", "support-triage", "3",
		},
		{
			"LangWatch", "langwatch",
			map[string]any{"langwatch.span.type": "llm", "langwatch.prompt.handle": "support/triage", "langwatch.prompt.version.number": 3},
			"", "support/triage", "3",
		},
		{
			"LangSmith", "langsmith",
			map[string]any{"langsmith.span.kind": "llm", "langsmith.metadata.lc_hub_repo": "triage", "langsmith.metadata.lc_hub_commit_hash": "d15fe3c4"},
			"", "triage", "d15fe3c4",
		},
		{
			"a turn of Claude Code is no prompt", "com.anthropic.claude_code.tracing",
			map[string]any{"span.type": "llm_request", "prompt.id": id},
			"", "", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			td := ptrace.NewTraces()
			ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
			ss.Scope().SetName(test.scope)
			s := ss.Spans().AppendEmpty()
			require.NoError(t, s.Attributes().FromRaw(test.attrs))
			NewMapper(nil).Map(td)
			for key, want := range map[string]string{
				runmodel.KeyPromptID: test.id, runmodel.KeyPromptName: test.prompt, runmodel.KeyPromptVersion: test.wants,
			} {
				got, ok := s.Attributes().Get(key)
				assert.Equal(t, want != "", ok, key)
				if ok {
					assert.Equal(t, pcommon.ValueTypeStr, got.Type(), key)
					assert.Equal(t, want, got.AsString(), key)
				}
			}
		})
	}
}
