import { describe, expect, it } from "vitest";
import type { EvaluationAccounting, EvaluationCost, PanelRead } from "@/api/types";
import {
  accountingParts,
  costText,
  doneShare,
  progressText,
  reasonText,
  shortCost,
  timeLeft,
  voteProgressText,
} from "./progress";

const progress = (done: number, failed = 0, skipped = 0) => ({ total: 240, done, failed, skipped });

it("says what is done", () => {
  expect(progressText({ status: "running", progress: progress(120, 3) })).toBe(
    "120 of 240 outputs, 3 failed",
  );
  expect(progressText({ status: "queued", progress: progress(4, 0, 4) })).toBe("Waiting for a free worker");
  expect(progressText({ status: "queued", progress: progress(10, 0, 4) })).toBe(
    "10 of 240 outputs, 4 skipped",
  );
  expect(doneShare(progress(60))).toBe(0.25);
  expect(doneShare({ done: 0, total: 0 })).toBe(0);
});

describe("timeLeft", () => {
  const running = { status: "running", progress: progress(140), vote_progress: null } as const;
  it("takes the speed since it was first seen", () => {
    expect(timeLeft(running, { time: 0, done: 40 }, 10_000)).toBe(10_000);
  });
  it("counts votes, too", () => {
    const judged = { ...running, progress: progress(240), vote_progress: progress(60) };
    expect(timeLeft(judged, { time: 0, done: 200 }, 10_000)).toBe(18_000);
    expect(voteProgressText(judged)).toBe("60 of 240 votes");
    expect(voteProgressText({ vote_progress: progress(60, 2, 3) })).toBe(
      "60 of 240 votes, 2 failed, 3 not needed",
    );
    expect(voteProgressText(running)).toBeNull();
  });
  it("says nothing too early, and of what doesn't run", () => {
    expect(timeLeft(running, { time: 0, done: 40 }, 1_000)).toBeNull();
    expect(timeLeft(running, { time: 0, done: 138 }, 10_000)).toBeNull();
    expect(timeLeft({ ...running, status: "queued" }, { time: 0, done: 40 }, 10_000)).toBeNull();
  });
});

it("accounts for all items", () => {
  const accounting = {
    items: 100,
    scored: 90,
    target_failed: 4,
    judge_failed: 3,
    skipped: 2,
    pending: 1,
  } as EvaluationAccounting;
  const parts = accountingParts(accounting);
  expect(parts.reduce((sum, { count }) => sum + count, 0)).toBe(accounting.items);
});

it.each([
  ["grader_failed: tone: of voice", "The grader tone: of voice failed"],
  ["run_unknown: not_found", "The run did not arrive"],
  ["cost_unknown", "The run has no cost, or not of all calls"],
  ["grader_not_applicable: correct", "The grader correct doesn't apply"],
  ["judges_tied: tone", "The judges of tone are tied"],
  ["judges_no_weight: tone", "The judges of tone that voted have no weight"],
  ["skipped: a: question is missing", "Skipped: a: question is missing"],
  ["provider_timeout", "The provider took too long"],
  ["something_new", "something new"],
  ["", "Unknown error"],
])("says the reason %s", (code, want) => expect(reasonText(code)).toBe(want));

it.each([
  ["grader_failed: tone", {}, "Too few judges of tone gave a valid vote"],
  ["grader_failed: correct", {}, "The grader correct failed"],
  ["grader_not_applicable: tone", {}, "The judges of tone are tied"],
  ["grader_not_applicable: tone", { aggregate: "weighted" }, "The judges of tone that voted have no weight"],
  [
    "grader_not_applicable: tone",
    { judges: [{ scale: { type: "categorical" }, pass: null }] },
    "tone gives a category, not a score",
  ],
  [
    "grader_not_applicable: tone",
    { judges: [{ scale: { type: "categorical" }, pass: ["formal"] }] },
    "The judges of tone are tied",
  ],
])("says the reason %s of a panel %j", (code, changed, want) => {
  const panel = { name: "tone", aggregate: "majority", judges: [], ...changed } as unknown as PanelRead;
  expect(reasonText(code, [panel])).toBe(want);
});

describe("the cost", () => {
  const cost = (changed: Partial<EvaluationCost>): EvaluationCost => ({
    usd: 0.12,
    calls: 10,
    unknown_calls: 0,
    unknown_at_most_usd: 0,
    unpriced_calls: 0,
    ...changed,
  });
  it.each([
    [{}, "$0.120", "$0.120"],
    [{ calls: 0, usd: 0 }, "No calls", "—"],
    [{ unpriced_calls: 10, usd: 0 }, "Unknown, excluding 10 calls without a price", "unknown"],
    [{ unpriced_calls: 9, usd: 0 }, "Unknown, excluding 9 calls without a price", "unknown"],
    [{ unpriced_calls: 1 }, "$0.120, excluding 1 call without a price", "$0.120 +"],
    [
      { unknown_calls: 4, unknown_at_most_usd: 0.01, unpriced_calls: 6, usd: 0 },
      "Unknown, at most $0.0100 for 4 calls of unknown cost, excluding 6 calls without a price",
      "unknown",
    ],
    [
      { unknown_calls: 2, unknown_at_most_usd: 0.01 },
      "$0.120, at most $0.0100 more for 2 calls of unknown cost",
      "$0.120 +",
    ],
  ])("%j", (changed, want, short) => {
    expect(costText(cost(changed))).toBe(want);
    expect(shortCost(cost(changed))).toBe(short);
  });
});
