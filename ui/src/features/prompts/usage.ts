import type { PromptUsage, PromptVersionUsage, TimeWindow } from "@/api/types";
import { type ChartSeries, DURATION_STEPS, seriesColor, WHOLE_STEPS } from "@/components/chart/series";
import { type Filters, RANGES } from "@/components/filters/filters";
import { formatCost, formatCount, formatDuration, formatPercent } from "@/components/format";

/** At most this many versions get a line of their own. */
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
export function bucketTimes(usage: PromptUsage): number[] {
  const step = usage.bucket_seconds;
  const first = Math.floor(Date.parse(usage.start) / 1000 / step) * step;
  const end = Date.parse(usage.end) / 1000;
  const times: number[] = [];
  for (let time = first; time < end; time += step) times.push(time);
  return times;
}

/** The charts of the versions with the most runs. A bucket without runs has no duration, rate or cost. */
export function usageCharts(usage: PromptUsage): UsageChart[] {
  const times = bucketTimes(usage);
  const shown = shownVersions(usage);
  const perVersion = (
    value: (bucket: PromptVersionUsage["buckets"][number]) => number | null,
    empty: number | null,
  ): ChartSeries[] =>
    shown.map((version) => {
      const byStart = new Map(version.buckets.map((bucket) => [Date.parse(bucket.start) / 1000, bucket]));
      return {
        label: versionLabel(version),
        color: versionColor(usage, version),
        values: times.map((time) => {
          const bucket = byStart.get(time);
          return bucket ? value(bucket) : empty;
        }),
      };
    });
  return [
    {
      id: "runs",
      title: "Runs",
      shape: "bars",
      format: formatCount,
      steps: WHOLE_STEPS,
      series: perVersion(({ runs }) => runs, 0),
    },
    {
      id: "errors",
      title: "Failed runs",
      shape: "lines",
      format: formatPercent,
      series: perVersion(({ runs, error_count }) => (runs > 0 ? error_count / runs : null), null),
    },
    {
      id: "duration",
      title: "Duration, p95",
      shape: "lines",
      format: formatDuration,
      steps: DURATION_STEPS,
      series: perVersion(({ duration_p95_ms }) => duration_p95_ms, null),
    },
    {
      id: "cost",
      title: "Cost",
      shape: "bars",
      format: formatCost,
      series: perVersion(({ cost_usd }) => cost_usd, null),
    },
  ];
}

/** The versions of the charts, the newest first. */
export function shownVersions({ versions }: PromptUsage): PromptVersionUsage[] {
  const most = versions.toSorted((a, b) => b.runs - a.runs).slice(0, MAX_LINES);
  return versions.filter((version) => most.includes(version));
}

/** The color of a version in the charts; the same in each. */
export function versionColor(usage: PromptUsage, version: PromptVersionUsage): string {
  const index = shownVersions(usage).toReversed().indexOf(version);
  return index < 0 ? "--lt-series-other" : seriesColor(index);
}

/** v3, or the version as the runs name it. */
export function versionLabel({ version }: PromptVersionUsage): string {
  if (version === null) return "no version";
  return /^\d+$/.test(version) ? `v${version}` : version;
}

/** The time window of the filters in an address: 30 days without one. */
export function windowOf(filters: Filters, now: number): TimeWindow {
  const window: TimeWindow = {};
  if (filters.range) window.start_after = new Date(now - RANGES[filters.range] * 1000).toISOString();
  if (filters.start_after) window.start_after = filters.start_after;
  if (filters.start_before) window.start_before = filters.start_before;
  return window;
}
