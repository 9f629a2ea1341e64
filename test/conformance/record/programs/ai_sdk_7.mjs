// Vercel's AI SDK, version 7, with its own OpenTelemetry integration: generateText with a tool, streamText, a refused call.
import { createOpenAI } from '@ai-sdk/openai';
import * as otel from '@ai-sdk/otel';
import * as ai from 'ai';
import { z } from 'zod';
import { getWeather, QUESTION, refused, start, SYSTEM, TOOL_DESCRIPTION } from './tracing.mjs';

const provider = start();
ai.registerTelemetry(new otel.OpenTelemetry());
const { generateText, isStepCount, stepCountIs, streamText, tool } = ai;
const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-5-mini');
const telemetry = { isEnabled: true, functionId: 'weather' };
await generateText({
  model, instructions: SYSTEM, prompt: QUESTION, stopWhen: (isStepCount ?? stepCountIs)(3), maxRetries: 0, telemetry,
  tools: { get_weather: tool({ description: TOOL_DESCRIPTION, execute: getWeather,
    inputSchema: z.object({ city: z.string().describe('Name of the city') }) }) },
});
await streamText({ model, prompt: QUESTION, maxRetries: 0, telemetry }).consumeStream();
await refused(() => generateText({ model, prompt: QUESTION, maxRetries: 0, telemetry }));
await provider.forceFlush();
