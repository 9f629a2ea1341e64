import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import { LIVE_INTERVAL_MS } from "./runs";
import type { RunFilter, RunSourceFilter, Traces } from "./types";

/** GET /v1/threads, page by page, most recent activity first. */
export function useThreads(filter: RunFilter) {
  return useInfiniteQuery({
    queryKey: keys.threads.list(filter),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/threads", { params: { query: { ...filter, limit: 50, cursor: pageParam } }, signal }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/threads/{session_id}: the thread and its runs, page by page, oldest run first. */
export function useThread(projectId: string, sessionId: string, traces: Traces, source: RunSourceFilter) {
  return useInfiniteQuery({
    queryKey: keys.threads.detail(projectId, sessionId, traces, source),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/threads/{session_id}", {
          params: {
            path: { session_id: sessionId },
            query: { project_id: projectId, traces, source, limit: 20, cursor: pageParam },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: (query) => (query.state.data?.pages[0]?.thread.running ? LIVE_INTERVAL_MS : false),
  });
}
