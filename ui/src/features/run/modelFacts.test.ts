import { describe, expect, it } from "vitest";
import type { Span } from "@/api/types";
import { modelFacts } from "./modelFacts";

const span = (kind: string, more: Partial<Span> = {}) =>
  ({
    kind,
    request_model: null,
    response_model: null,
    provider: null,
    usage: null,
    usage_counted: true,
    cost_usd: null,
    cost_source: null,
    price_version: null,
    time_to_first_token_ms: null,
    ...more,
  }) as Span;
const usage = {
  input_tokens: 12,
  output_tokens: null,
  cache_read_input_tokens: null,
  cache_write_input_tokens: null,
  reasoning_output_tokens: null,
  other_tokens: null,
  total_tokens: 12,
};
const told = (of: Span) => modelFacts(of).map(({ label, value }) => `${label}: ${value}`);

describe("modelFacts", () => {
  it("are unknown where a model call should have recorded them", () =>
    expect(told(span("llm"))).toEqual([
      "Time to first token: —",
      "Model: unknown",
      "Provider: unknown",
      "Input tokens: unknown",
      "Output tokens: unknown",
      "Total tokens: unknown",
      "Cost: unknown",
    ]));
  it("are a dash where the kind has none", () =>
    expect(
      told(span("embedding", { request_model: "m", provider: "p", usage, cost_usd: 0, cost_source: "sent" })),
    ).toEqual([
      "Model: m",
      "Provider: p",
      "Input tokens: 12",
      "Output tokens: —",
      "Total tokens: 12",
      "Cost, as sent: $0",
    ]));
  it("are left out where no model was called", () => {
    expect(told(span("tool"))).toEqual([]);
    expect(told(span("agent", { request_model: "m" }))).toEqual(["Model: m"]);
    expect(told(span("agent", { usage }))).toEqual(["Input tokens: 12", "Total tokens: 12"]);
  });
  it("say if other spans report the same tokens", () => {
    const total = modelFacts(span("llm", { usage, usage_counted: false })).find(
      ({ label }) => label === "Total tokens",
    );
    expect(total?.title).toContain("excludes");
  });
});
