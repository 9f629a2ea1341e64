import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";

/** GET /v1/agent/failed-runs, page after page: groups of failed runs of the last seconds, most worth a look first. */
export function useFailedRuns(projectId: string, windowSeconds: number) {
  return useInfiniteQuery({
    queryKey: ["failed-runs", projectId, windowSeconds],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/agent/failed-runs", {
          params: {
            query:
              pageParam === undefined
                ? { project_id: projectId, window_seconds: windowSeconds, limit: 20 }
                : { project_id: projectId, cursor: pageParam, limit: 20 },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/agent/failed-runs/{fingerprint}. */
export function useFailedRunGroup(projectId: string, fingerprint: string, windowSeconds: number) {
  return useQuery({
    queryKey: ["failed-run-group", projectId, fingerprint, windowSeconds],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agent/failed-runs/{fingerprint}", {
          params: {
            path: { fingerprint },
            query: { project_id: projectId, window_seconds: windowSeconds },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}
