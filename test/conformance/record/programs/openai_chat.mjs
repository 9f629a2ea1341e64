// Chat completions through OpenAI's client of Node.js: a tool call and its answer, a stream, an error.
// RECORD_INSTRUMENT names the instrumentation as MODULE:CLASS.
import { createRequire } from 'node:module';
import { getWeather, QUESTION, refused, start, SYSTEM, TOOL_DESCRIPTION } from './tracing.mjs';

const provider = start();
const [module, name] = process.env.RECORD_INSTRUMENT.split(':');
const instrumentation = new (await import(module))[name]();
instrumentation.setTracerProvider(provider);
const OpenAI = createRequire(import.meta.url)('openai');
instrumentation.manuallyInstrument?.(OpenAI.OpenAI ?? OpenAI);

const client = new OpenAI.OpenAI({ maxRetries: 0 });
const model = 'gpt-5-mini';
const tools = [{ type: 'function', function: { name: 'get_weather', description: TOOL_DESCRIPTION, parameters: {
  type: 'object', required: ['city'], properties: { city: { type: 'string', description: 'Name of the city' } } } } }];
const messages = [{ role: 'system', content: SYSTEM }, { role: 'user', content: QUESTION }];
const { message } = (await client.chat.completions.create({ model, messages, tools })).choices[0];
const call = message.tool_calls[0];
const content = await getWeather(JSON.parse(call.function.arguments));
messages.push({ role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: call.id, content });
await client.chat.completions.create({ model, messages, tools });
const question = [{ role: 'user', content: QUESTION }];
const stream = await client.chat.completions.create(
  { model, messages: question, stream: true, stream_options: { include_usage: true } });
for await (const _ of stream);
await refused(() => client.chat.completions.create({ model, messages: question, temperature: 3 }));
await provider.forceFlush();
