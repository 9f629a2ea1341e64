package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// providers maps the provider names that instrumentations write, in lower case, to the conventions' values
// (gen_ai.provider.name in model/gen-ai/registry.yaml).
var providers = map[string]string{
	"openai": "openai", "azure": "azure.ai.openai", "azure-openai": "azure.ai.openai", "az.ai.openai": "azure.ai.openai",
	"azure_openai": "azure.ai.openai", "azureopenai": "azure.ai.openai", "azure.ai.openai": "azure.ai.openai",
	"az.ai.inference": "azure.ai.inference", "azure.ai.inference": "azure.ai.inference", "azure_ai_inference": "azure.ai.inference",
	"azure_ai":  "azure.ai.inference",
	"anthropic": "anthropic", "aws": "aws.bedrock", "bedrock": "aws.bedrock", "amazon-bedrock": "aws.bedrock",
	"aws.bedrock": "aws.bedrock", "aws_bedrock": "aws.bedrock", "amazon_bedrock": "aws.bedrock", "bedrock_converse": "aws.bedrock",
	"gemini": "gcp.gemini", "google-gla": "gcp.gemini", "google_ai_studio": "gcp.gemini", "gcp.gemini": "gcp.gemini",
	"google.generative-ai": "gcp.gemini", "googleai": "gcp.gemini", "google_genai": "gcp.gen_ai", "google": "gcp.gen_ai",
	"gcp.gen_ai": "gcp.gen_ai", "google-genai": "gcp.gen_ai", "google_generativeai": "gcp.gen_ai",
	"vertex_ai": "gcp.vertex_ai", "vertexai": "gcp.vertex_ai", "google-vertex": "gcp.vertex_ai", "google.vertex": "gcp.vertex_ai",
	"gcp.vertex_ai": "gcp.vertex_ai", "google_vertexai": "gcp.vertex_ai", "vertex": "gcp.vertex_ai",
	"cohere": "cohere", "mistral": "mistral_ai", "mistralai": "mistral_ai", "mistral_ai": "mistral_ai", "groq": "groq",
	"deepseek": "deepseek", "perplexity": "perplexity", "xai": "x_ai", "x_ai": "x_ai", "grok": "x_ai",
	"watsonx": "ibm.watsonx.ai", "ibm.watson.ai": "ibm.watsonx.ai", "ibm.watsonx.ai": "ibm.watsonx.ai",
	"moonshot": "moonshot_ai", "moonshotai": "moonshot_ai", "moonshot_ai": "moonshot_ai",
}

// notProviders are frameworks and gateways that instrumentations write as the provider. They do not identify the
// model's provider. The value is the framework.
var notProviders = map[string]string{
	"strands-agents": "strands-agents", "microsoft.agent_framework": "microsoft.agent_framework", "autogen": "autogen",
	"gcp.vertex.agent": "google-adk", "langchain": "langchain", "langgraph": "langgraph", "llamaindex": "llamaindex",
	"llama_index": "llamaindex", "crewai": "crewai", "haystack": "haystack", "openai_agents": "openai-agents", "gateway": "",
	"agno": "agno", "pydantic-ai": "pydantic-ai", "litellm": "litellm", "unknown": "", "_other": "", "spring_ai": "spring-ai",
}

// applyProvider writes the conventions' name of the provider. A framework is written to its own field, and the
// provider is then derived from the model.
func (x *span) applyProvider() {
	c := &x.best[toProvider]
	sent := c.plain()
	framework, isFramework := notProviders[strings.ToLower(sent)]
	if isFramework {
		x.setFramework(framework)
		if provider := providerOfModel(x.text(toRequestModel), x.text(toResponseModel)); provider != "" && x.isCall() {
			x.putString(toProvider, provider)
		} else if old, ok := x.attrs.Get(runmodel.KeyProviderName); ok {
			x.keepOriginal(runmodel.KeyProviderName, old)
			x.attrs.Remove(runmodel.KeyProviderName)
		}
		return
	}
	if sent == "" {
		if x.isCall() {
			if provider := providerOfModel(x.text(toRequestModel), x.text(toResponseModel)); provider != "" {
				x.best[toProvider].source = "model"
				x.putString(toProvider, provider)
			}
		}
		return
	}
	if provider := canonicalProvider(sent); provider != x.str(runmodel.KeyProviderName) {
		x.putString(toProvider, provider)
	}
}

