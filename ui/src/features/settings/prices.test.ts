import { describe, expect, it } from "vitest";
import type { Price } from "@/api/types";
import { fieldsOf, formatRate, isComplete, priceOf, sourceText } from "./prices";

const price: Price = {
  id: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  source: "project",
  version: "project:7",
  provider: "openai",
  model: "gpt-4o*",
  valid_from: "2026-03-01T00:00:00Z",
  input: 2.5,
  output: 0,
  cache_read: 0,
  cache_write: null,
  cache_write_1h: null,
  reasoning: 12,
  tiers: [],
  url: null,
};

describe("prices", () => {
  it("round-trips values, including zeros", () => {
    const fields = fieldsOf(price);
    expect(fields).toEqual({
      provider: "openai",
      model: "gpt-4o*",
      validFrom: "2026-03-01",
      rates: { input: "2.5", output: "0", cache_read: "0", reasoning: "12" },
    });
    expect(priceOf(fields)).toEqual({
      provider: "openai",
      model: "gpt-4o*",
      valid_from: "2026-03-01T00:00:00Z",
      input: 2.5,
      output: 0,
      cache_read: 0,
      cache_write: null,
      cache_write_1h: null,
      reasoning: 12,
    });
  });

  it("starts with the names of a model without a price", () => {
    const fields = fieldsOf({ provider: "acme", model: "acme-1" });
    expect(fields).toEqual({ provider: "acme", model: "acme-1", validFrom: "", rates: {} });
    expect(priceOf(fields).valid_from).toBeNull();
  });

  it("requires a model, an input and an output rate, and accepts 0", () => {
    const fields = fieldsOf({ model: "m" });
    expect(isComplete(fields)).toBe(false);
    expect(isComplete({ ...fields, rates: { input: "0", output: "" } })).toBe(false);
    expect(isComplete({ ...fields, rates: { input: "0", output: "0" } })).toBe(true);
    expect(isComplete({ ...fields, rates: { input: "0", output: "-5" } })).toBe(false);
    expect(isComplete({ ...fields, model: "  ", rates: { input: "0", output: "0" } })).toBe(false);
  });

  it("formats rates with all digits", () => {
    expect(formatRate(2.5)).toBe("$2.5");
    expect(formatRate(0.003625)).toBe("$0.003625");
    expect(formatRate(1200)).toBe("$1,200");
    expect(formatRate(0)).toBe("$0");
    expect(formatRate(null)).toBe("");
  });

  it("names the source of a price", () => {
    expect(sourceText(price)).toBe("this project");
    expect(sourceText({ ...price, source: "table", version: "2026-08-22" })).toBe("built-in, 2026-08-22");
  });
});
