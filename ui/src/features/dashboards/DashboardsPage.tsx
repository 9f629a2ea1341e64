import { Button, Select, Skeleton, Switch, Table, Title } from "@mantine/core";
import { lazy, Suspense, useMemo, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { useRunStats } from "@/api/stats";
import type { RunGroupBy, RunStats, RunTotals } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { FilterBar } from "@/components/filters/FilterBar";
import {
  areFiltering,
  readFilters,
  toggleOnlyErrors,
  toQuery,
  withParam,
  withTimeRange,
} from "@/components/filters/filters";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatTime,
  formatTokens,
  UNKNOWN,
} from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { type Chart, chartsOf, formatPercent, GROUPINGS, groupsOf, readGrouping } from "./charts";
import classes from "./DashboardsPage.module.css";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 190;
/** Groups that are told apart: as many as there are colours. */
const GROUPS = 8;

/** What the filter's runs add up to over time; the address holds the filters and the grouping. */
export function DashboardsPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => readFilters(params), [params]);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const grouping = readGrouping(params);
  const query = useRunStats(filter, grouping ?? undefined, grouping ? GROUPS : undefined);
  const [asTables, setAsTables] = useState(false);
  const searchBox = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => searchBox.current?.focus(),
    e: () => setParams(toggleOnlyErrors(params)),
  });
  const stats = query.data;
  const isFiltered = areFiltering(filters);

  return (
    <div className={classes.page}>
      <title>Dashboards · Looptrace</title>
      <div className={classes.top}>
        <Title order={1} size="h4">
          Dashboards
        </Title>
        <FilterBar
          page="dashboards"
          filters={filters}
          params={params}
          onChange={setParams}
          searchBox={searchBox}
        >
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
        <Switch
          className={classes.tables}
          size="xs"
          label="Tables"
          checked={asTables}
          onChange={(event) => setAsTables(event.currentTarget.checked)}
        />
      </div>
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
        tabIndex={0}
        aria-label="Charts"
        aria-busy={query.isFetching && !stats}
      >
        {query.isPending ? (
          <Waiting />
        ) : query.isError && !stats ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
        ) : stats && stats.total.count === 0 ? (
          <div className={classes.message}>
            {isFiltered ? (
              <>
                <p className={classes.lead}>No run matches these filters.</p>
                <Button
                  variant="default"
                  onClick={() => setParams(withParam(new URLSearchParams(), "group_by", grouping))}
                >
                  Clear filters
                </Button>
              </>
            ) : (
              <>
                <p className={classes.lead}>No runs yet.</p>
                <p className={classes.dim}>
                  Their numbers, errors, durations, tokens and cost over time stand here.
                </p>
                <Button component={Link} to={`/p/${projectId}/start`}>
                  Send your first run
                </Button>
              </>
            )}
          </div>
        ) : (
          stats && (
            <div data-stale={query.isPlaceholderData || undefined} className={classes.content}>
              {stats.partial && (
                <p className={classes.partial} role="status">
                  Counted since {formatTime(stats.start)}: the runs before would take too long. A shorter time
                  range leads there.
                </p>
              )}
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
          )
        )}
      </section>
    </div>
  );
}

function Waiting() {
  return (
    <Delayed>
      <div className={classes.content}>
        <Skeleton h={58} />
        <div className={classes.charts}>
          {[0, 1, 2, 3].map((chart) => (
            <Skeleton key={chart} h={HEIGHT + 42} />
          ))}
        </div>
      </div>
    </Delayed>
  );
}

function Totals({ totals }: { totals: RunTotals }) {
  const facts = [
    ["Runs", formatCount(totals.count)],
    [
      "Failed",
      totals.error_rate === null
        ? formatCount(totals.error_count)
        : `${formatCount(totals.error_count)} (${formatPercent(totals.error_rate)})`,
    ],
    ["Duration, p50", formatDuration(totals.duration_ms?.p50)],
    ["Duration, p95", formatDuration(totals.duration_ms?.p95)],
    ["Tokens", formatTokens(totals.usage?.total_tokens)],
    ["Cost", formatCost(totals.cost_usd)],
  ] as const;
  return (
    <dl className={classes.totals} data-testid="totals">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd data-unknown={value === UNKNOWN || undefined}>{value}</dd>
        </div>
      ))}
    </dl>
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
  const charts = useMemo(() => chartsOf(stats), [stats]);
  const times = useMemo(() => stats.series.map((point) => Date.parse(point.start) / 1000), [stats]);
  const behind = (index: number) =>
    `/p/${projectId}/runs?${bucketParams(params, times[index] ?? 0, stats.bucket_seconds)}`;
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
          </h2>
          {chart.series.length > 1 && <Legend chart={chart} />}
          {asTables ? (
            <DataTable chart={chart} times={times} bucketSeconds={stats.bucket_seconds} behind={behind} />
          ) : (
            <div style={{ height: HEIGHT }}>
              <Suspense>
                <TimeChart
                  label={`${chart.title} over time. “Tables” shows the figures.`}
                  times={times}
                  bucketSeconds={stats.bucket_seconds}
                  series={chart.series}
                  shape={chart.shape}
                  height={HEIGHT}
                  format={chart.format}
                  steps={chart.steps}
                  onPick={(index) => navigate(behind(index))}
                  onBrush={(from, until) =>
                    onParams(withTimeRange(params, { preset: null, ...between(from, until) }))
                  }
                />
              </Suspense>
            </div>
          )}
        </section>
      ))}
    </div>
  );
}

