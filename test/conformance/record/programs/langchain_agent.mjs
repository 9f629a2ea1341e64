// A LangChain agent of Node.js with a tool, in a thread of its own; a second run whose model call is refused.
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as CallbackManager from '@langchain/core/callbacks/manager';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { getWeather, knows, QUESTION, refused, SESSION, start, SYSTEM, TOOL_DESCRIPTION } from './tracing.mjs';

const provider = start();
const instrumentation = new LangChainInstrumentation({ tracerProvider: provider });
instrumentation.manuallyInstrument(CallbackManager);

const agent = createAgent({
  name: 'weather_agent', systemPrompt: SYSTEM,
  model: new ChatOpenAI({ model: 'gpt-5-mini', maxRetries: 0, useResponsesApi: false }),
  tools: [tool(getWeather, { name: 'get_weather', description: TOOL_DESCRIPTION,
    schema: z.object({ city: z.string().describe('Name of the city') }) })],
});
const question = { messages: [{ role: 'user', content: QUESTION }] };
const config = { configurable: { thread_id: SESSION }, metadata: { session_id: SESSION } };
await knows({ session: SESSION, agent: 'weather_agent' });
await agent.invoke(question, config);
await refused(() => agent.invoke(question, config));
await provider.forceFlush();
