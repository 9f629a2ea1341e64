import { lazy, Suspense, useMemo } from "react";
import type { ChartSeries } from "@/components/chart/series";
import { formatValue, intervalText } from "@/components/evaluation/measures";
import { NONE } from "@/components/format";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

interface Props {
  label: string;
  /** What the points are called, the oldest first. */
  points: { tick: string; label: string }[];
  series: ChartSeries[];
  height: number;
  format: (value: number) => string;
}

/** Figures of evaluations, one after the other. */
export function TrendChart({ label, points, series, height, format }: Props) {
  const times = useMemo(() => points.map((_, index) => index), [points]);
  return (
    <div style={{ height }}>
      <Suspense>
        <TimeChart
          label={label}
          times={times}
          bucketSeconds={0}
          points={points}
          series={series}
          shape="lines"
          height={height}
          format={format}
        />
      </Suspense>
    </div>
  );
}

/** A mean of scores with its interval: "83.3 (70.0 to 93.3)". */
export function meanText({ mean, ci }: { mean: number | null; ci: readonly number[] | null }): string {
  if (mean === null) return NONE;
  const interval = intervalText(ci, (value) => formatValue("score", value));
  return formatValue("score", mean) + (interval === null ? "" : ` (${interval})`);
}
