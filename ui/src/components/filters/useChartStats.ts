import { type MisdatedRuns, useMisdatedRuns, useRunStats } from "@/api/stats";
import type { RunFilter, RunGroupBy } from "@/api/types";
import { credibleFilter, misdatedFilters, reachesTooFar } from "./clocks";

/** Statistics for charts over time. Runs of wrong clocks are left out, since they would stretch the charts over decades. */
export function useChartStats(filter: RunFilter, groupBy?: RunGroupBy, groups?: number) {
  const now = Date.now();
  const whole = useRunStats(filter, groupBy, groups);
  const isTooFar = whole.data !== undefined && reachesTooFar(filter, whole.data, now);
  const others = credibleFilter(filter, now);
  const misdated = useMisdatedRuns({ ...misdatedFilters(filter, now), others }, isTooFar);
  const times = isTooFar ? misdated.data?.others : undefined;
  const clipped = useRunStats(times ? between(others, times) : filter, groupBy, groups);
  return {
    query: times ? clipped : whole,
    /** The chart must wait for the times that it shows. */
    isPending: isTooFar && (misdated.isPending || (times != null && clipped.isPlaceholderData)),
    /** The runs that the chart leaves out; missing if there are none. */
    leftOut: times ? misdated.data : undefined,
  };
}

function between(filter: RunFilter, { first, last }: NonNullable<MisdatedRuns["others"]>): RunFilter {
  const { window_seconds: _, ...others } = filter;
  // The bound is exclusive, and a chart of live runs goes on.
  const end = Math.max(Date.parse(last) + 1, nextHour(Date.now()));
  return { ...others, start_after: first, start_before: new Date(end).toISOString() };
}

const HOUR_MS = 3_600_000;

function nextHour(now: number): number {
  return now - (now % HOUR_MS) + HOUR_MS;
}
