import type { RunGroupBy, RunStats, RunTotals } from "@/api/types";
import { type ChartSeries, DURATION_STEPS, seriesColor, WHOLE_STEPS } from "@/components/chart/series";
import { withParam } from "@/components/filters/filters";
import {
  formatCost,
  formatCount,
  formatCountOf,
  formatDuration,
  formatPercent,
  formatRuns,
  formatTokens,
} from "@/components/format";
import { promptLabel, readPromptGroup } from "@/components/prompt";

/** What the charts can be grouped by. */
export const GROUPINGS: { value: RunGroupBy; label: string }[] = [
  { value: "model", label: "Model" },
  { value: "agent_name", label: "Agent" },
  { value: "release", label: "Version" },
  { value: "agent_release", label: "Agent release" },
  { value: "environment", label: "Environment" },
  { value: "name", label: "Name" },
  { value: "prompt_version", label: "Prompt version" },
  { value: "error_type", label: "Error type" },
];

/** The grouping in an address; null for none. */
export function readGrouping(params: URLSearchParams): RunGroupBy | null {
  return GROUPINGS.find(({ value }) => value === params.get("group_by"))?.value ?? null;
}

export interface Chart {
  id: string;
  title: string;
  shape: "bars" | "lines";
  format: (value: number) => string;
  /** The steps that its axis may use. Decimal steps by default. */
  steps?: readonly number[];
  series: ChartSeries[];
  /** Whether its axis can be logarithmic. */
  mayBeLog?: boolean;
  /** What the numbers exclude. */
  note?: string;
}

/** The charts of a response, by group if it has groups. Unknown values stay null. */
export function chartsOf(stats: RunStats): Chart[] {
  const { total } = stats;
  const grouped = stats.group_by !== null;
  const lines = grouped ? groupsOf(stats) : [];
  const perGroup = (value: (totals: RunTotals) => number | null): ChartSeries[] =>
    lines.map(({ label, color, series }) => ({
      label,
      color,
      values: series.map(({ totals }) => value(totals)),
    }));
  const overall = (
    label: string,
    color: string,
    value: (totals: RunTotals) => number | null,
  ): ChartSeries => ({
    label,
    color,
    values: stats.series.map(({ totals }) => value(totals)),
  });
  return [
    {
      id: "runs",
      title: "Runs",
      shape: "bars",
      format: formatCount,
      steps: WHOLE_STEPS,
      series: grouped
        ? perGroup((totals) => totals.count)
        : [
            overall("failed", "--lt-bar-error", (totals) => totals.error_count),
            overall("others", "--lt-bar", (totals) => totals.count - totals.error_count),
          ],
    },
    {
      id: "errors",
      title: "Failure rate",
      shape: "lines",
      format: formatPercent,
      series: grouped
        ? perGroup((totals) => totals.error_rate)
        : [overall("failure rate", "--lt-error", (totals) => totals.error_rate)],
    },
    {
      id: "duration",
      title: grouped ? "Duration, p95" : "Duration",
      shape: "lines",
      mayBeLog: true,
      format: formatDuration,
      steps: DURATION_STEPS,
      series: grouped
        ? perGroup((totals) => totals.duration_ms?.p95 ?? null)
        : [
            overall("p50", seriesColor(0), (totals) => totals.duration_ms?.p50 ?? null),
            overall("p95", seriesColor(1), (totals) => totals.duration_ms?.p95 ?? null),
            overall("p99", seriesColor(2), (totals) => totals.duration_ms?.p99 ?? null),
          ],
    },
    {
      id: "tokens",
      title: "Tokens",
      shape: "bars",
      format: formatTokens,
      steps: WHOLE_STEPS,
      note: missing(total.no_usage_count, total.count, "tokens"),
      series: grouped
        ? perGroup((totals) => totals.usage?.total_tokens ?? null)
        : [
            overall("input", seriesColor(0), (totals) => totals.usage?.input_tokens ?? null),
            overall("output", seriesColor(1), (totals) => totals.usage?.output_tokens ?? null),
          ],
    },
    {
      id: "cost",
      title: "Cost",
      shape: "bars",
      mayBeLog: true,
      format: formatCost,
      note: missing(total.no_cost_count, total.count, "cost"),
      series: grouped
        ? perGroup((totals) => totals.cost_usd)
        : [overall("cost", seriesColor(0), (totals) => totals.cost_usd)],
    },
  ];
}

/** The groups with their colors. The remaining groups come last, as one. */
export function groupsOf(stats: RunStats) {
  const shown = stats.groups.map((group, index) => ({
    value: group.value as string | null,
    label: groupLabel(group.value, stats.group_by),
    color: seriesColor(index),
    totals: group.totals,
    series: group.series,
  }));
  if (!stats.other) return shown;
  const { groups, totals, series } = stats.other;
  const label = `${formatCountOf(groups, "other")}`;
  return [...shown, { value: null, label, color: "--lt-series-other", totals, series }];
}

function groupLabel(value: string, groupBy: RunGroupBy | null): string {
  if (value === "") return "none";
  return groupBy === "prompt_version" ? promptLabel(readPromptGroup(value)) : value;
}

/** Filters the address by a group. */
export function withGroup(params: URLSearchParams, groupBy: RunGroupBy, value: string): URLSearchParams {
  const next = withParam(params, "group_by", null);
  if (groupBy !== "prompt_version") return withParam(next, groupBy, value);
  const { id, name, version } = readPromptGroup(value);
  return withParam(
    withParam(withParam(next, "prompt_id", id), "prompt_name", name),
    "prompt_version",
    version,
  );
}

function missing(without: number, count: number, what: string): string | undefined {
  if (without === 0) return undefined;
  return without === count
    ? `unknown for all ${formatRuns(count)}`
    : `excludes ${formatRuns(without)} of unknown ${what}`;
}
