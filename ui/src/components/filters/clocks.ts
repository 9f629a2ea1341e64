import type { RunFilter } from "@/api/types";

const DAY_MS = 86_400_000;
/** How many days back and ahead a run's time is credible. */
const [DAYS_BACK, DAYS_AHEAD] = [3_650, 2];

/** The times outside of which a clock was wrong: there since 1970, years ahead. Fixed for a day, as times of a query. */
export function credibleTimes(now: number): { after: string; before: string } {
  const day = now - (now % DAY_MS);
  return {
    after: new Date(day - DAYS_BACK * DAY_MS).toISOString(),
    before: new Date(day + DAYS_AHEAD * DAY_MS).toISOString(),
  };
}

/** The filters of the runs of wrong clocks, before and after the credible times. Null where the filter excludes them. */
export function misdatedFilters(filter: RunFilter, now: number) {
  const { after, before } = credibleTimes(now);
  const isOpenBack = filter.window_seconds === undefined && filter.start_after === undefined;
  const isOpenAhead = filter.start_before === undefined;
  const isAhead = filter.start_after !== undefined && filter.start_after >= before;
  const isBack = filter.start_before !== undefined && filter.start_before <= after;
  return {
    past: isOpenBack && !isBack ? { ...filter, start_before: earlier(filter.start_before, after) } : null,
    future: isOpenAhead && !isAhead ? { ...filter, start_after: before } : null,
  };
}

function earlier(time: string | undefined, other: string): string {
  return time !== undefined && time < other ? time : other;
}

/** The runs of the filter with credible times. */
export function credibleFilter(filter: RunFilter, now: number): RunFilter {
  const { after, before } = credibleTimes(now);
  const { past, future } = misdatedFilters(filter, now);
  return { ...filter, ...(past && { start_after: after }), ...(future && { start_before: before }) };
}

/** Whether statistics of the filter reach beyond credible times. */
export function reachesTooFar(
  filter: RunFilter,
  stats: { start: string; end: string },
  now: number,
): boolean {
  const { after, before } = credibleTimes(now);
  const { past, future } = misdatedFilters(filter, now);
  const [start, end] = [Date.parse(stats.start), Date.parse(stats.end)];
  return (
    start < end &&
    ((past !== null && start < Date.parse(after)) || (future !== null && end > Date.parse(before)))
  );
}