// canonicalProvider maps names like openai.responses, google.generative-ai.chat and Azure. Unknown names stay
// unchanged.
func canonicalProvider(sent string) string {
	name := strings.ToLower(sent)
	for {
		if provider, ok := providers[name]; ok {
			return provider
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return sent
		}
		name = name[:dot]
	}
}

// modelPrefixes map prefixes of model names to providers.
var modelPrefixes = []struct{ prefix, provider string }{
	{"arn:aws:bedrock", "aws.bedrock"},
	{"anthropic.claude", "aws.bedrock"},
	{"us.anthropic.", "aws.bedrock"},
	{"eu.anthropic.", "aws.bedrock"},
	{"global.anthropic.", "aws.bedrock"},
	{"us.amazon.", "aws.bedrock"},
	{"amazon.", "aws.bedrock"},
	{"gpt-", "openai"},
	{"chatgpt", "openai"},
	{"o1", "openai"},
	{"o3", "openai"},
	{"o4", "openai"},
	{"text-embedding-", "openai"},
	{"davinci", "openai"},
	{"dall-e", "openai"},
	{"claude", "anthropic"},
	{"gemini", "gcp.gemini"},
	{"mistral", "mistral_ai"},
	{"codestral", "mistral_ai"},
	{"ministral", "mistral_ai"},
	{"command-", "cohere"},
	{"deepseek", "deepseek"},
	{"grok", "x_ai"},
	{"kimi", "moonshot_ai"},
	{"sonar", "perplexity"},
}

// providerOfModel returns the provider for a model name, or "" if it is unknown.
func providerOfModel(models ...string) string {
	for _, model := range models {
		model = strings.ToLower(strings.TrimPrefix(model, "models/"))
		if vendor, _, found := strings.Cut(model, "/"); found {
			if provider, ok := providers[vendor]; ok {
				return provider
			}
			continue
		}
		for _, known := range modelPrefixes {
			if strings.HasPrefix(model, known.prefix) {
				return known.provider
			}
		}
	}
	return ""
}

func (x *span) setFramework(framework string) {
	if framework == "" {
		return
	}
	if value, had := x.own(ownFramework); !had {
		value.SetStr(framework)
	}
}

// frameworkOfScope returns the framework that a scope name of OpenInference or OpenLLMetry ends with.
func frameworkOfScope(scope string) string {
	for _, prefix := range []string{"openinference.instrumentation.", "@arizeai/openinference-instrumentation-", "@traceloop/instrumentation-", contribScope, "openlit.otel.", "logfire."} {
		if name, ok := strings.CutPrefix(scope, prefix); ok {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_v2"), ".v1"), ".v0")
			return frameworks[name]
		}
	}
	return ""
}

// frameworks are the instrumented agent frameworks and SDKs, without the providers' own clients.
var frameworks = map[string]string{
	"langchain": "langchain", "langgraph": "langgraph", "llama_index": "llamaindex", "llamaindex": "llamaindex", "crewai": "crewai",
	"openai_agents": "openai-agents", "haystack": "haystack", "smolagents": "smolagents", "agno": "agno", "autogen": "autogen",
	"autogen_agentchat": "autogen", "beeai": "beeai", "dspy": "dspy", "google_adk": "google-adk", "instructor": "instructor",
	"litellm": "litellm", "pydantic_ai": "pydantic-ai", "claude_agent_sdk": "claude-agent-sdk", "strands": "strands-agents",
	"mcp": "mcp", "guardrails": "guardrails", "pipecat": "pipecat", "portkey": "portkey", "promptflow": "promptflow",
	"strands_agents": "strands-agents", "openlit": "", "semantic_kernel": "semantic-kernel",
}
