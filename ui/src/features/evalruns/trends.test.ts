import { describe, expect, it } from "vitest";
import type { EvalRun, EvalRunChange } from "@/api/types";
import { NONE } from "@/components/format";
import { changeText, judgeChanges, leftOutText, scoreSeries, trendMetrics, trendOf } from "./trends";

const run = (name: string, mean: number | null, changed: Record<string, unknown> = {}) =>
  ({
    id: `${name} ${mean}`,
    name,
    dataset: { revision: 1, split: null },
    primary_metric: "correct",
    created_at: "2026-01-01T00:00:00Z",
    finished_at: "2026-01-01T00:00:00Z",
    summary: {
      sentence: "",
      partial: false,
      panels: [],
      scores: [
        { name: "correct", kind: "score", mean, ci: mean === null ? null : [mean - 0.1, mean + 0.1] },
        { name: "failures", kind: "failures", mean: 0, ci: null },
      ],
      ...changed,
    },
  }) as unknown as EvalRun;

const panel = (version: string) => ({ panels: [{ name: "correct", judges: [{ version }] }] });

describe("a trend", () => {
  const runs = [
    run("a", 0.8),
    run("b", 0.5),
    run("a", 0.7),
    run("a", null),
    run("a", 0.6, { partial: true }),
  ];
  it("is that of the most frequent name, the oldest first, and counts what it leaves out", () => {
    const trend = trendOf(runs);
    expect(trend).toMatchObject({ name: "a", metric: "correct", otherName: 1, noScore: 1, partial: 1 });
    expect(scoreSeries(trend.points, "correct")[0]?.values).toEqual([70, 80]);
    expect(leftOutText(trend, false)).toBe(
      "Leaves out eval-runs: 1 of another name, 1 without all results, 1 without this score.",
    );
  });
  it("is that of another name", () => {
    expect(trendOf(runs, { name: "b" }).points).toHaveLength(1);
    expect(trendMetrics(runs, "b")).toEqual(["correct"]);
  });
  it("of nothing has no name", () => {
    expect(trendOf([])).toMatchObject({ name: null, metric: null, points: [] });
  });
});

describe("the judges", () => {
  it("are another instrument once they change", () => {
    const points = trendOf([run("a", 0.8, panel("v2")), run("a", 0.7, panel("v1")), run("a", 0.6)]).points;
    expect(judgeChanges(points)).toEqual([points[2]]);
  });
});

it("writes a change with the items that both have", () => {
  const change = (same: number, estimate: number | null, groups: number | null = null) =>
    changeText({
      same,
      groups,
      difference: { estimate, ci: estimate === null ? null : [0.07, 0.26], n: same },
    } as EvalRunChange);
  expect(change(60, 0.167)).toBe("+16.7 (+7.0 to +26.0), 60 items");
  expect(change(60, 0.167, 12)).toBe("+16.7 (+7.0 to +26.0), 60 items in 12 groups");
  expect(change(0, null)).toBe("other items");
  expect(changeText(undefined)).toBe(NONE);
});
