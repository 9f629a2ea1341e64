// What the recorded programs of Node.js share: a tracer provider that exports to the recorder, and tools that say what
// they did.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';

export const QUESTION = 'What is the weather in Paris?';
export const SYSTEM = 'You are a weather clerk. Use the tool.';
export const WEATHER = 'Rain, 12 degrees';
export const SESSION = 'thread-7';
export const USER = 'ada';
export const TOOL_DESCRIPTION = 'The weather of a city.';

export const exporter = () => new OTLPTraceExporter();

export function start() {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process.env.RECORD_NAME }),
    spanProcessors: [new SimpleSpanProcessor(exporter())],
  });
  provider.register();
  return provider;
}

export async function tell(what, value) {
  await fetch(`${process.env.RECORD_PROVIDER}/journal/${what}`, { method: 'POST', body: JSON.stringify(value) });
}

export const knows = (context) => tell('context', context);

export async function getWeather({ city }) {
  await tell('tool', { name: 'get_weather', arguments: { city }, result: WEATHER });
  return WEATHER;
}

export async function refused(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('the provider was to refuse this call');
}
