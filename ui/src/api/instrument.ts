import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";

/** GET /v1/agent/instrument-guide. Without a framework it lists the frameworks. */
export function useInstrumentGuide(projectId: string, framework: string | null) {
  return useQuery({
    queryKey: keys.instrumentGuide(projectId, framework),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agent/instrument-guide", {
          params: { query: { project_id: projectId, framework: framework ?? undefined } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY, // It only changes with the installed version.
  });
}
