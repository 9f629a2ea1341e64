// A service with the stock OpenTelemetry SDK. It answers three requests, each with a call of a model, a log record and a data
// point.
//
// Prints its traces and the attribute "id" of everything that it sent as JSON. The standard environment configures it. Fails if
// an export failed.
import { randomUUID } from "node:crypto";
import { DiagLogLevel, diag, metrics, SpanKind, trace } from "@opentelemetry/api";
import { logs, SeverityNumber } from "@opentelemetry/api-logs";
import { NodeSDK } from "@opentelemetry/sdk-node";

// The SDK logs failures and returns none.
const failed = (...what) => {
  console.error(...what);
  process.exitCode = 1;
};
const ignore = () => {};
diag.setLogger(
  { error: failed, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
  { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
);

const sdk = new NodeSDK();
sdk.start();
const tracer = trace.getTracer("shop");
const logger = logs.getLogger("shop");
const requests = metrics.getMeter("shop").createCounter("shop.requests");

const traces = [];
const ids = [];
const unique = () => {
  ids.push(randomUUID());
  return ids.at(-1);
};

function callModel() {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 30,
    id: unique(),
  };
  tracer.startActiveSpan("chat gpt-4o-mini", { kind: SpanKind.CLIENT, attributes }, (span) => {
    logger.emit({
      severityNumber: SeverityNumber.INFO,
      severityText: "INFO",
      body: "a model wrote",
      attributes: { id: unique() },
    });
    span.end();
  });
}

for (let i = 0; i < 3; i++) {
  const attributes = {
    "http.request.method": "POST",
    "http.route": "/recommendations",
    "url.path": "/recommendations",
    "url.scheme": "http",
    "http.response.status_code": 200,
    id: unique(),
  };
  tracer.startActiveSpan("POST /recommendations", { kind: SpanKind.SERVER, attributes }, (span) => {
    callModel();
    requests.add(1, { id: unique() });
    span.end();
    traces.push(span.spanContext().traceId);
  });
}

await sdk.shutdown(); // sends the rest
console.log(JSON.stringify({ traces, ids }));
