import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

/** Reads what is stale when something that ran has its result. */
export function useWhenEnded(hasEnded: boolean, stale: readonly QueryKey[]) {
  const queryClient = useQueryClient();
  const before = useRef(hasEnded);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the end matters
  useEffect(() => {
    if (hasEnded && !before.current)
      for (const queryKey of stale) void queryClient.invalidateQueries({ queryKey });
    before.current = hasEnded;
  }, [hasEnded]);
}
