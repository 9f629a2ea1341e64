import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import type { RunDeletion, RunFilter } from "./types";

/** Which runs to delete: by id, or all that match a filter. */
export type DeletionTarget = { run_ids: string[] } | { filter: RunFilter };

/** The API accepts at most this many ids in one request. */
const MAX_IDS = 1000;

function requestDeletion(
  projectId: string,
  target: DeletionTarget,
  options: { dry_run: boolean; received_before?: string },
): Promise<RunDeletion> {
  const body = "filter" in target ? target : { project_id: projectId, ...target };
  return unwrap(client.POST("/v1/runs/_actions/delete", { body: { ...body, ...options } }));
}

/** How many runs match the filter now. `as_of` is the time of the count. */
export function useDeletionCount(projectId: string, target: DeletionTarget) {
  return useQuery({
    queryKey: keys.runs.deletionCount(projectId, target),
    queryFn: () => requestDeletion(projectId, target, { dry_run: true }),
    enabled: "filter" in target,
    gcTime: 0,
  });
}

/**
 * POST /v1/runs/_actions/delete, repeated until all counted runs are deleted. Reports the number deleted so far to
 * `onProgress`. A deletion that fails halfway leaves the remaining runs, and can be repeated.
 */
export function useDeleteRuns(projectId: string, onProgress: (deleted: number) => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({ target, asOf }: { target: DeletionTarget; asOf?: string }) => {
      let deleted = 0;
      for (const part of parts(target)) {
        for (;;) {
          const answer = await requestDeletion(projectId, part, { dry_run: false, received_before: asOf });
          deleted += answer.deleted;
          onProgress(deleted);
          if (!answer.has_more || answer.deleted === 0) break;
        }
      }
      return deleted;
    },
    // Cached answers may contain deleted runs.
    onSettled: () => {
      queryClient.removeQueries({ type: "inactive" });
      return queryClient.invalidateQueries({ queryKey: keys.runs.allStats });
    },
  });
}

function parts(target: DeletionTarget): DeletionTarget[] {
  if ("filter" in target) return [target];
  const out: DeletionTarget[] = [];
  for (let start = 0; start < target.run_ids.length; start += MAX_IDS) {
    out.push({ run_ids: target.run_ids.slice(start, start + MAX_IDS) });
  }
  return out;
}
