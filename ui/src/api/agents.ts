import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import type { AgentInstructions, TimeWindow } from "./types";

/** GET /v1/agents: the 500 agents with the most runs. */
export function useAgents(projectId: string) {
  return useQuery({
    queryKey: keys.agents.list(projectId),
    queryFn: ({ signal }) =>
      unwrap(client.GET("/v1/agents", { params: { query: { project_id: projectId, limit: 500 } }, signal })),
  });
}

/** GET /v1/agents/releases. */
export function useAgentReleases(
  projectId: string,
  agent: string,
  window: TimeWindow,
  instructions: AgentInstructions | undefined,
) {
  return useQuery({
    queryKey: keys.agents.releases(projectId, agent, window, instructions),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agents/releases", {
          params: {
            query: { project_id: projectId, agent, ...window, ...(instructions && { instructions }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/{run_id}/agent. */
export function useRunAgent(projectId: string, runId: string) {
  return useQuery({
    queryKey: keys.run.agent(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/agent", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
  });
}
