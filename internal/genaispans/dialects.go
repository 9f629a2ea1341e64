package genaispans

// dialects are the tables by dialect id, in the order of detection.
var dialects = [dialectCount]dialect{
	native:         nativeDialect,
	langfuse:       langfuseDialect,
	openInference:  openInferenceDialect,
	openLLMetry:    openLLMetryDialect,
	vercel:         vercelDialect,
	vercel7:        vercel7Dialect,
	pydanticAI:     pydanticAIDialect,
	logfire:        logfireDialect,
	googleADK:      googleADKDialect,
	strands:        strandsDialect,
	agentFramework: agentFrameworkDialect,
	semanticKernel: semanticKernelDialect,
	autoGen:        autoGenDialect,
	ag2:            ag2Dialect,
	haystack:       haystackDialect,
	liveKit:        liveKitDialect,
	genkit:         genkitDialect,
	springAI:       springAIDialect,
	liteLLM:        liteLLMDialect,
	langSmith:      langSmithDialect,
	mlflow:         mlflowDialect,
	claudeCode:     claudeCodeDialect,
	anthropicSDK:   anthropicSDKDialect,
	codex:          codexDialect,
	geminiCLI:      geminiCLIDialect,
	copilot:        copilotDialect,
	mastra:         mastraDialect,
	openLIT:        openLITDialect,
	agentOps:       agentOpsDialect,
	laminar:        laminarDialect,
	sentry:         sentryDialect,
	koog:           koogDialect,
	langWatch:      langWatchDialect,
	weave:          weaveDialect,
	agenta:         agentaDialect,
	voltAgent:      voltAgentDialect,
	flue:           flueDialect,
	openRouter:     openRouterDialect,
	mcp:            mcpDialect,
	otelGenAI:      otelGenAIDialect,
	otelGenAIOld:   otelGenAIOldDialect,
	generic:        genericDialect,
}

// Dialects returns the names of the dialects, which are the values of looptrace.dialect, in the order of detection.
func Dialects() []string {
	names := make([]string, 0, len(dialects))
	for id := range dialects {
		names = append(names, dialects[id].name)
	}
	return names
}
