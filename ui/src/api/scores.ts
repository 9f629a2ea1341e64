import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { ScoreWrite } from "./types";

const scoresKey = (projectId: string, runId: string) => ["scores", projectId, runId] as const;

/** GET /v1/runs/{run_id}/scores: those of the run and of its spans. */
export function useScores(projectId: string, runId: string) {
  return useQuery({
    queryKey: scoresKey(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/scores", {
          params: { path: { run_id: runId }, query: { project_id: projectId, limit: 500 } },
          signal,
        }),
      ),
  });
}

/** POST /v1/runs/{run_id}/scores */
export function usePutScore(projectId: string, runId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ScoreWrite) =>
      unwrap(
        client.POST("/v1/runs/{run_id}/scores", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          body,
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: scoresKey(projectId, runId) }),
  });
}

/** DELETE /v1/runs/{run_id}/scores/{score_id} */
export function useDeleteScore(projectId: string, runId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(
        client.DELETE("/v1/runs/{run_id}/scores/{score_id}", {
          params: { path: { run_id: runId, score_id: id }, query: { project_id: projectId } },
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: scoresKey(projectId, runId) }),
  });
}
