import { expect, it } from "vitest";
import type { EvaluationEstimate } from "@/api/types";
import { estimatedCost, estimateText } from "./estimate";

it.each([
  [0.1, 0.2, [], "$0.100 to $0.200"],
  [0.1, 0.1, [], "about $0.100"],
  [0.1, null, [], "at least $0.100, without a most: set a maximum of output tokens"],
  [null, null, ["m1", "m2"], "unknown cost: no price for m1 and m2"],
  [null, null, [], "unknown cost"],
])("estimates %s to %s, unpriced %j: %s", (low, high, unpriced, want) => {
  const estimate: EvaluationEstimate = {
    items: 1,
    calls: 2,
    judge_calls: 0,
    input_tokens: 10,
    cost_low_usd: low,
    cost_high_usd: high,
    basis: "tokens",
    unpriced_models: unpriced,
    incompatible_items: 0,
    missing: [],
  };
  expect(estimatedCost(estimate)).toBe(want);
});

it.each([
  [0.1, [], "$0.100 to $0.200 for 40 calls, 30 of them of judges, from what the first 5 items cost."],
  [null, [], "40 calls, 30 of them of judges, of unknown cost."],
  [0.1, ["m1"], "40 calls, 30 of them of judges, of unknown cost: no price for m1."],
])("says what it may cost from %s, unpriced %j: %s", (low, unpriced, want) => {
  const estimate = {
    calls: 40,
    judge_calls: 30,
    input_tokens: null,
    cost_low_usd: low,
    cost_high_usd: 0.2,
    basis: "pilot",
    unpriced_models: unpriced,
  } as EvaluationEstimate;
  expect(estimateText(estimate)).toBe(want);
});
