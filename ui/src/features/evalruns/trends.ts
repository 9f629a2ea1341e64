import type { EvalRun, EvalRunChange, EvalRunMetric, PanelSummary } from "@/api/types";
import type { ChartSeries } from "@/components/chart/series";
import { formatDifference, intervalText } from "@/components/evaluation/measures";
import { formatCountOf, NONE } from "@/components/format";

/** One eval-run in a trend. */
export interface TrendPoint {
  run: EvalRun;
  metric: EvalRunMetric;
  /** What the metric's panel says, if it is one. */
  panel: PanelSummary | undefined;
  /** In seconds since 1970. */
  time: number;
}

export interface Trend {
  /** The history that it shows: the name that most of them have. Null if none has a score. */
  name: string | null;
  metric: string | null;
  /** The oldest first. */
  points: TrendPoint[];
  /** Those that it leaves out, by reason. */
  otherName: number;
  noScore: number;
  partial: number;
  /** The revisions and splits of the points: they may not be comparable. */
  revisions: string[];
}

/** "r3", or "r3 train". */
export function datasetLabel({ dataset }: Pick<EvalRun, "dataset">): string {
  return `r${dataset.revision}${dataset.split === null ? "" : ` ${dataset.split}`}`;
}

/** When an evaluation is in a trend, in seconds since 1970: when it ended. */
function trendTime({ finished_at, created_at }: Pick<EvalRun, "finished_at" | "created_at">): number {
  return Date.parse(finished_at ?? created_at) / 1000;
}

const timeFormat = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** A mean from 0 to 1 as a chart has it, out of 100. */
function scaled(value: number | null | undefined): number | null {
  return value == null ? null : value * 100;
}

/** The scores of an eval-run that are graded, and not measured. */
function scoresOf({ summary }: EvalRun): EvalRunMetric[] {
  return summary?.scores.filter(({ kind, mean }) => kind === "score" && mean !== null) ?? [];
}

function mostFrequent(values: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** The names of eval-runs with scores, and the scores of those of a name. */
export function trendNames(runs: readonly EvalRun[]): string[] {
  return [...new Set(runs.filter((run) => scoresOf(run).length > 0).map(({ name }) => name))].sort();
}

export function trendMetrics(runs: readonly EvalRun[], name: string | null): string[] {
  const of = runs.filter((run) => run.name === name);
  return [...new Set(of.flatMap((run) => scoresOf(run).map((metric) => metric.name)))].sort();
}

/** A score over the eval-runs of one name. `runs` are of one dataset, the newest first. */
export function trendOf(runs: readonly EvalRun[], wanted: { name?: string; metric?: string } = {}): Trend {
  const scored = runs.filter((run) => scoresOf(run).length > 0);
  const names = scored.map(({ name }) => name);
  const name = wanted.name !== undefined && names.includes(wanted.name) ? wanted.name : mostFrequent(names);
  const of = scored.filter((run) => run.name === name);
  const metrics = of.flatMap((run) => scoresOf(run).map((metric) => metric.name));
  const primary = of.flatMap(({ primary_metric: one }) =>
    one !== null && metrics.includes(one) ? [one] : [],
  );
  const metric =
    wanted.metric !== undefined && metrics.includes(wanted.metric)
      ? wanted.metric
      : (mostFrequent(primary) ?? mostFrequent(metrics));
  const trend: Trend = { name, metric, points: [], otherName: 0, noScore: 0, partial: 0, revisions: [] };
  for (const run of runs) {
    const found = scoresOf(run).find((one) => one.name === metric);
    if (run.name !== name) trend.otherName++;
    else if (!found) trend.noScore++;
    else if (run.summary?.partial) trend.partial++;
    else
      trend.points.unshift({
        run,
        metric: found,
        panel: run.summary?.panels.find((one) => one.name === metric),
        time: trendTime(run),
      });
  }
  trend.revisions = [...new Set(trend.points.map(({ run }) => datasetLabel(run)))];
  return trend;
}

/** The mean with its interval, out of 100. */
export function scoreSeries(points: readonly TrendPoint[], metric: string): ChartSeries[] {
  return [
    {
      label: metric,
      color: "--lt-series-1",
      values: points.map(({ metric: one }) => scaled(one.mean)),
      low: points.map(({ metric: one }) => scaled(one.ci?.[0])),
      high: points.map(({ metric: one }) => scaled(one.ci?.[1])),
    },
  ];
}

/** The points from which on a judge was another one: it, its model, its rubric or its scale. */
export function judgeChanges(points: readonly TrendPoint[]): TrendPoint[] {
  const versions = ({ panel }: TrendPoint) =>
    panel?.judges
      .map(({ version }) => version)
      .sort()
      .join(" ");
  return points.filter((point, index) => {
    const before = points[index - 1];
    return before?.panel !== undefined && point.panel !== undefined && versions(before) !== versions(point);
  });
}

/** The paired difference of a score to the eval-run before, with the items that both have: "+16.7 (+7.2 to +26.1), 60 items". */
export function changeText(change: EvalRunChange | undefined): string {
  if (change === undefined) return NONE;
  const { estimate, ci, n } = change.difference;
  if (estimate === null) return change.same === 0 ? "other items" : NONE;
  const format = (value: number) => formatDifference("score", value);
  const interval = intervalText(ci, format);
  const of = change.groups === null ? "" : ` in ${formatCountOf(change.groups, "group")}`;
  return `${format(estimate)}${interval === null ? "" : ` (${interval})`}, ${formatCountOf(n, "item")}${of}`;
}

/** What the points are called on the axis, and whole. */
export function trendLabels(points: readonly TrendPoint[]): { tick: string; label: string }[] {
  return points.map(({ run, time }) => {
    const tick = timeFormat.format(time * 1000);
    return { tick, label: `${run.branch ?? run.name}, ${tick}` };
  });
}

/** What a trend leaves out, in words. Empty if nothing. */
export function leftOutText({ otherName, noScore, partial }: Trend, hasMore: boolean): string {
  const parts = [
    [otherName, "of another name"],
    [partial, "without all results"],
    [noScore, "without this score"],
  ] as const;
  const texts = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  if (hasMore) texts.push("all before the newest 100");
  return texts.length === 0 ? "" : `Leaves out eval-runs: ${texts.join(", ")}.`;
}
