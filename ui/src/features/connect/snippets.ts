export interface Snippet {
  id: string;
  label: string;
  /** Commands to run first. */
  install?: string;
  /** The file that the code belongs in. Missing for shell commands. */
  file?: string;
  code: string;
  /** How to run it. */
  run?: string;
  note?: string;
}

export interface SnippetInput {
  /** The address of this installation, without a trailing slash. */
  origin: string;
  /** The full key, or a placeholder. */
  key: string;
  /** Ids and time of the example run. */
  runId: string;
  spanId: string;
  traceId: string;
  failedRunId: string;
  now: Date;
}

/** The code that records a first run, complete to paste, for each language. */
export function snippets(input: SnippetInput): Snippet[] {
  return [
    nativeJSON(input),
    failedRun(input),
    otlpJSON(input),
    pythonSDK(input),
    pythonHTTP(input),
    pythonGRPC(input),
    goSDK(input),
    node(input),
  ];
}

function nativeJSON({ origin, key, runId, spanId, now }: SnippetInput): Snippet {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
  const body = {
    runs: [
      {
        run_id: runId,
        name: "hello looptrace",
        kind: "agent",
        start_time: at(-2),
        end_time: at(0),
        inputs: "What is the capital of France?",
        outputs: "Paris.",
      },
    ],
    spans: [
      {
        span_id: spanId,
        run_id: runId,
        name: "chat",
        kind: "llm",
        model: "gpt-4o-mini",
        provider: "openai",
        start_time: at(-1.8),
        end_time: at(-0.2),
        inputs: "What is the capital of France?",
        outputs: "Paris.",
        usage: { input_tokens: 14, output_tokens: 3 },
      },
    ],
  };
  return { id: "curl", label: "curl", code: curl(`${origin}/v1/runs`, key, body) };
}

function failedRun({ origin, key, failedRunId, spanId, now }: SnippetInput): Snippet {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
  const error = { type: "TimeoutError", message: "The weather service did not answer within 5 s." };
  const body = {
    runs: [
      {
        run_id: failedRunId,
        name: "weather agent",
        kind: "agent",
        status: "error",
        start_time: at(-1),
        end_time: at(0),
        inputs: "Do I need an umbrella in Paris?",
        error,
      },
    ],
    spans: [
      {
        span_id: spanId,
        run_id: failedRunId,
        name: "get_weather",
        kind: "tool",
        status: "error",
        start_time: at(-0.8),
        end_time: at(-0.1),
        tool: { name: "get_weather", arguments: { city: "Paris" } },
        error,
      },
    ],
  };
  return {
    id: "curl-failed",
    label: "curl, a run that fails",
    code: curl(`${origin}/v1/runs`, key, body),
    note: "The run appears under Failures. Its page copies it as text for a coding agent.",
  };
}

function otlpJSON({ origin, key, traceId, spanId, now }: SnippetInput): Snippet {
  const nanos = (seconds: number) => `${now.getTime() + seconds * 1000}000000`;
  const text = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const said = (role: string, content: string) =>
    JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
  const count = (name: string, value: number) => ({ key: name, value: { intValue: String(value) } });
  const body = {
    resourceSpans: [
      {
        resource: { attributes: [text("service.name", "hello-looptrace")] },
        scopeSpans: [
          {
            scope: { name: "curl" },
            spans: [
              {
                traceId,
                spanId,
                name: "chat gpt-4o-mini",
                kind: 3,
                startTimeUnixNano: nanos(-2),
                endTimeUnixNano: nanos(0),
                attributes: [
                  text("gen_ai.operation.name", "chat"),
                  text("gen_ai.provider.name", "openai"),
                  text("gen_ai.request.model", "gpt-4o-mini"),
                  text("gen_ai.input.messages", said("user", "What is the capital of France?")),
                  text("gen_ai.output.messages", said("assistant", "Paris.")),
                  count("gen_ai.usage.input_tokens", 14),
                  count("gen_ai.usage.output_tokens", 3),
                ],
              },
            ],
          },
        ],
      },
    ],
  };
  return {
    id: "curl-otlp",
    label: "curl, OTLP",
    code: curl(`${origin}/v1/traces`, key, body),
  };
}

function curl(url: string, key: string, body: unknown): string {
  return `curl -sS ${url} \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2)}'
`;
}

function pythonSDK({ origin, key }: SnippetInput): Snippet {
  return {
    id: "python-sdk",
    label: "Python SDK",
    install: "pip install ./sdk/python",
    file: "hello.py",
    code: `import looptrace

looptrace.init()


@looptrace.tool
def look_up(country: str) -> str:
    return "Paris"


@looptrace.agent
def answer(question: str) -> str:
    return look_up("France")


print(answer("What is the capital of France?"))
`,
    run: `export LOOPTRACE_ENDPOINT=${origin}
export LOOPTRACE_API_KEY=${key}
python hello.py`,
    note: "The package is in the folder sdk/python of Looptrace's source. Your program's framework is in the same list.",
  };
}

