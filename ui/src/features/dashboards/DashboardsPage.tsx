import { Button, Select, Skeleton, Switch } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";
import type { RunGroupBy, RunStats, RunTotals } from "@/api/types";
import { isSkewed } from "@/components/chart/series";
import { DataTable } from "@/components/DataTable";
import { Figures } from "@/components/Figures";
import { FilterBar } from "@/components/filters/FilterBar";
import { betweenSeconds, withParam, withTimeRange } from "@/components/filters/filters";
import { NoRuns } from "@/components/filters/NoRuns";
import { MisdatedNote, SampledNote } from "@/components/filters/TimeNotes";
import { useChartStats } from "@/components/filters/useChartStats";
import { useFilters } from "@/components/filters/useFilters";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatPercent,
  formatRuns,
  formatTime,
  formatTokens,
  UNKNOWN,
} from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageHint } from "@/components/PageMessage";
import { QueryState } from "@/components/QueryState";
import { useProjectId } from "@/components/useProject";
import { type Chart, chartsOf, GROUPINGS, groupsOf, readGrouping, withGroup } from "./charts";
import classes from "./DashboardsPage.module.css";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 190;
/** At most this many groups get a color of their own. */
const MAX_GROUPS = 8;

/** Charts of the filtered runs. The address contains the filters and the grouping. */
export function DashboardsPage() {
  const { projectId, params, setParams, filters, filter, isFiltered, isTimed } = useFilters();
  const grouping = readGrouping(params);
  const { query, isPending, leftOut } = useChartStats(
    filter,
    grouping ?? undefined,
    grouping ? MAX_GROUPS : undefined,
  );
  const [asTables, setAsTables] = useState(false);
  return (
    <div className={classes.page}>
      <PageHeader
        title="Dashboards"
        tools={
          <FilterBar page="dashboards" filters={filters} params={params} onChange={setParams}>
            <Select
              className={classes.grouping}
              size="xs"
              aria-label="Group by"
              placeholder="Group by"
              clearable
              data={GROUPINGS}
              value={grouping}
              onChange={(value) => setParams(withParam(params, "group_by", value))}
            />
          </FilterBar>
        }
        actions={
          <Switch
            size="xs"
            label="Tables"
            checked={asTables}
            onChange={(event) => setAsTables(event.currentTarget.checked)}
          />
        }
      />
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Charts"
      >
        <QueryState query={query} page skeleton={<ChartsSkeleton />}>
          {(stats) =>
            isPending ? (
              <ChartsSkeleton />
            ) : stats.total.count > 0 ? (
              <div
                data-stale={query.isPlaceholderData || undefined}
                aria-busy={query.isPlaceholderData}
                className={classes.content}
              >
                {stats.partial && (
                  <p className={classes.partial} role="status">
                    Only includes runs since {formatTime(stats.start)}: counting earlier runs would take too
                    long. Choose a shorter time range to see them.
                  </p>
                )}
                {leftOut && <MisdatedNote runs={leftOut} params={params} onChange={setParams} />}
                <SampledNote totals={stats.total} />
                <Totals totals={stats.total} />
                <Charts
                  stats={stats}
                  params={params}
                  projectId={projectId}
                  asTables={asTables}
                  onParams={setParams}
                />
                {stats.group_by !== null && <Groups stats={stats} groupBy={stats.group_by} params={params} />}
              </div>
            ) : (
              <NoRuns
                projectId={projectId}
                filters={filters}
                isFiltered={isFiltered}
                isTimed={isTimed}
                params={params}
                onParams={setParams}
                skeleton={<ChartsSkeleton />}
              >
                <PageHint>Charts of runs, errors, durations, tokens and cost appear here.</PageHint>
                <Button component={Link} to={`/p/${projectId}/connect`}>
                  Send your first run
                </Button>
              </NoRuns>
            )
          }
        </QueryState>
      </section>
    </div>
  );
}

function ChartsSkeleton() {
  return (
    <div className={classes.content}>
      <Skeleton h={58} />
      <div className={classes.charts}>
        {[0, 1, 2, 3].map((chart) => (
          <Skeleton key={chart} h={HEIGHT + 42} />
        ))}
      </div>
    </div>
  );
}

function Totals({ totals }: { totals: RunTotals }) {
  const failed = formatCount(totals.error_count);
  return (
    <Figures
      testId="totals"
      of={{
        Runs: formatCount(totals.count),
        Failed: totals.error_rate === null ? failed : `${failed} (${formatPercent(totals.error_rate)})`,
        "Duration, p50": formatDuration(totals.duration_ms?.p50),
        "Duration, p95": formatDuration(totals.duration_ms?.p95),
        Tokens: formatTokens(totals.usage?.total_tokens),
        Cost: formatCost(totals.cost_usd),
      }}
    />
  );
}

interface ChartsProps {
  stats: RunStats;
  params: URLSearchParams;
  projectId: string;
  asTables: boolean;
  onParams: (params: URLSearchParams) => void;
}

