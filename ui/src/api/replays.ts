import { useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";

/** GET /v1/runs/{run_id}/replayability. */
export function useReplayability(projectId: string, runId: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.run.replayability(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/replayability", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
    enabled,
  });
}
