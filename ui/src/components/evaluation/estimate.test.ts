import { expect, it } from "vitest";
import { estimatedCost } from "./estimate";

it.each([
  [0.1, 0.2, [], "$0.100 to $0.200"],
  [0.1, 0.1, [], "about $0.100"],
  [0.1, null, [], "at least $0.100, without a most: set a maximum of output tokens"],
  [null, null, ["m1", "m2"], "unknown cost: no price for m1 and m2"],
  [null, null, [], "unknown cost"],
])("estimates %s to %s, unpriced %j: %s", (low, high, unpriced, want) => {
  const estimate = {
    items: 1,
    calls: 2,
    judge_calls: 0,
    input_tokens: 10,
    cost_low_usd: low,
    cost_high_usd: high,
    basis: "tokens" as const,
    unpriced_models: unpriced,
    incompatible_items: 0,
    missing: [],
  };
  expect(estimatedCost(estimate)).toBe(want);
});
