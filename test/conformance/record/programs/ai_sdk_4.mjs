// Vercel's AI SDK, version 4: generateText with a tool, streamText, a refused call.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText, tool } from 'ai';
import { z } from 'zod';
import { getWeather, knows, QUESTION, refused, SESSION, start, SYSTEM, TOOL_DESCRIPTION, USER } from './tracing.mjs';

const provider = start();
const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, compatibility: 'strict' }).chat('gpt-4.1-mini');
const experimental_telemetry = {
  isEnabled: true, functionId: 'weather', metadata: { sessionId: SESSION, userId: USER },
};
await knows({ session: SESSION, user: USER });
await generateText({
  model, system: SYSTEM, prompt: QUESTION, maxSteps: 3, maxRetries: 0, experimental_telemetry,
  tools: { get_weather: tool({ description: TOOL_DESCRIPTION, execute: getWeather,
    parameters: z.object({ city: z.string().describe('Name of the city') }) }) },
});
await streamText({ model, prompt: QUESTION, maxRetries: 0, experimental_telemetry }).consumeStream();
await refused(() => generateText({ model, prompt: QUESTION, maxRetries: 0, experimental_telemetry }));
await provider.forceFlush();
