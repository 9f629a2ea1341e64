// Vercel's AI SDK, versions 5 and 6: generateText with a tool, streamText, a refused call, embedMany.
import { createOpenAI } from '@ai-sdk/openai';
import { embedMany, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { getWeather, knows, QUESTION, refused, SESSION, start, SYSTEM, TOOL_DESCRIPTION, USER } from './tracing.mjs';

const provider = start();
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const model = openai.chat('gpt-5-mini');
const experimental_telemetry = {
  isEnabled: true, functionId: 'weather', metadata: { sessionId: SESSION, userId: USER },
};
await knows({ session: SESSION, user: USER });
await generateText({
  model, system: SYSTEM, prompt: QUESTION, stopWhen: stepCountIs(3), maxRetries: 0, experimental_telemetry,
  tools: { get_weather: tool({ description: TOOL_DESCRIPTION, execute: getWeather,
    inputSchema: z.object({ city: z.string().describe('Name of the city') }) }) },
});
await streamText({ model, prompt: QUESTION, maxRetries: 0, experimental_telemetry }).consumeStream();
await refused(() => generateText({ model, prompt: QUESTION, maxRetries: 0, experimental_telemetry }));
await embedMany({ model: openai.textEmbeddingModel('text-embedding-3-small'), values: ['Paris', 'Rome'], experimental_telemetry });
await provider.forceFlush();
