import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import type { RunFilter, RunGroupBy } from "./types";

/** How often statistics of a range that ends now are refetched while visible. */
const REFRESH_MS = 30_000;

/** GET /v1/runs/stats: totals of the filter's runs, over time and optionally by group. */
export function useRunStats(filter: RunFilter, groupBy?: RunGroupBy, groups?: number) {
  return useQuery({
    queryKey: keys.runs.stats(filter, groupBy, groups),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/stats", { params: { query: { ...filter, group_by: groupBy, groups } }, signal }),
      ),
    refetchInterval:
      filter.start_before === undefined || Date.parse(filter.start_before) > Date.now() ? REFRESH_MS : false,
    placeholderData: keepPreviousData,
  });
}

/** How many traces a filter hides. */
export interface HiddenTraces {
  count: number;
  /** Earlier traces are not counted, since that would take too long. */
  partial: boolean;
}

/**
 * GET /v1/runs/stats: how many traces without GenAI spans the filter hides. Undefined until known, and if `enabled` is
 * false. Asked once per filter; they grow quickly in an instrumented service, so polling would cost much.
 */
export function useHiddenTraces(filter: RunFilter, enabled: boolean) {
  return useQuery({
    queryKey: keys.runs.hidden(filter),
    queryFn: async ({ signal }): Promise<HiddenTraces> => {
      const stats = await unwrap(
        client.GET("/v1/runs/stats", { params: { query: { ...filter, traces: "other" } }, signal }),
      );
      return { count: stats.total.count, partial: stats.partial };
    },
    enabled,
    staleTime: 60_000,
  }).data;
}

/** GET /v1/runs: whether any run matches, of any source and with or without GenAI spans. */
export function useHasRuns(projectId: string, enabled: boolean) {
  const filter: RunFilter = { project_id: projectId, traces: "all", source: "all" };
  return useQuery({
    queryKey: keys.runs.any(filter),
    queryFn: async ({ signal }) => {
      const page = await unwrap(
        client.GET("/v1/runs", { params: { query: { ...filter, limit: 1 } }, signal }),
      );
      return page.data.length > 0 || page.partial === true;
    },
    enabled,
  });
}

/** How many runs have times that cannot be right, and the times of the first and last other run; null without others. */
export interface MisdatedRuns {
  past: number;
  future: number;
  others: { first: string; last: string } | null;
}

/** GET /v1/runs/stats and /v1/runs: the runs of wrong clocks, by the filters for those before, after and between. */
export function useMisdatedRuns(
  { past, future, others }: { past: RunFilter | null; future: RunFilter | null; others: RunFilter },
  enabled: boolean,
) {
  return useQuery({
    queryKey: keys.runs.misdated(others),
    queryFn: async ({ signal }): Promise<MisdatedRuns> => {
      const count = async (filter: RunFilter | null) => {
        if (filter === null) return 0;
        const stats = await unwrap(client.GET("/v1/runs/stats", { params: { query: filter }, signal }));
        return stats.total.count;
      };
      const run = async (order?: "start_time") => {
        const query = { ...others, order, limit: 1 };
        return (await unwrap(client.GET("/v1/runs", { params: { query }, signal }))).data[0];
      };
      const [before, after, first, last] = await Promise.all([
        count(past),
        count(future),
        run("start_time"),
        run(),
      ]);
      const times = first && last && { first: first.start_time, last: last.start_time };
      return { past: before, future: after, others: times ?? null };
    },
    enabled,
    staleTime: 60_000,
  });
}

/** GET /v1/runs/fields: the fields to filter by, including metadata keys. */
export function useRunFields(filter: RunFilter, enabled: boolean) {
  return useQuery({
    queryKey: keys.runs.fields(filter),
    queryFn: ({ signal }) => unwrap(client.GET("/v1/runs/fields", { params: { query: filter }, signal })),
    enabled,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/fields/{field}/values: the values that start with `prefix`, most used first. */
export function useRunFieldValues(filter: RunFilter, field: string | null, prefix: string) {
  return useQuery({
    queryKey: keys.runs.fieldValues(filter, field, prefix),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/fields/{field}/values", {
          params: {
            path: { field: field ?? "" },
            query: { ...filter, prefix: prefix || undefined, limit: 50 },
          },
          signal,
        }),
      ),
    enabled: field !== null,
    staleTime: 30_000,
    placeholderData: (before, query) => (query?.queryKey[2] === field ? before : undefined),
  });
}
