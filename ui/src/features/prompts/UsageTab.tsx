import { Group, Skeleton, Switch, Text } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { usePromptUsage } from "@/api/prompts";
import type { Prompt, PromptUsage, PromptVersionUsage } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import { areTimed, type Filters, type Range, readFilters, withTimeRange } from "@/components/filters/filters";
import { SampledNote } from "@/components/filters/TimeNotes";
import { TimeRange } from "@/components/filters/TimeRange";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatPercent,
  formatRuns,
  formatTime,
  formatTokens,
  NONE,
  UNKNOWN,
} from "@/components/format";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import classes from "./PromptPage.module.css";
import { bucketTimes, type UsageChart, usageCharts, versionColor, versionLabel, windowOf } from "./usage";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 170;
/** The range of an address without one. */
const DEFAULT_RANGE: Range = "30d";

/** How the runs that used a prompt did, by version. */
export function UsageTab({ prompt }: { prompt: Prompt }) {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => {
    const chosen = readFilters(params, DEFAULT_RANGE);
    // The server looks no further back by itself, and so all time is the default.
    return areTimed(chosen) ? chosen : { ...chosen, range: DEFAULT_RANGE };
  }, [params]);
  // A relative range is fixed when it is chosen, so that the query stays the same.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filters change only with the address
  const window = useMemo(() => windowOf(filters, Date.now()), [params.toString()]);
  const query = usePromptUsage(prompt.id, window);
  const [asTables, setAsTables] = useState(false);
  return (
    <div className={classes.body}>
      <Group gap="sm" mb="sm">
        <TimeRange filters={filters} params={params} onChange={setParams} />
        <Switch
          size="xs"
          label="Tables"
          checked={asTables}
          onChange={(event) => setAsTables(event.currentTarget.checked)}
        />
      </Group>
      <QueryState query={query} skeleton={<Loading />}>
        {(usage) =>
          usage.versions.length === 0 ? (
            <PageMessage title="No runs in this period.">
              <PageHint>
                Runs appear here when their spans name the prompt, or send its system message word for word.
                The code is under <Link to="?tab=code">Use in code</Link>.
              </PageHint>
            </PageMessage>
          ) : (
            <>
              {usage.partial && (
                <Text size="sm" c="dimmed" mb="xs" role="status">
                  Only includes runs since {formatTime(usage.start)}: counting earlier runs would take too
                  long. Choose a shorter time range to see them.
                </Text>
              )}
              <SampledNote totals={usage.total} />
              <UsageTable prompt={prompt} usage={usage} filters={filters} />
              {usage.other && (
                <Text size="sm" c="dimmed" mt="xs">
                  {formatCount(usage.other.versions)} other versions had{" "}
                  {formatRuns(usage.other.totals.count)}.
                </Text>
              )}
              <Charts usage={usage} asTables={asTables} />
            </>
          )
        }
      </QueryState>
    </div>
  );
}

function Loading() {
  return (
    <>
      <SkeletonRows count={3} height={30} />
      <Skeleton h={HEIGHT} />
    </>
  );
}

interface TableProps {
  prompt: Prompt;
  usage: PromptUsage;
  filters: Filters;
}

