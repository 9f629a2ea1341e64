import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";

/** GET /v1/agent/instrument-guide: without a framework, the list of them. */
export function useInstrumentGuide(projectId: string, framework: string | null) {
  return useQuery({
    queryKey: ["instrument-guide", projectId, framework],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agent/instrument-guide", {
          params: { query: { project_id: projectId, framework: framework ?? undefined } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY, // it changes with the installation only
  });
}
