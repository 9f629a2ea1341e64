// A VoltAgent agent with a tool: an answer, a stream, a refused call.
import { createOpenAI } from '@ai-sdk/openai';
import { SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Agent, createTool, VoltAgentObservability } from '@voltagent/core';
import { z } from 'zod';
import { exporter, getWeather, knows, QUESTION, refused, SESSION, SYSTEM, TOOL_DESCRIPTION, USER } from './tracing.mjs';

const observability = new VoltAgentObservability({
  serviceName: process.env.RECORD_NAME, spanProcessors: [new SimpleSpanProcessor(exporter())],
});
const agent = new Agent({
  name: 'weather_agent', instructions: SYSTEM, observability, maxRetries: 0,
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-5-mini'),
  tools: [createTool({ name: 'get_weather', description: TOOL_DESCRIPTION, execute: getWeather,
    parameters: z.object({ city: z.string().describe('Name of the city') }) })],
});
const context = { userId: USER, conversationId: SESSION };
await knows({ conversation: SESSION, user: USER, agent: 'weather_agent' });
await agent.generateText(QUESTION, context);
for await (const _ of (await agent.streamText(QUESTION, context)).textStream);
await refused(() => agent.generateText(QUESTION, context));
await observability.forceFlush?.();
process.exit(0);
