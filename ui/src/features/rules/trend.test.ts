import { describe, expect, it } from "vitest";
import type { EvalRule, EvalRuleDay, EvalRuleScore } from "@/api/types";
import {
  categorySeries,
  isCategory,
  meanSeries,
  scoreNames,
  trendLabels,
  trendPoints,
  trendVersions,
  versionsText,
} from "./trend";

const NOW = Date.parse("2026-11-26T13:00:00Z");

function score(name: string, mean: number | null, changed: Partial<EvalRuleScore> = {}): EvalRuleScore {
  return {
    name,
    mean,
    ci: mean === null ? null : [mean - 0.1, mean + 0.1],
    pass_rate: null,
    n: 5,
    groups: null,
    labels: {},
    ...changed,
  };
}

function day(date: string, version: number, ...scores: EvalRuleScore[]) {
  return { day: date, version, scores } as EvalRuleDay;
}

const days = [
  day("2026-11-26", 2, score("helpful", 0.9)),
  day("2026-11-24", 2, score("helpful", 0.8)),
  day("2026-11-24", 1, score("helpful", 0.5)),
  day("2026-11-23", 1, score("helpful", 0.4), score("short", 1)),
  day("2026-10-01", 1, score("helpful", 0.1)),
];

describe("a trend", () => {
  const points = trendPoints(days, "helpful", NOW);
  it("goes from the first of the last 30 days with the score until today, with gaps", () => {
    expect(points.map((point) => [point.day, point.version, point.score?.mean ?? null])).toEqual([
      ["2026-11-23", 1, 0.4],
      ["2026-11-24", 1, 0.5],
      ["2026-11-24", 2, 0.8],
      ["2026-11-25", null, null],
      ["2026-11-26", 2, 0.9],
    ]);
    expect(trendPoints(days, "short", NOW)).toHaveLength(4);
    expect(trendPoints(days, "other", NOW)).toEqual([]);
    expect(trendPoints([day("2026-11-26", 1, score("helpful", null, { n: 0 }))], "helpful", NOW)).toEqual([]);
  });
  it("has a line for each version", () => {
    expect(trendVersions(points)).toEqual([1, 2]);
    const [first, second] = meanSeries(points, "helpful");
    expect(first?.label).toBe("version 1");
    expect(first?.values).toEqual([40, 50, null, null, null]);
    expect(second?.values).toEqual([null, null, 80, null, 90]);
    expect(second?.low?.[2]).toBeCloseTo(70);
    expect(versionsText(points)).toMatch(/version 2 from .*24/);
    expect(trendLabels(points)[2]?.label).toMatch(/version 2, 5 runs$/);
    expect(trendLabels(points)[3]?.label).toMatch(/no runs with this score$/);
  });
  it("of one version says nothing of versions", () => {
    const one = trendPoints(days, "short", NOW);
    expect(meanSeries(one, "short").map(({ label }) => label)).toEqual(["short"]);
    expect(versionsText(one)).toBe("");
    expect(trendLabels(one)[0]?.label).not.toMatch(/version/);
  });
});

it("counts categories, the most frequent first", () => {
  const points = trendPoints(
    [
      day("2026-11-26", 1, score("kind", null, { labels: { bug: 3, praise: 1 } })),
      day("2026-11-25", 1, score("kind", null, { labels: { praise: 4 } })),
    ],
    "kind",
    NOW,
  );
  expect(isCategory(points)).toBe(true);
  expect(categorySeries(points).map(({ label, values }) => [label, values])).toEqual([
    ["praise", [4, 1]],
    ["bug", [0, 3]],
  ]);
});

it("names the scores that it gives now first", () => {
  const rule = {
    panels: [{ name: "helpful" }, { name: "unused" }],
    graders: [],
    days: [day("2026-11-26", 1, score("old", 1), score("helpful", 1))],
  } as unknown as EvalRule;
  expect(scoreNames(rule)).toEqual(["helpful", "old"]);
});
