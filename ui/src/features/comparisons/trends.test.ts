import { expect, it } from "vitest";
import type { Comparison } from "@/api/types";
import { leftOutText, trendMetrics, trendOf, trendSeries } from "./trends";

function comparison(id: string, metric: string | null, changed: Record<string, unknown> = {}): Comparison {
  const mean = (value: number) => ({ mean: value, ci: [value - 0.1, value + 0.1], n: 10 });
  return {
    id,
    dataset: { revision: 1, split: null },
    created_at: "2026-11-01T00:00:00Z",
    finished_at: `2026-11-0${id}T00:00:00Z`,
    summary: {
      primary_metric: metric,
      partial: false,
      metrics: metric === null ? [] : [{ name: metric, kind: "score", a: mean(0.5), b: mean(0.6) }],
    },
    ...changed,
  } as unknown as Comparison;
}

const list = [
  comparison("5", "tone"),
  comparison("4", "correct", { dataset: { revision: 2, split: "test" } }),
  comparison("3", null),
  comparison("2", "correct"),
  comparison("1", "correct", { summary: { ...comparison("1", "correct").summary, partial: true } }),
];

it("takes the metric that most have, the oldest first, and counts the rest", () => {
  const trend = trendOf(list);
  expect(trend.metric).toBe("correct");
  expect(trend.points.map((point) => point.comparison.id)).toEqual(["2", "4"]);
  expect(trend.revisions).toEqual(["r1", "r2 test"]);
  expect(leftOutText(trend, true)).toBe(
    "Leaves out comparisons: 1 with another primary metric, 1 that ended before all outputs were made, 1 without a score, all before the newest 100.",
  );
  expect(trend.points.length + trend.otherMetric + trend.partial + trend.noMetric).toBe(list.length);
});

it("takes another metric on demand", () => {
  expect(trendOf(list, "tone").points.map((point) => point.comparison.id)).toEqual(["5"]);
  expect(trendOf(list, "gone").metric).toBe("correct");
  expect(trendMetrics(list)).toEqual(["correct", "tone"]);
});

it("has nothing without a metric", () => {
  expect(trendOf([]).metric).toBeNull();
  expect(leftOutText(trendOf([]), false)).toBe("");
});

it("draws both sides with their intervals, and gaps where a mean is unknown", () => {
  const [a, b] = trendSeries(trendOf([comparison("1", "correct")]).points);
  expect(a?.values).toEqual([50]);
  expect(a?.low?.[0]).toBeCloseTo(40);
  expect(b?.high?.[0]).toBeCloseTo(70);
});
