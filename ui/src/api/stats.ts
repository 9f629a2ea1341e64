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
    refetchInterval: filter.start_before === undefined ? REFRESH_MS : false,
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
