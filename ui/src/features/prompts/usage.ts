import type { PromptUsage, PromptVersionUsage, RunTotals, TimeWindow } from "@/api/types";
import { type ChartSeries, DURATION_STEPS, seriesColor, WHOLE_STEPS } from "@/components/chart/series";
import { type Filters, RANGES } from "@/components/filters/filters";
import { formatCost, formatCount, formatDuration, formatPercent } from "@/components/format";

/** At most this many versions get a line of their own: those with the most runs, which come first. */
const MAX_LINES = 8;

export interface UsageChart {
  id: string;
  title: string;
  shape: "bars" | "lines";
  format: (value: number) => string;
  steps?: readonly number[];
  series: ChartSeries[];
}

/** The start of each bucket, in seconds since 1970. */
export function bucketTimes({ versions: [first] }: PromptUsage): number[] {
  return first?.series.map(({ start }) => Date.parse(start) / 1000) ?? [];
}

/** The charts of the versions. Unknown values stay null. */
export function usageCharts({ versions }: PromptUsage): UsageChart[] {
  const perVersion = (value: (totals: RunTotals) => number | null): ChartSeries[] =>
    versions.slice(0, MAX_LINES).map((version, index) => ({
      label: versionLabel(version),
      color: versionColor(index),
      values: version.series.map(({ totals }) => value(totals)),
    }));
  return [
    {
      id: "runs",
      title: "Runs",
      shape: "bars",
      format: formatCount,
      steps: WHOLE_STEPS,
      series: perVersion(({ count }) => count),
    },
    {
      id: "errors",
      title: "Failure rate",
      shape: "lines",
      format: formatPercent,
      series: perVersion(({ error_rate }) => error_rate),
    },
    {
      id: "duration",
      title: "Duration, p95",
      shape: "lines",
      format: formatDuration,
      steps: DURATION_STEPS,
      series: perVersion(({ duration_ms }) => duration_ms?.p95 ?? null),
    },
    {
      id: "cost",
      title: "Cost",
      shape: "bars",
      format: formatCost,
      series: perVersion(({ cost_usd }) => cost_usd),
    },
  ];
}

/** The color of the version at a place of the list. */
export function versionColor(index: number): string {
  return index < MAX_LINES ? seriesColor(index) : "--lt-series-other";
}

/** v3, or the version as the runs name it. */
export function versionLabel({ version }: Pick<PromptVersionUsage, "version">): string {
  if (version === null) return "no version";
  return /^\d+$/.test(version) ? `v${version}` : version;
}

/** The time window of the filters in an address. Without one the server takes 30 days. */
export function windowOf(filters: Filters, now: number): TimeWindow {
  const window: TimeWindow = {};
  if (filters.range) window.start_after = new Date(now - RANGES[filters.range] * 1000).toISOString();
  if (filters.start_after) window.start_after = filters.start_after;
  if (filters.start_before) window.start_before = filters.start_before;
  return window;
}