function Charts({ stats, params, projectId, asTables, onParams }: ChartsProps) {
  const navigate = useNavigate();
  // By chart, where the reader chose it.
  const [logs, setLogs] = useState<Record<string, boolean>>({});
  const charts = useMemo(() => chartsOf(stats), [stats]);
  const times = useMemo(() => stats.series.map((point) => Date.parse(point.start) / 1000), [stats]);
  const isLog = (chart: Chart) => Boolean(chart.mayBeLog) && (logs[chart.id] ?? isSkewed(chart.series));
  const runsAt = (index: number) => {
    const start = times[index] ?? 0;
    const range = withTimeRange(params, betweenSeconds(start, start + stats.bucket_seconds));
    return `/p/${projectId}/runs?${withParam(range, "group_by", null)}`;
  };
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <section
          key={chart.id}
          className={classes.chart}
          aria-label={chart.title}
          data-testid={`chart-${chart.id}`}
        >
          <h2 className={classes.title}>
            {chart.title}
            {chart.note && <span className={classes.note}>{chart.note}</span>}
            {isLog(chart) && !asTables && chart.series.some(({ values }) => values.includes(0)) && (
              <span className={classes.note}>zero is drawn at the bottom</span>
            )}
            {chart.mayBeLog && !asTables && (
              <Button
                ml="auto"
                size="compact-xs"
                variant="subtle"
                aria-label={`Log scale: ${isLog(chart) ? "on" : "off"}, ${chart.title}`}
                onClick={() => setLogs({ ...logs, [chart.id]: !isLog(chart) })}
              >
                Log scale: {isLog(chart) ? "on" : "off"}
              </Button>
            )}
          </h2>
          {chart.series.length > 1 && <Legend chart={chart} />}
          {asTables ? (
            <ChartTable chart={chart} times={times} bucketSeconds={stats.bucket_seconds} runsAt={runsAt} />
          ) : (
            <div style={{ height: HEIGHT }}>
              <Suspense>
                <TimeChart
                  label={`${chart.title} over time. Turn on “Tables” for the numbers.`}
                  times={times}
                  bucketSeconds={stats.bucket_seconds}
                  series={chart.series}
                  // Bars have lengths, which a logarithmic axis without zero would distort.
                  shape={isLog(chart) ? "lines" : chart.shape}
                  isLog={isLog(chart)}
                  height={HEIGHT}
                  format={chart.format}
                  steps={chart.steps}
                  onPick={(index) => navigate(runsAt(index))}
                  onBrush={(from, until) => onParams(withTimeRange(params, betweenSeconds(from, until)))}
                />
              </Suspense>
            </div>
          )}
        </section>
      ))}
    </div>
  );
}

function Legend({ chart }: { chart: Chart }) {
  return (
    <ul className={classes.legend} aria-hidden="true">
      {chart.series.map(({ label, color }) => (
        <li key={label} title={label}>
          <span className={classes.swatch} style={{ background: `var(${color})` }} />
          <span className={classes.label}>{label}</span>
        </li>
      ))}
    </ul>
  );
}

interface ChartTableProps {
  chart: Chart;
  times: number[];
  bucketSeconds: number;
  runsAt: (index: number) => string;
}

/** The chart's numbers, newest first. Each time links to its runs. */
function ChartTable({ chart, times, bucketSeconds, runsAt }: ChartTableProps) {
  const isDays = bucketSeconds >= 86_400;
  const rows = times.map((time, index) => ({ time, index })).reverse();
  return (
    <DataTable
      label={`${chart.title}, numbers`}
      maxHeight={HEIGHT}
      columns={[
        {
          header: isDays ? "Day (UTC)" : "From",
          cell: ({ time, index }) => (
            <Link to={runsAt(index)}>{(isDays ? dayFormat : timeFormat).format(time * 1000)}</Link>
          ),
        },
        ...chart.series.map(({ label, values }) => ({
          header: label,
          number: true,
          cell: ({ index }: { index: number }) => {
            const value = values[index];
            return value === null || value === undefined ? UNKNOWN : chart.format(value);
          },
        })),
      ]}
      rows={rows}
      rowKey={({ time }) => String(time)}
    />
  );
}

// Buckets of days are UTC days: the reader's time zone could show the previous day.
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

interface GroupsProps {
  stats: RunStats;
  groupBy: RunGroupBy;
  params: URLSearchParams;
}

/** The totals of each group, with a link to its runs. */
function Groups({ stats, groupBy, params }: GroupsProps) {
  const projectId = useProjectId();
  const name = GROUPINGS.find(({ value }) => value === groupBy)?.label ?? groupBy;
  const runsOf = (value: string) => `/p/${projectId}/runs?${withGroup(params, groupBy, value)}`;
  return (
    <DataTable
      label={`By ${name.toLowerCase()}`}
      columns={[
        {
          header: name,
          cell: ({ value, label, color }) => (
            <span className={classes.group}>
              <span className={classes.swatch} style={{ background: `var(${color})` }} />
              {value ? <Link to={runsOf(value)}>{label}</Link> : label}
            </span>
          ),
        },
        { header: "Runs", number: true, cell: ({ totals }) => formatCount(totals.count) },
        {
          header: "Failure rate",
          number: true,
          cell: ({ totals }) => (totals.error_rate === null ? UNKNOWN : formatPercent(totals.error_rate)),
        },
        { header: "p50", number: true, cell: ({ totals }) => formatDuration(totals.duration_ms?.p50) },
        { header: "p95", number: true, cell: ({ totals }) => formatDuration(totals.duration_ms?.p95) },
        { header: "Tokens", number: true, cell: ({ totals }) => formatTokens(totals.usage?.total_tokens) },
        {
          header: "Cost",
          number: true,
          title: ({ totals }) =>
            totals.no_cost_count > 0
              ? `Excludes ${formatRuns(totals.no_cost_count)} of unknown cost`
              : undefined,
          cell: ({ totals }) =>
            formatCost(totals.cost_usd) + (totals.cost_usd !== null && totals.no_cost_count > 0 ? " +" : ""),
        },
      ]}
      rows={groupsOf(stats)}
      rowKey={({ label }) => label}
    />
  );
}
