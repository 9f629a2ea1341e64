// Vercel's AI SDK, version 7, with its own OpenTelemetry integration: generateText that fails as RECORD_MODE says.
import { createOpenAI } from '@ai-sdk/openai';
import * as otel from '@ai-sdk/otel';
import { generateText, registerTelemetry, isStepCount, tool } from 'ai';
import { z } from 'zod';
import { getWeather, knows, QUESTION, start, SYSTEM, tell, TOOL_DESCRIPTION } from './tracing.mjs';

const MODE = process.env.RECORD_MODE;
const MESSAGE = 'The town is unknown';
const MODEL_TIMEOUT = 500; // milliseconds; the provider hangs for longer
let attempts = 0;

async function execute({ city }) {
  attempts += 1;
  if (MODE === 'raise' || (MODE === 'recover' && attempts === 1)) {
    await tell('tool', { name: 'get_weather', arguments: { city }, error: MESSAGE });
    throw new Error(MESSAGE);
  }
  return getWeather({ city });
}

const provider = start();
registerTelemetry(new otel.OpenTelemetry());
try {
  const result = await generateText({
    model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-5-mini'), instructions: SYSTEM, prompt: QUESTION,
    stopWhen: isStepCount(3), maxRetries: 0, abortSignal: MODE === 'timeout' ? AbortSignal.timeout(MODEL_TIMEOUT) : undefined,
    telemetry: { isEnabled: true, functionId: 'weather' },
    tools: { get_weather: tool({ description: TOOL_DESCRIPTION, execute, needsApproval: MODE === 'interrupt',
      inputSchema: z.object({ city: z.string().describe('Name of the city') }) }) },
  });
  const waits = result.content.some((part) => part.type === 'tool-approval-request');
  await knows({ ended: waits ? 'waits' : 'answered' });
} catch (error) { // the class is the library's own
  await knows({ ended: 'raised', raised: { type: error.name, message: error.message } });
}
await provider.forceFlush();
