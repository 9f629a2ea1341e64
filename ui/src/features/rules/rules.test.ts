import { describe, expect, it } from "vitest";
import type { EvalRule, EvalRuleCounts, EvalRuleDay, Vote } from "@/api/types";
import {
  budgetText,
  countParts,
  countsText,
  dayText,
  orderVotes,
  percentOf,
  readRunsPlace,
  runsPath,
  sampleText,
  spendText,
  sumCounts,
} from "./rules";

const none: EvalRuleCounts = {
  taken: 0,
  scored: 0,
  partly_scored: 0,
  failed: 0,
  skipped: 0,
  over_budget: 0,
  pending: 0,
  cost_usd: 0,
  unknown_cost_runs: 0,
};
const counts: EvalRuleCounts = {
  ...none,
  taken: 21,
  scored: 10,
  partly_scored: 1,
  failed: 2,
  skipped: 3,
  over_budget: 4,
  pending: 1,
  cost_usd: 0.12,
};

describe("counts", () => {
  it("add up to the runs that were taken", () => {
    const parts = countParts(counts);
    expect(parts.reduce((sum, { count }) => sum + count, 0)).toBe(counts.taken);
    expect(new Set(parts.map(({ status }) => status)).size).toBe(6);
  });
  it.each([
    [none, "No runs"],
    [{ ...none, taken: 1, scored: 1 }, "1 of 1 run scored"],
    [counts, "10 of 21 runs scored, 1 partly scored, 2 without a score, 3 skipped, 4 over budget, 1 waiting"],
  ])("%o in one line", (some, want) => expect(countsText(some)).toBe(want));
  it("of several days are summed", () => {
    const day = { day: "2026-11-26", version: 1, counts, scores: [] } as EvalRuleDay;
    expect(sumCounts([day, { ...day, version: 2 }])).toEqual(
      expect.objectContaining({ taken: 42, over_budget: 8, cost_usd: 0.24 }),
    );
    expect(sumCounts([])).toEqual(none);
  });
});

describe("what judges cost", () => {
  it.each([
    [counts, "$0.120"],
    [{ ...counts, unknown_cost_runs: 2 }, "$0.120, excluding 2 runs of unknown cost"],
    [{ ...none, unknown_cost_runs: 1 }, "Unknown, for 1 run"],
    [none, "$0"],
  ])("%o", (some, want) => expect(spendText(some)).toBe(want));
  it("is compared with the budget", () => {
    expect(spendText({ ...counts, unknown_cost_runs: 1 }, 5)).toBe(
      "$0.120 of $5.00, excluding 1 run of unknown cost",
    );
    expect(spendText({ ...none, unknown_cost_runs: 2 }, 5)).toBe("Unknown of $5.00, for 2 runs");
  });
  it.each([
    [{ today: none, panels: [], max_cost_usd_per_day: null }, "—"],
    [{ today: counts, panels: [{}], max_cost_usd_per_day: 5 }, "$0.120 of $5.00"],
    [
      { today: { ...counts, unknown_cost_runs: 1 }, panels: [{}], max_cost_usd_per_day: 5 },
      "$0.120 + of $5.00",
    ],
    [{ today: { ...none, unknown_cost_runs: 1 }, panels: [{}], max_cost_usd_per_day: 5 }, "unknown of $5.00"],
  ])("%o in a column", (rule, want) => expect(budgetText(rule as unknown as EvalRule)).toBe(want));
});

it.each([
  [1, "All"],
  [0.1, "10\u00a0%"],
  [0.07, "7\u00a0%"],
  [0.0001, "0.01\u00a0%"],
])("a sample of %d", (rate, want) => expect(sampleText(rate)).toBe(want));
it("writes a share as it was typed", () => expect(percentOf(0.29)).toBe("29"));
it("names a day by its date in UTC", () => expect(dayText("2026-11-01")).toMatch(/\b1\b/));

describe("the place among the runs of a rule", () => {
  it.each([
    ["", { status: undefined, day: undefined, page: 1, run: "" }],
    [
      "status=failed&day=2026-11-26&page=2&run=r1",
      { status: "failed", day: "2026-11-26", page: 2, run: "r1" },
    ],
    ["status=constructor&day=today&page=-1", { status: undefined, day: undefined, page: 1, run: "" }],
  ])("of %s", (query, want) => expect(readRunsPlace(new URLSearchParams(query))).toEqual(want));
  it("has an address", () => {
    expect(runsPath({ status: "failed", day: "2026-11-26" })).toBe("?tab=runs&status=failed&day=2026-11-26");
    expect(runsPath({})).toBe("?tab=runs");
  });
});

it("shows votes in the order of the rule's judges", () => {
  const vote = (panel: string, judge: string, repeat = 1) => ({ panel, judge, repeat }) as Vote;
  const panels = [
    { name: "helpful", judges: [{ name: "gpt" }, { name: "qwen" }], escalation: { name: "strong" } },
    { name: "tone", judges: [{ name: "gpt" }], escalation: null },
  ] as EvalRule["panels"];
  const votes = [
    vote("old", "gpt"),
    vote("helpful", "strong"),
    vote("tone", "gpt"),
    vote("helpful", "qwen"),
    vote("helpful", "gpt", 1),
    vote("helpful", "gpt", 2),
  ];
  expect(orderVotes(votes, panels).map(({ panel, judge, repeat }) => `${panel} ${judge} ${repeat}`)).toEqual([
    "helpful gpt 1",
    "helpful gpt 2",
    "helpful qwen 1",
    "helpful strong 1",
    "tone gpt 1",
    "old gpt 1",
  ]);
});
