import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { RunFilter } from "./runs";
import type { RunGroupBy } from "./types";

/** What is relative to now is asked for again this often while it is looked at. */
const REFRESH_MS = 30_000;

/** GET /v1/runs/stats: what the filter's runs add up to, over time and, where asked for, by group. */
export function useRunStats(filter: RunFilter, groupBy?: RunGroupBy, groups?: number) {
  return useQuery({
    queryKey: ["run-stats", filter, groupBy, groups],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/stats", { params: { query: { ...filter, group_by: groupBy, groups } }, signal }),
      ),
    refetchInterval: filter.start_before === undefined ? REFRESH_MS : false,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/fields: what runs can be filtered by, keys of metadata included. */
export function useRunFields(filter: RunFilter, enabled: boolean) {
  return useQuery({
    queryKey: ["run-fields", filter],
    queryFn: ({ signal }) => unwrap(client.GET("/v1/runs/fields", { params: { query: filter }, signal })),
    enabled,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/fields/{field}/values: the values that begin with `prefix`, the most used first. */
export function useRunFieldValues(filter: RunFilter, field: string | null, prefix: string) {
  return useQuery({
    queryKey: ["run-field-values", filter, field, prefix],
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