const pythonBody = `
provider = TracerProvider(resource=Resource.create({"service.name": "hello-looptrace"}))
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("hello")

with tracer.start_as_current_span("hello looptrace") as run:
    run.set_attribute("gen_ai.operation.name", "invoke_agent")
    run.set_attribute("gen_ai.agent.name", "hello")
    with tracer.start_as_current_span("chat gpt-4o-mini") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.provider.name", "openai")
        span.set_attribute("gen_ai.request.model", "gpt-4o-mini")
        span.set_attribute("gen_ai.input.messages", json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "What is the capital of France?"}]}]))
        span.set_attribute("gen_ai.output.messages", json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": "Paris."}], "finish_reason": "stop"}]))
        span.set_attribute("gen_ai.usage.input_tokens", 14)
        span.set_attribute("gen_ai.usage.output_tokens", 3)

provider.shutdown()  # sends pending spans
`;

function pythonHTTP({ origin, key }: SnippetInput): Snippet {
  return {
    id: "python",
    label: "Python",
    install: "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http",
    file: "hello.py",
    code: `import json

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

exporter = OTLPSpanExporter(
    endpoint="${origin}/v1/traces",
    headers={"x-api-key": "${key}"},
)
${pythonBody}`,
    run: "python hello.py",
  };
}

function pythonGRPC({ origin, key }: SnippetInput): Snippet {
  const host = new URL(origin).hostname;
  return {
    id: "python-grpc",
    label: "Python, gRPC",
    install: "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-grpc",
    file: "hello.py",
    code: `import json

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

exporter = OTLPSpanExporter(
    endpoint="http://${host}:4317",
    insecure=True,
    headers=(("x-api-key", "${key}"),),
)
${pythonBody}`,
    run: "python hello.py",
    note: "4317 is the default port for OTLP over gRPC. A port offset changes it.",
  };
}

function goSDK({ origin, key }: SnippetInput): Snippet {
  return {
    id: "go",
    label: "Go",
    install: `go mod init hello
go get go.opentelemetry.io/otel/sdk go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp`,
    file: "main.go",
    code: `package main

import (
	"context"
	"encoding/json"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

func said(role, text string) string {
	messages, _ := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}})
	return string(messages)
}

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL("${origin}/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"x-api-key": "${key}"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", "hello-looptrace"))),
	)
	tracer := provider.Tracer("hello")

	ctx, run := tracer.Start(ctx, "hello looptrace")
	run.SetAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", "hello"),
	)
	_, span := tracer.Start(ctx, "chat gpt-4o-mini")
	span.SetAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", "gpt-4o-mini"),
		attribute.String("gen_ai.input.messages", said("user", "What is the capital of France?")),
		attribute.String("gen_ai.output.messages", said("assistant", "Paris.")),
		attribute.Int("gen_ai.usage.input_tokens", 14),
		attribute.Int("gen_ai.usage.output_tokens", 3),
	)
	span.End()
	run.End()

	// Shutdown sends pending spans.
	if err := provider.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
}
`,
    run: "go mod tidy && go run .",
  };
}

function node({ origin, key }: SnippetInput): Snippet {
  return {
    id: "node",
    label: "Node",
    install: "npm install @opentelemetry/api @opentelemetry/sdk-node",
    file: "hello.mjs",
    code: `import { trace } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";

const sdk = new NodeSDK(); // reads the address and the key from the environment
sdk.start();
const tracer = trace.getTracer("hello");
const said = (role, content) => JSON.stringify([{ role, parts: [{ type: "text", content }] }]);

tracer.startActiveSpan("hello looptrace", (run) => {
  run.setAttributes({ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "hello" });
  tracer.startActiveSpan("chat gpt-4o-mini", (span) => {
    span.setAttributes({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o-mini",
      "gen_ai.input.messages": said("user", "What is the capital of France?"),
      "gen_ai.output.messages": said("assistant", "Paris."),
      "gen_ai.usage.input_tokens": 14,
      "gen_ai.usage.output_tokens": 3,
    });
    span.end();
  });
  run.end();
});

await sdk.shutdown(); // sends pending spans
`,
    run: `export OTEL_SERVICE_NAME=hello-looptrace
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=${origin}
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${key}
export OTEL_METRICS_EXPORTER=none
node hello.mjs`,
    note: "These variables work for any OpenTelemetry SDK. The recipes for zero-code say what records messages without code changes.",
  };
}
