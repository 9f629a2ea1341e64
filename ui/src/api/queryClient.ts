import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./problem";

/** The key of the caller's own description; null stands for "no session". */
export const meKey = ["me"] as const;

/** Tries once more what may pass by itself: no answer, 5xx. A 4xx says what it says. */
function shouldRetry(failures: number, error: Error): boolean {
  if (error instanceof ApiError && error.status >= 400 && error.status < 500) return false;
  return failures < 1;
}

/** Makes the query client; an answer 401 anywhere ends the session here, which leads to the login page. */
export function createQueryClient(): QueryClient {
  const endSession = (error: Error) => {
    if (error instanceof ApiError && error.status === 401 && queryClient.getQueryData(meKey)) {
      queryClient.setQueryData(meKey, null);
    }
  };
  const queryClient = new QueryClient({
    queryCache: new QueryCache({ onError: endSession }),
    mutationCache: new MutationCache({ onError: endSession }),
    defaultOptions: {
      queries: { retry: shouldRetry, staleTime: 10_000, refetchOnWindowFocus: false },
      mutations: { retry: false },
    },
  });
  return queryClient;
}
