import type { Comparison, ComparisonMetric } from "@/api/types";
import type { ChartSeries } from "@/components/chart/series";
import { datasetLabel, leftOut, pointLabel, scaled, trendTime } from "@/components/evaluation/trend";

/** The primary metric of a comparison; undefined until it has ended, and without a grader. */
export function primaryOf({ summary }: Pick<Comparison, "summary">): ComparisonMetric | undefined {
  return summary?.metrics.find(({ name, kind }) => kind === "score" && name === summary.primary_metric);
}

/** One comparison in a trend. */
export interface TrendPoint {
  comparison: Comparison;
  metric: ComparisonMetric;
  /** In seconds since 1970. */
  time: number;
}

export interface Trend {
  /** The metric that most of them have, the newest in doubt. Null if none has any. */
  metric: string | null;
  /** The oldest first. */
  points: TrendPoint[];
  /** Those that it leaves out, by reason. */
  otherMetric: number;
  noMetric: number;
  partial: number;
  /** The revisions and splits of the points: they may not be comparable. */
  revisions: string[];
}

/** The primary metric of comparisons over time. `comparisons` are of one dataset, the newest first. */
export function trendOf(comparisons: readonly Comparison[], wanted?: string): Trend {
  const counts = new Map<string, number>();
  for (const comparison of comparisons) {
    const name = primaryOf(comparison)?.name;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  const metric = wanted !== undefined && counts.has(wanted) ? wanted : (most?.[0] ?? null);
  const trend: Trend = { metric, points: [], otherMetric: 0, noMetric: 0, partial: 0, revisions: [] };
  for (const comparison of comparisons) {
    const primary = primaryOf(comparison);
    if (!primary || (primary.a.mean === null && primary.b.mean === null)) trend.noMetric++;
    else if (primary.name !== metric) trend.otherMetric++;
    else if (comparison.summary?.partial) trend.partial++;
    else
      trend.points.unshift({
        comparison,
        metric: primary,
        time: trendTime(comparison),
      });
  }
  trend.revisions = [...new Set(trend.points.map(({ comparison }) => datasetLabel(comparison)))];
  return trend;
}

/** All metrics that are primary in one of them. */
export function trendMetrics(comparisons: readonly Comparison[]): string[] {
  return [...new Set(comparisons.flatMap((comparison) => primaryOf(comparison)?.name ?? []))].sort();
}

/** The means of both sides with their intervals, out of 100. */
export function trendSeries(points: readonly TrendPoint[]): ChartSeries[] {
  return (["a", "b"] as const).map((side, index) => ({
    label: side.toUpperCase(),
    color: `--lt-series-${index + 1}`,
    values: points.map(({ metric }) => scaled(metric[side].mean)),
    low: points.map(({ metric }) => scaled(metric[side].ci?.[0])),
    high: points.map(({ metric }) => scaled(metric[side].ci?.[1])),
  }));
}

/** What the points are called on the axis, and whole. */
export function trendLabels(points: readonly TrendPoint[]): { tick: string; label: string }[] {
  return points.map(({ comparison, time }) => pointLabel(comparison.name, time));
}

/** What a trend leaves out, in words. Empty if nothing. */
export function leftOutText({ otherMetric, noMetric, partial }: Trend, hasMore: boolean): string {
  const parts = [
    [otherMetric, "with another primary metric"],
    [partial, "that ended before all outputs were made"],
    [noMetric, "without a score"],
  ] as const;
  return leftOut("comparisons", parts, hasMore);
}
