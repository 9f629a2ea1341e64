import { Button } from "@mantine/core";
import { lazy, Suspense, useMemo } from "react";
import { whyOf } from "@/api/problem";
import type { RunFilter } from "@/api/types";
import { MisdatedNote, SampledNote } from "@/components/filters/TimeNotes";
import { useChartStats } from "@/components/filters/useChartStats";
import { formatCount, formatDuration, formatPercent, formatRuns, formatTime } from "@/components/format";
import classes from "./Histogram.module.css";

// The chart is large: the list doesn't wait for it.
const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 64;

interface Props {
  filter: RunFilter;
  isFiltered: boolean;
  params: URLSearchParams;
  onParams: (params: URLSearchParams) => void;
  /** Both in seconds since 1970. */
  onRange: (from: number, until: number) => void;
}

/** Runs and failures over time. Dragging selects a time range. */
export function Histogram({ filter, isFiltered, params, onParams, onRange }: Props) {
  const { query, isPending, leftOut } = useChartStats(filter);
  const stats = isPending ? undefined : query.data;
  const chart = useMemo(
    () =>
      stats && {
        times: stats.series.map((point) => Date.parse(point.start) / 1000),
        series: [
          {
            label: "failed",
            color: "--lt-bar-error",
            values: stats.series.map(({ totals }) => totals.error_count),
          },
          {
            label: "others",
            color: "--lt-bar",
            values: stats.series.map(({ totals }) => totals.count - totals.error_count),
          },
        ],
      },
    [stats],
  );
  if (query.isError && !stats) {
    return (
      <div className={classes.root}>
        <p className={classes.problem} role="alert">
          Couldn't load the chart: {whyOf(query.error)}{" "}
          <Button size="compact-xs" variant="default" onClick={() => query.refetch()}>
            Retry
          </Button>
        </p>
      </div>
    );
  }
  // The empty page explains how to send the first run.
  if (stats?.total.count === 0 && !isFiltered) return null;
  const total = stats?.total;
  const summary = total
    ? [
        formatRuns(total.count),
        `${formatCount(total.error_count)} failed${total.error_rate === null ? "" : ` (${formatPercent(total.error_rate)})`}`,
        ...(total.duration_ms
          ? [`p50 ${formatDuration(total.duration_ms.p50)}`, `p95 ${formatDuration(total.duration_ms.p95)}`]
          : []),
      ]
    : [];
  return (
    <section
      className={classes.root}
      aria-label="Runs over time"
      data-testid="histogram"
      data-stale={query.isPlaceholderData || undefined}
      aria-busy={query.isPlaceholderData}
    >
      <p className={classes.summary}>
        {summary.map((text) => (
          <span key={text}>{text}</span>
        ))}
        {stats?.partial && (
          <span
            className={classes.partial}
            title="Counting earlier runs would take too long. Choose a shorter time range or another filter to see them."
          >
            since {formatTime(stats.start)}
          </span>
        )}
      </p>
      {leftOut && !isPending && <MisdatedNote runs={leftOut} params={params} onChange={onParams} />}
      {stats && <SampledNote totals={stats.total} />}
      <div style={{ height: HEIGHT }}>
        {stats && chart && stats.total.count > 0 && (
          <Suspense>
            <TimeChart
              label={`Runs over time: ${summary.join(", ")}`}
              times={chart.times}
              bucketSeconds={stats.bucket_seconds}
              series={chart.series}
              shape="bars"
              height={HEIGHT}
              format={formatCount}
              bare
              onBrush={onRange}
              onPick={(index) => {
                const start = chart.times[index];
                if (start !== undefined && chart.times.length > 1)
                  onRange(start, start + stats.bucket_seconds);
              }}
            />
          </Suspense>
        )}
      </div>
    </section>
  );
}
