import { describe, expect, it } from "vitest";
import type { EvalRulePreview } from "@/api/types";
import { dailyCostText, matchedText, noBoundText, overBudgetText, rateText } from "./preview";

const preview: EvalRulePreview = {
  matched: 1240,
  sampled: 124,
  days: 7,
  cost_low_usd: 0.4,
  cost_high_usd: 0.4,
  calls_per_run: 1,
  unpriced_models: [],
  examples: [],
};

it.each([
  [{}, "1,240 runs in the last 7 days match.", "About 18 a day would be scored."],
  [{ matched: 1, sampled: 1 }, "1 run in the last 7 days matches.", "About 1 a week would be scored."],
  [{ matched: 9, sampled: 0 }, "9 runs in the last 7 days match.", "Less than 1 a week would be scored."],
  [{ matched: 0, sampled: 0, days: 0 }, "No run of the last 7 days matches.", null],
  [
    { matched: 30, sampled: 30, days: 0.25 },
    "30 runs in the last 6 hours match.",
    "About 120 a day would be scored.",
  ],
  [
    { matched: 30, sampled: 3, days: 2.52 },
    "30 runs in the last 2.5 days match.",
    "About 1 a day would be scored.",
  ],
])("%o", (changed, matched, rate) => {
  expect(matchedText({ ...preview, ...changed })).toBe(matched);
  expect(rateText({ ...preview, ...changed })).toBe(rate);
});

describe("the cost of a day", () => {
  it.each([
    [{}, "About $0.400 a day."],
    [{ cost_high_usd: 0.9 }, "About $0.400 to $0.900 a day."],
    [{ cost_high_usd: null }, "At least $0.400 a day."],
    [{ cost_low_usd: null, cost_high_usd: null }, "The cost is unknown until a run matches."],
    [
      { cost_low_usd: null, cost_high_usd: null, unpriced_models: ["llama"] },
      "The cost is unknown: llama has no price.",
    ],
    [{ calls_per_run: 0, cost_low_usd: 0, cost_high_usd: 0 }, "It costs nothing: no model is called."],
  ])("%o", (changed, want) => expect(dailyCostText({ ...preview, ...changed })).toBe(want));
  it("has no bound without a limit of output tokens", () => {
    expect(noBoundText({ ...preview, cost_high_usd: null })).toMatch(/no upper bound/);
    expect(noBoundText({ ...preview, cost_low_usd: null, cost_high_usd: null })).toBeNull();
    expect(noBoundText(preview)).toBeNull();
  });
  it("is compared with the budget", () => {
    expect(overBudgetText(preview, 0.1)).toMatch(/is more than the budget of \$0.100/);
    expect(overBudgetText({ ...preview, cost_high_usd: 3 }, 1)).toMatch(/may be more/);
    expect(overBudgetText(preview, 1)).toBeNull();
    expect(overBudgetText(preview, undefined)).toBeNull();
    expect(overBudgetText({ ...preview, cost_low_usd: null }, 1)).toBeNull();
  });
});
