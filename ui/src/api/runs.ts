import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { client, unwrap } from "./client";
import type { RunQuery } from "./types";

/** Rows of one page of the runs list. */
export const RUN_PAGE = 50;
/** How often something live is asked for again. Queries pause while the tab is hidden. */
export const LIVE_INTERVAL_MS = 3_000;

/** What selects runs: everything of the list's query but its paging. */
export type RunFilter = Omit<RunQuery, "limit" | "offset" | "cursor">;

const runsKey = (filter: RunFilter) => ["runs", filter] as const;

function fetchRuns(query: RunQuery, signal: AbortSignal) {
  return unwrap(client.GET("/v1/runs", { params: { query }, signal }));
}

/** GET /v1/runs, page after page by cursor. */
export function useRuns(filter: RunFilter) {
  return useInfiniteQuery({
    queryKey: runsKey(filter),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => fetchRuns({ ...filter, limit: RUN_PAGE, cursor: pageParam }, signal),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    // What is on the screen moves only when the reader asks: the head is polled beside it.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10 * 60_000,
    placeholderData: keepPreviousData,
  });
}

/** Starts the list again from its newest page. */
export function useReloadRuns(filter: RunFilter): () => Promise<void> {
  const queryClient = useQueryClient();
  return useCallback(() => queryClient.resetQueries({ queryKey: runsKey(filter) }), [queryClient, filter]);
}

/** GET /v1/runs: the newest page again and again, while `live`. */
export function useRunsHead(filter: RunFilter, live: boolean, limit = RUN_PAGE) {
  return useQuery({
    queryKey: ["runs-head", filter, limit],
    queryFn: ({ signal }) => fetchRuns({ ...filter, limit }, signal),
    enabled: live,
    refetchInterval: LIVE_INTERVAL_MS,
    staleTime: 0,
    gcTime: 0,
  });
}

/** Spans may still come for a while after a run's end. */
const SETTLE_MS = 30_000;

/** GET /v1/runs/{run_id}; asked again while it is running or has just changed. */
export function useRun(projectId: string, runId: string) {
  return useQuery({
    queryKey: ["run", projectId, runId],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
    refetchInterval: (query) => {
      const run = query.state.data;
      if (!run) return false;
      const settled = Date.now() - Date.parse(run.received_at) > SETTLE_MS;
      return run.status === "running" || !settled ? LIVE_INTERVAL_MS : false;
    },
  });
}

// The first page is small so that something can be read at once; the rest comes in large ones.
const FIRST_SPANS = 1_000;
const MORE_SPANS = 3_000;

/** GET /v1/runs/{run_id}/spans, page after page by cursor; a refetch renews all pages and then shows them. */
export function useSpans(projectId: string, runId: string) {
  return useInfiniteQuery({
    queryKey: ["spans", projectId, runId],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/spans", {
          params: {
            path: { run_id: runId },
            query: {
              project_id: projectId,
              limit: pageParam === undefined ? FIRST_SPANS : MORE_SPANS,
              cursor: pageParam,
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    gcTime: 60_000,
  });
}

/** GET /v1/runs/{run_id}/spans/{span_id}: one span, whole. */
export function useSpan(projectId: string, runId: string, spanId: string | undefined, running: boolean) {
  return useQuery({
    queryKey: ["span", projectId, runId, spanId],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/spans/{span_id}", {
          params: { path: { run_id: runId, span_id: spanId ?? "" }, query: { project_id: projectId } },
          signal,
        }),
      ),
    enabled: spanId !== undefined,
    refetchInterval: running ? LIVE_INTERVAL_MS : false,
    staleTime: 30_000,
  });
}