function UsageTable({ prompt, usage, filters }: TableProps) {
  const scores = [
    ...new Set(usage.versions.flatMap((version) => version.scores.map(({ name }) => name))),
  ].sort();
  const columns: Column<PromptVersionUsage>[] = [
    {
      header: "Version",
      cell: (version) => (
        <span className={classes.version}>
          <span
            className={classes.swatch}
            style={{ background: `var(${versionColor(usage.versions.indexOf(version))})` }}
            aria-hidden="true"
          />
          {version.exists && version.version !== null ? (
            <Link to={`?version=${version.version}`}>{versionLabel(version)}</Link>
          ) : (
            versionLabel(version)
          )}
          {!version.exists && version.version !== null && (
            <span className={classes.dim}>not a version of this prompt</span>
          )}
        </span>
      ),
    },
    {
      header: "Runs",
      number: true,
      title: ({ linked_by_content: linked }) =>
        linked > 0 ? `${formatRuns(linked)} linked by the text of the system message` : undefined,
      cell: ({ totals }) => formatCount(totals.count),
    },
    {
      header: "Failed",
      number: true,
      title: ({ totals }) =>
        `${formatCount(totals.error_count)} of ${formatRuns(totals.ended_count)} that ended`,
      cell: ({ totals: { error_rate: rate } }) => (rate === null ? UNKNOWN : formatPercent(rate)),
    },
    { header: "p50", number: true, cell: ({ totals }) => formatDuration(totals.duration_ms?.p50) },
    { header: "p95", number: true, cell: ({ totals }) => formatDuration(totals.duration_ms?.p95) },
    {
      header: "Tokens",
      number: true,
      title: ({ totals }) =>
        totals.no_usage_count > 0
          ? `Excludes ${formatRuns(totals.no_usage_count)} of unknown tokens`
          : undefined,
      cell: ({ totals }) => formatTokens(totals.usage?.total_tokens),
    },
    {
      header: "Cost",
      number: true,
      title: () => "Of whole runs, not only of the calls with this prompt",
      cell: ({ totals, unpriced_call_count: unpriced }) => (
        <>
          {formatCost(totals.cost_usd)}
          {unpriced > 0 && <span className={classes.dim}> + {formatCount(unpriced)} unpriced</span>}
        </>
      ),
    },
    ...scores.map(
      (name): Column<PromptVersionUsage> => ({
        header: name,
        number: true,
        title: (version) => {
          const score = version.scores.find((one) => one.name === name);
          return score && `Mean of ${formatCount(score.count)}`;
        },
        cell: (version) => {
          const score = version.scores.find((one) => one.name === name);
          if (!score) return NONE;
          return (
            <>
              {score.boolean ? formatPercent(score.mean) : String(Number(score.mean.toFixed(3)))}
              <span className={classes.dim}> n={formatCount(score.count)}</span>
            </>
          );
        },
      }),
    ),
    {
      header: "Runs of this version",
      hideHeader: true,
      cell: (version) => (
        <Link to={runsOf(prompt, version, filters)}>
          View runs<span className={classes.hidden}> of {versionLabel(version)}</span>
        </Link>
      ),
    },
  ];
  return (
    <DataTable
      label="Usage by version"
      columns={columns}
      rows={usage.versions}
      rowKey={({ version }) => version ?? ""}
      rowProps={({ version }) => ({ "data-testid": "usage-row", "data-version": version ?? "" })}
    />
  );
}

/** The list of runs with the same time range. Runs that are linked by content don't name the prompt. */
function runsOf(prompt: Prompt, { version }: PromptVersionUsage, filters: Filters): string {
  const filter = new URLSearchParams({ prompt_name: prompt.name });
  if (version !== null) filter.set("prompt_version", version);
  const { range, start_after: after, start_before: before } = filters;
  return `/p/${prompt.project_id}/runs?${withTimeRange(filter, { preset: range, after, before })}`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function Charts({ usage, asTables }: { usage: PromptUsage; asTables: boolean }) {
  const charts = useMemo(() => usageCharts(usage), [usage]);
  const times = useMemo(() => bucketTimes(usage), [usage]);
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <section
          key={chart.id}
          className={classes.chart}
          aria-label={chart.title}
          data-testid={`chart-${chart.id}`}
        >
          <h2 className={classes.heading}>{chart.title}</h2>
          {asTables ? (
            <ChartTable chart={chart} times={times} isDays={usage.bucket_seconds >= 86_400} />
          ) : (
            <div style={{ height: HEIGHT }}>
              <Suspense>
                <TimeChart
                  label={`${chart.title} by version over time. Turn on “Tables” for the numbers.`}
                  times={times}
                  bucketSeconds={usage.bucket_seconds}
                  series={chart.series}
                  shape={chart.shape}
                  height={HEIGHT}
                  format={chart.format}
                  steps={chart.steps}
                />
              </Suspense>
            </div>
          )}
        </section>
      ))}
    </div>
  );
}

interface ChartTableProps {
  chart: UsageChart;
  times: number[];
  isDays: boolean;
}

/** The chart's numbers, newest first. */
function ChartTable({ chart, times, isDays }: ChartTableProps) {
  return (
    <DataTable
      label={`${chart.title}, numbers`}
      maxHeight={HEIGHT}
      columns={[
        {
          header: isDays ? "Day (UTC)" : "From",
          cell: ({ time }) => (isDays ? dayFormat : timeFormat).format(time * 1000),
        },
        ...chart.series.map(({ label, values }) => ({
          header: label,
          number: true,
          cell: ({ index }: { index: number }) => {
            const value = values[index];
            return value === null || value === undefined ? NONE : chart.format(value);
          },
        })),
      ]}
      rows={times.map((time, index) => ({ time, index })).reverse()}
      rowKey={({ time }) => String(time)}
    />
  );
}
