import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { RunFilter } from "./runs";

/** What failed runs are filtered by: a time back from now, and all else as runs are. */
export type FailureFilter = Omit<RunFilter, "start_after" | "start_before" | "fingerprint">;

/** GET /v1/agent/failed-runs, page after page: groups of the filter's failed runs, most worth a look first. */
export function useFailedRuns(filter: FailureFilter) {
  return useInfiniteQuery({
    queryKey: ["failed-runs", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/agent/failed-runs", {
          params: { query: { ...filter, cursor: pageParam, limit: 20 } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/agent/failed-runs/{fingerprint}. */
export function useFailedRunGroup(fingerprint: string, filter: FailureFilter) {
  return useQuery({
    queryKey: ["failed-run-group", fingerprint, filter],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agent/failed-runs/{fingerprint}", {
          params: { path: { fingerprint }, query: filter },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}
