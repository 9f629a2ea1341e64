import { describe, expect, it } from "vitest";
import { type Snippet, snippets } from "./snippets";

const input = {
  origin: "http://trace.example:7090",
  key: "lt_abc.def",
  runId: "0198c0de-0000-7000-8000-000000000001",
  spanId: "00f067aa0ba902b7",
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  failedRunId: "0198c0de-0000-7000-8000-000000000002",
  now: new Date("2026-03-01T12:00:00Z"),
};
const all = snippets(input);

function bodyOf(snippet: Snippet | undefined): unknown {
  const body = /-d '([\s\S]*)'/.exec(snippet?.code ?? "")?.[1];
  return JSON.parse(body ?? "");
}

describe("snippets", () => {
  it.each(all.map((snippet) => [snippet.id, snippet] as const))("%s holds address and key", (_, snippet) => {
    const text = snippet.code + (snippet.run ?? "");
    expect(text).toContain("trace.example");
    expect(text).toContain("lt_abc.def");
    expect(text).not.toContain("undefined");
  });

  it("sends a run with all required members", () => {
    expect(bodyOf(all.find((snippet) => snippet.id === "curl"))).toMatchObject({
      runs: [{ run_id: input.runId, start_time: "2026-03-01T11:59:58.000Z" }],
      spans: [{ run_id: input.runId, span_id: input.spanId }],
    });
  });

  it("sends a run that fails, newer than the first run and with an id of its own", () => {
    expect(bodyOf(all.find((snippet) => snippet.id === "curl-failed"))).toMatchObject({
      runs: [{ run_id: input.failedRunId, status: "error", start_time: "2026-03-01T11:59:59.000Z" }],
      spans: [{ run_id: input.failedRunId, status: "error", error: { type: "TimeoutError" } }],
    });
  });

  it("writes OTLP JSON with hexadecimal ids and nanoseconds as strings", () => {
    expect(bodyOf(all.find((snippet) => snippet.id === "curl-otlp"))).toMatchObject({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                { traceId: input.traceId, spanId: input.spanId, endTimeUnixNano: "1772366400000000000" },
              ],
            },
          ],
        },
      ],
    });
  });

  it("sends gRPC to the standard port and HTTP to this origin", () => {
    expect(all.find((snippet) => snippet.id === "python-grpc")?.code).toContain(
      '"http://trace.example:4317"',
    );
    expect(all.find((snippet) => snippet.id === "python")?.code).toContain(
      '"http://trace.example:7090/v1/traces"',
    );
  });
});
