// A Genkit flow with a tool on an OpenAI model; a second run whose model call is refused.
import { openAI } from '@genkit-ai/compat-oai/openai';
import { genkit, z } from 'genkit';
import { getWeather, QUESTION, refused, start, SYSTEM, TOOL_DESCRIPTION } from './tracing.mjs';

const provider = start();
const ai = genkit({ plugins: [openAI({ apiKey: 'none', baseURL: process.env.OPENAI_BASE_URL, maxRetries: 0 })] });
const get_weather = ai.defineTool(
  { name: 'get_weather', description: TOOL_DESCRIPTION, inputSchema: z.object({ city: z.string().describe('Name of the city') }) },
  getWeather);
const weather = ai.defineFlow('weather', async (question) =>
  (await ai.generate({ model: 'openai/gpt-4o-mini', system: SYSTEM, prompt: question, tools: [get_weather] })).text);
await weather(QUESTION);
await refused(() => weather(QUESTION));
await provider.forceFlush();
