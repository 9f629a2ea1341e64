import { useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { ScoreWrite } from "./types";

/** GET /v1/runs/{run_id}/scores: the scores of the run and its spans. */
export function useScores(projectId: string, runId: string) {
  return useQuery({
    queryKey: keys.run.scores(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/scores", {
          params: { path: { run_id: runId }, query: { project_id: projectId, limit: 500 } },
          signal,
        }),
      ),
  });
}

/** What shows the scores of a run, or whether it failed by one. */
const changedBy = (projectId: string, runId: string) => ({
  all: [
    keys.run.scores(projectId, runId),
    keys.run.detail(projectId, runId),
    keys.runs.scoredLists,
    keys.failures.all,
  ],
});

/** POST /v1/runs/{run_id}/scores. */
export function usePutScore(projectId: string, runId: string) {
  return useInvalidatingMutation(changedBy(projectId, runId), (body: ScoreWrite) =>
    unwrap(
      client.POST("/v1/runs/{run_id}/scores", {
        params: { path: { run_id: runId }, query: { project_id: projectId } },
        body,
      }),
    ),
  );
}

/** DELETE /v1/runs/{run_id}/scores/{score_id}. */
export function useDeleteScore(projectId: string, runId: string) {
  return useInvalidatingMutation(changedBy(projectId, runId), (id: string) =>
    unwrap(
      client.DELETE("/v1/runs/{run_id}/scores/{score_id}", {
        params: { path: { run_id: runId, score_id: id }, query: { project_id: projectId } },
      }),
    ),
  );
}
