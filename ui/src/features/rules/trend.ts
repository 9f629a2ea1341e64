import type { EvalRule, EvalRuleDay, EvalRuleScore } from "@/api/types";
import { type ChartSeries, seriesColor } from "@/components/chart/series";
import { dayText } from "./rules";

/** How many days a rule has. */
const DAYS = 30;
const DAY_MS = 86_400_000;

/** The scores that a rule has given, those that it gives now first. */
export function scoreNames({ panels, graders, days }: EvalRule): string[] {
  const given = new Set(days.flatMap(({ scores }) => scores.map(({ name }) => name)));
  const now = [...panels.map(({ name }) => name), ...graders.map(({ name, type }) => name ?? type)];
  return [
    ...now.filter((name) => given.has(name)),
    ...[...given].filter((name) => !now.includes(name)).sort(),
  ];
}

/** One day and version in a trend. */
export interface TrendPoint {
  day: string;
  /** Null for a day without runs. */
  version: number | null;
  score: EvalRuleScore | null;
}

/** A score by day and version, the oldest first, from the first day that has it until today. Days without runs are gaps. */
export function trendPoints(days: readonly EvalRuleDay[], name: string, now: number): TrendPoint[] {
  const found = days.flatMap(({ day, version, scores }) => {
    const score = scores.find((one) => one.name === name);
    return score && score.n > 0 ? [{ day, version, score }] : [];
  });
  const points: TrendPoint[] = [];
  for (let back = DAYS - 1; back >= 0; back--) {
    const day = new Date(now - back * DAY_MS).toISOString().slice(0, 10);
    const of = found.filter((one) => one.day === day).sort((a, b) => a.version - b.version);
    if (of.length > 0) points.push(...of);
    else if (points.length > 0) points.push({ day, version: null, score: null });
  }
  return points;
}

/** The versions of the points, the oldest first. */
export function trendVersions(points: readonly TrendPoint[]): number[] {
  return [...new Set(points.flatMap(({ version }) => (version === null ? [] : [version])))].sort(
    (a, b) => a - b,
  );
}

/** Whether the score is a category, which has no mean. */
export function isCategory(points: readonly TrendPoint[]): boolean {
  return points.every(({ score }) => score === null || score.mean === null);
}

/** The means with their intervals, out of 100. Each version is a line of its own: they aren't of the same instrument. */
export function meanSeries(points: readonly TrendPoint[], name: string): ChartSeries[] {
  const versions = trendVersions(points);
  return versions.map((version, index) => {
    const values = (pick: (score: EvalRuleScore) => number | null | undefined) =>
      points.map((point) => {
        const value = point.version === version && point.score ? pick(point.score) : null;
        return value == null ? null : value * 100;
      });
    return {
      label: versions.length === 1 ? name : `version ${version}`,
      color: seriesColor(index),
      values: values(({ mean }) => mean),
      low: values(({ ci }) => ci?.[0]),
      high: values(({ ci }) => ci?.[1]),
    };
  });
}

/** How many runs have each category, the most frequent first. */
export function categorySeries(points: readonly TrendPoint[]): ChartSeries[] {
  const totals = new Map<string, number>();
  for (const { score } of points)
    for (const [label, runs] of Object.entries(score?.labels ?? {}))
      totals.set(label, (totals.get(label) ?? 0) + runs);
  return [...totals]
    .sort(([, a], [, b]) => b - a)
    .map(([label], index) => ({
      label,
      color: seriesColor(index),
      values: points.map(({ score }) => (score === null ? null : (score.labels[label] ?? 0))),
    }));
}

/** What the points are called on the axis, and whole. */
export function trendLabels(points: readonly TrendPoint[]): { tick: string; label: string }[] {
  const isOne = trendVersions(points).length === 1;
  return points.map(({ day, version, score }) => {
    const tick = dayText(day);
    if (score === null) return { tick, label: `${tick}, no runs with this score` };
    const runs = score.n === 1 ? "1 run" : `${score.n} runs`;
    return { tick, label: [tick, isOne ? null : `version ${version}`, runs].filter(Boolean).join(", ") };
  });
}

/** From when on which version counts, in a sentence for each but the first. */
export function versionsText(points: readonly TrendPoint[]): string {
  const [, ...later] = trendVersions(points);
  const starts = later.map((version) => {
    const first = points.find((point) => point.version === version);
    return `version ${version} from ${first ? dayText(first.day) : ""}`;
  });
  return starts.length === 0
    ? ""
    : `The rule changed: ${starts.join(", ")}. Scores of different versions aren't comparable.`;
}
