import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, isSilence } from "./problem";
import { keys } from "./queryKeys";

/**
 * Retries once after a network error or a 5xx. A 4xx would only repeat itself. After a missed deadline, the server's or that of one of
 * its stores, the reader has waited enough: the page says so, and useOutage retries.
 * A 4xx that says when its places are free again is tried then.
 */
export function shouldRetry(failures: number, error: Error): boolean {
  if (error instanceof ApiError) {
    if (error.problem?.code === "too_much_at_once") return failures < 5;
    if (error.status >= 400 && error.status < 500) return false;
    if (isSilence(error) || error.problem?.code === "dependency_unavailable") return false;
  }
  return failures < 1;
}

/** Milliseconds: what the server asks for, or TanStack Query's own delays. */
export function retryDelay(failures: number, error: Error): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== null) return error.retryAfterSeconds * 1000;
  return Math.min(1000 * 2 ** failures, 30_000);
}

/** Creates the query client. A 401 from any request ends the session, and the login page opens. */
export function createQueryClient(): QueryClient {
  const endSession = (error: Error) => {
    if (error instanceof ApiError && error.status === 401 && queryClient.getQueryData(keys.session.me)) {
      queryClient.setQueryData(keys.session.me, null);
    }
  };
  const queryClient = new QueryClient({
    queryCache: new QueryCache({ onError: endSession }),
    mutationCache: new MutationCache({ onError: endSession }),
    defaultOptions: {
      // "always": a browser without a network still reaches a server on the same machine.
      queries: {
        retry: shouldRetry,
        retryDelay,
        staleTime: 10_000,
        refetchOnWindowFocus: false,
        networkMode: "always",
      },
      // Passwords and new keys must not stay in the mutation cache.
      mutations: { retry: false, gcTime: 0, networkMode: "always" },
    },
  });
  return queryClient;
}
