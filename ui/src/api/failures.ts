import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import type { FailureDecision, FailureFilter, FailureSelection } from "./types";

/** GET /v1/agent/failed-runs, page by page: groups of failed runs, highest rank first. */
export function useFailedRuns(filter: FailureSelection) {
  return useInfiniteQuery({
    queryKey: keys.failures.list(filter),
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
    queryKey: keys.failures.group(fingerprint, filter),
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

/**
 * PUT /v1/agent/failed-runs/{fingerprint}/state. The groups are read again after a refusal, too: somebody else may have decided about this
 * one.
 */
export function useDecideFailure(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ fingerprint, decision }: { fingerprint: string; decision: FailureDecision }) =>
      unwrap(
        client.PUT("/v1/agent/failed-runs/{fingerprint}/state", {
          params: { path: { fingerprint }, query: { project_id: projectId } },
          body: decision,
        }),
      ),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.failures.all }),
  });
}
