// Records the trip of testdata/trip.json with the stock OpenTelemetry SDK, whose HTTP exporter sends OTLP/JSON,
// and prints its trace id.
//
// Usage: send.mjs ENDPOINT KEY TRIP SERVICE
import { readFileSync } from "node:fs";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const [endpoint, key, trip, service] = process.argv.slice(2);

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": service }),
  spanProcessors: [
    new BatchSpanProcessor(
      new OTLPTraceExporter({ url: endpoint, headers: { authorization: `Bearer ${key}` } }),
    ),
  ],
});
const tracer = provider.getTracer("e2e", "1.0");

/** A structure goes as JSON text, as the GenAI conventions allow for spans. */
function attribute(value) {
  const isStructure = typeof value === "object" && !(Array.isArray(value) && typeof value[0] === "string");
  return isStructure ? JSON.stringify(value) : value;
}

function record(step, parent) {
  const span = tracer.startSpan(step.name, {}, parent);
  for (const [name, value] of Object.entries(step.attributes)) span.setAttribute(name, attribute(value));
  for (const below of step.steps) record(below, trace.setSpan(parent, span));
  if (step.error) {
    const { type, message, stack } = step.error;
    span.setAttribute("error.type", type);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
    if (stack) {
      span.addEvent("exception", {
        "exception.type": type,
        "exception.message": message,
        "exception.stacktrace": stack,
      });
    }
  }
  span.end();
  return span.spanContext().traceId;
}

const traceId = record(JSON.parse(readFileSync(trip, "utf8")), context.active());
await provider.shutdown(); // sends the rest
console.log(traceId);