function between(from: number, until: number) {
  return { after: new Date(from * 1000).toISOString(), before: new Date(until * 1000).toISOString() };
}

/** The filters of the runs in one bucket. */
function bucketParams(params: URLSearchParams, start: number, seconds: number): URLSearchParams {
  return withParam(
    withTimeRange(params, { preset: null, ...between(start, start + seconds) }),
    "group_by",
    null,
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

interface DataProps {
  chart: Chart;
  times: number[];
  bucketSeconds: number;
  behind: (index: number) => string;
}

/** The chart's figures, newest first; each time leads to the runs behind it. */
function DataTable({ chart, times, bucketSeconds, behind }: DataProps) {
  const rows = times.map((time, index) => ({ time, index })).reverse();
  return (
    <section
      className={classes.data}
      style={{ maxHeight: HEIGHT }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
      tabIndex={0}
      aria-label={`${chart.title}, figures`}
    >
      <Table verticalSpacing={3} fz="xs" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{isDays(bucketSeconds) ? "Day (UTC)" : "From"}</Table.Th>
            {chart.series.map(({ label }) => (
              <Table.Th key={label} ta="right">
                {label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ time, index }) => (
            <Table.Tr key={time}>
              <Table.Td>
                <Link to={behind(index)}>{moment(time, bucketSeconds)}</Link>
              </Table.Td>
              {chart.series.map(({ label, values }) => {
                const value = values[index];
                return (
                  <Table.Td key={label} ta="right">
                    {value === null || value === undefined ? UNKNOWN : chart.format(value)}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

// Days begin and end as UTC's do: in the reader's zone, most would bear the name of another day.
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function isDays(bucketSeconds: number): boolean {
  return bucketSeconds >= 86_400;
}

function moment(seconds: number, bucketSeconds: number): string {
  return (isDays(bucketSeconds) ? dayFormat : timeFormat).format(seconds * 1000);
}

/** The groups with their totals; each leads to its runs. */
function Groups({
  stats,
  groupBy,
  params,
}: {
  stats: RunStats;
  groupBy: RunGroupBy;
  params: URLSearchParams;
}) {
  const projectId = useProjectId();
  const name = GROUPINGS.find(({ value }) => value === groupBy)?.label ?? groupBy;
  const runs = (value: string) =>
    `/p/${projectId}/runs?${withParam(withParam(params, "group_by", null), groupBy, value)}`;
  return (
    <section className={classes.groups} aria-label={`By ${name.toLowerCase()}`}>
      <Table verticalSpacing={6} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{name}</Table.Th>
            <Table.Th ta="right">Runs</Table.Th>
            <Table.Th ta="right">Error rate</Table.Th>
            <Table.Th ta="right">p50</Table.Th>
            <Table.Th ta="right">p95</Table.Th>
            <Table.Th ta="right">Tokens</Table.Th>
            <Table.Th ta="right">Cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groupsOf(stats).map(({ value, label, color, totals }) => (
            <Table.Tr key={label}>
              <Table.Td className={classes.group}>
                <span className={classes.swatch} style={{ background: `var(${color})` }} />
                {value ? <Link to={runs(value)}>{label}</Link> : label}
              </Table.Td>
              <Table.Td ta="right">{formatCount(totals.count)}</Table.Td>
              <Table.Td ta="right">
                {totals.error_rate === null ? UNKNOWN : formatPercent(totals.error_rate)}
              </Table.Td>
              <Table.Td ta="right">{formatDuration(totals.duration_ms?.p50)}</Table.Td>
              <Table.Td ta="right">{formatDuration(totals.duration_ms?.p95)}</Table.Td>
              <Table.Td ta="right">{formatTokens(totals.usage?.total_tokens)}</Table.Td>
              <Table.Td
                ta="right"
                title={
                  totals.no_cost_count > 0
                    ? `${formatCount(totals.no_cost_count)} runs of unknown cost`
                    : undefined
                }
              >
                {formatCost(totals.cost_usd)}
                {totals.cost_usd !== null && totals.no_cost_count > 0 && " +"}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
