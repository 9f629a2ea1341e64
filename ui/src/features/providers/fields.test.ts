import { describe, expect, it } from "vitest";
import type { Provider } from "@/api/types";
import { createOf, fieldsOf, isComplete, movesAway, updateOf } from "./fields";

const stored = {
  name: "Local",
  kind: "openai",
  base_url: "http://127.0.0.1:8000/v1",
  key_hint: "abcd",
  header_names: ["api-key"],
  max_concurrency: 4,
  requests_per_minute: null,
  monthly_budget_usd: 12.5,
  allow_unpriced: true,
} as unknown as Provider;

describe("updateOf", () => {
  it("sends no secret that was not typed", () => {
    expect(updateOf(fieldsOf(stored), stored)).toEqual({
      name: "Local",
      max_concurrency: 4,
      requests_per_minute: null,
      monthly_budget_usd: 12.5,
      allow_unpriced: true,
    });
  });

  it("replaces and removes the key", () => {
    expect(updateOf({ ...fieldsOf(stored), apiKey: "new" }, stored).api_key).toBe("new");
    expect(updateOf({ ...fieldsOf(stored), apiKey: "new", removesKey: true }, stored).api_key).toBeNull();
  });

  it("sends a changed address with the headers", () => {
    const fields = {
      ...fieldsOf(stored),
      baseUrl: " http://h:1/v1 ",
      headers: [{ name: " X ", value: "1" }],
    };
    expect(movesAway(fields, stored)).toBe(true);
    expect(updateOf(fields, stored)).toMatchObject({ base_url: "http://h:1/v1", headers: { X: "1" } });
  });
});

describe("createOf", () => {
  it("leaves out what is empty", () => {
    expect(createOf({ ...fieldsOf(null), name: " OpenAI " })).toEqual({
      name: "OpenAI",
      kind: "openai",
      max_concurrency: 16,
      requests_per_minute: null,
      monthly_budget_usd: null,
      allow_unpriced: false,
    });
  });
});

it("wants a name, and headers with names that differ", () => {
  const fields = { ...fieldsOf(null), name: "a" };
  expect(isComplete(fields)).toBe(true);
  expect(isComplete({ ...fields, name: " " })).toBe(false);
  expect(isComplete({ ...fields, maxConcurrency: "" })).toBe(false);
  const header = { name: "a", value: "1" };
  expect(isComplete({ ...fields, maxConcurrency: "-4" })).toBe(false);
  expect(isComplete({ ...fields, requestsPerMinute: "1.5" })).toBe(false);
  expect(isComplete({ ...fields, monthlyBudget: "-5" })).toBe(false);
  expect(isComplete({ ...fields, headers: [header] })).toBe(true);
  expect(isComplete({ ...fields, headers: [header, { name: "A", value: "2" }] })).toBe(false);
  expect(isComplete({ ...fields, headers: [{ name: "a", value: "" }] })).toBe(false);
});
