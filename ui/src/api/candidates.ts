import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { keys } from "./queryKeys";
import type { FailureFilter } from "./types";

/** GET /v1/agent/failed-runs/{fingerprint}/candidates. It reads many runs, so that it isn't read again by itself. */
export function useFailureCandidates(fingerprint: string, filter: FailureFilter) {
  return useQuery({
    queryKey: keys.failures.candidates(fingerprint, filter),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/agent/failed-runs/{fingerprint}/candidates", {
          params: { path: { fingerprint }, query: filter },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 5 * 60_000,
  });
}
