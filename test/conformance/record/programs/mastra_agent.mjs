// A Mastra agent with a tool, exported by Mastra's OpenTelemetry exporter; a second run whose model call is refused.
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';
import { getWeather, knows, QUESTION, SYSTEM, TOOL_DESCRIPTION } from './tracing.mjs';

const agent = new Agent({
  id: 'weather_agent', name: 'weather_agent', instructions: SYSTEM, maxRetries: 0,
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-5-mini'),
  tools: { get_weather: createTool({ id: 'get_weather', description: TOOL_DESCRIPTION,
    inputSchema: z.object({ city: z.string().describe('Name of the city') }),
    execute: (input) => getWeather(input.context ?? input) }) },
});
const mastra = new Mastra({
  agents: { weather_agent: agent },
  observability: new Observability({ configs: { otel: { serviceName: 'weather', exporters: [new OtelExporter({ provider: { custom: {
    endpoint: `${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, protocol: 'http/json' } } })] } } }),
});
await knows({ agent: 'weather_agent' });
await mastra.getAgent('weather_agent').generate(QUESTION);
await mastra.observability.getDefaultInstance?.()?.flush?.();
await mastra.shutdown?.();
