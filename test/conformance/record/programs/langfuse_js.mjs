// Langfuse's SDK of JavaScript: an observed agent and tool, OpenAI's client in its wrapper, a session and a user.
import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { observe, propagateAttributes } from '@langfuse/tracing';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import OpenAI from 'openai';
import { exporter, getWeather, knows, QUESTION, refused, SESSION, SYSTEM, TOOL_DESCRIPTION, USER } from './tracing.mjs';

const provider = new NodeTracerProvider({ spanProcessors: [new LangfuseSpanProcessor({ exporter: exporter(), exportMode: 'immediate' })] });
provider.register();
const client = observeOpenAI(new OpenAI({ maxRetries: 0 }));
const model = 'gpt-5-mini';
const tools = [{ type: 'function', function: { name: 'get_weather', description: TOOL_DESCRIPTION, parameters: {
  type: 'object', required: ['city'], properties: { city: { type: 'string', description: 'Name of the city' } } } } }];
const get_weather = observe(getWeather, { name: 'get_weather', asType: 'tool' });
const weatherAgent = observe(async (question) => {
  const messages = [{ role: 'system', content: SYSTEM }, { role: 'user', content: question }];
  const { message } = (await client.chat.completions.create({ model, messages, tools })).choices[0];
  const call = message.tool_calls[0];
  const content = await get_weather(JSON.parse(call.function.arguments));
  messages.push({ role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: call.id, content });
  return (await client.chat.completions.create({ model, messages, tools })).choices[0].message.content;
}, { name: 'weather_agent', asType: 'agent' });
await knows({ session: SESSION, user: USER, tags: ['clerk', 'test'] });
await propagateAttributes({ sessionId: SESSION, userId: USER, tags: ['clerk', 'test'] }, async () => {
  await weatherAgent(QUESTION);
  await refused(() => weatherAgent(QUESTION));
});
await provider.forceFlush();
