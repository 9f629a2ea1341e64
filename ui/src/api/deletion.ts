import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { RunFilter } from "./runs";
import type { RunDeletion } from "./types";

/** Which runs to delete: those named, or all that a filter selects. */
export type Doomed = { run_ids: string[] } | { filter: RunFilter };

/** How many ids one request may name. */
const IDS_A_REQUEST = 1000;

function requestDeletion(
  projectId: string,
  doomed: Doomed,
  options: { dry_run: boolean; received_before?: string },
): Promise<RunDeletion> {
  const body = "filter" in doomed ? doomed : { project_id: projectId, ...doomed };
  return unwrap(client.POST("/v1/runs/_actions/delete", { body: { ...body, ...options } }));
}

/** How many runs a filter selects now; `as_of` is the moment of the count. */
export function useDeletionCount(projectId: string, doomed: Doomed) {
  return useQuery({
    queryKey: ["deletion-count", projectId, doomed],
    queryFn: () => requestDeletion(projectId, doomed, { dry_run: true }),
    enabled: "filter" in doomed,
    gcTime: 0,
  });
}

/**
 * POST /v1/runs/_actions/delete, again until nothing is left of what was counted. `onProgress` is told how many are
 * gone. One that fails in the middle leaves the rest; it can be asked for again.
 */
export function useDeleteRuns(projectId: string, onProgress: (deleted: number) => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({ doomed, asOf }: { doomed: Doomed; asOf?: string }) => {
      let deleted = 0;
      for (const part of parts(doomed)) {
        for (;;) {
          const answer = await requestDeletion(projectId, part, { dry_run: false, received_before: asOf });
          deleted += answer.deleted;
          onProgress(deleted);
          if (!answer.has_more || answer.deleted === 0) break;
        }
      }
      return deleted;
    },
    // Whatever was read before may name what is gone.
    onSettled: () => {
      queryClient.removeQueries({ type: "inactive" });
      return queryClient.invalidateQueries({ queryKey: ["run-stats"] });
    },
  });
}

function parts(doomed: Doomed): Doomed[] {
  if ("filter" in doomed) return [doomed];
  const out: Doomed[] = [];
  for (let at = 0; at < doomed.run_ids.length; at += IDS_A_REQUEST) {
    out.push({ run_ids: doomed.run_ids.slice(at, at + IDS_A_REQUEST) });
  }
  return out;
}
