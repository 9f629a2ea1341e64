import { useInfiniteQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";

/** Steps per page. A folded group of equal steps counts as one. */
const STEPS = 1000;

/** GET /v1/runs/{run_id}/diff/{other_run_id}, page by page. */
export function useDiff(projectId: string, runId: string, otherRunId: string) {
  return useInfiniteQuery({
    queryKey: keys.diff(projectId, runId, otherRunId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      fetchDiff(projectId, runId, otherRunId, pageParam, STEPS, true, signal),
    getNextPageParam: (page) => page.next_offset ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
}

/** The steps inside a folded group. */
export async function fetchFolded(
  projectId: string,
  runId: string,
  otherRunId: string,
  offset: number,
  limit: number,
) {
  return (await fetchDiff(projectId, runId, otherRunId, offset, limit, false)).steps;
}

function fetchDiff(
  projectId: string,
  runId: string,
  otherRunId: string,
  offset: number,
  limit: number,
  fold: boolean,
  signal?: AbortSignal,
) {
  return unwrap(
    client.GET("/v1/runs/{run_id}/diff/{other_run_id}", {
      params: {
        path: { run_id: runId, other_run_id: otherRunId },
        query: { project_id: projectId, offset, limit, fold },
      },
      signal,
    }),
  );
}
