import { type Query, type QueryCache, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { type ApiError, isOutage } from "./problem";
import { keys } from "./queryKeys";
import { silence } from "./requests";

/** The waits before the retries, in ms. The last one repeats. */
const WAITS = [2_000, 4_000, 8_000, 15_000];
/** How long the server may owe any answer, or have nothing to say, before it is asked for a sign, in ms. */
const WAITING_MS = 2_000;
const IDLE_MS = 5_000;

/** What keeps the page from current data. */
export interface Outage {
  error: ApiError;
  /** When the oldest data that can't be refreshed was read, in ms since 1970. */
  since: number;
  isRetrying: boolean;
}

/**
 * Why data that the page shows can't be refreshed, or null. While mounted, it retries whatever failed because the server was away,
 * with growing waits, and asks a server that is silent for a sign.
 */
export function useOutage(): { outage: Outage | null; retry: () => void } {
  const queryClient = useQueryClient();
  const cache = queryClient.getQueryCache();
  const read = useMemo(() => outageReader(cache), [cache]);
  const outage = useSyncExternalStore((changed) => cache.subscribe(changed), read);

  const retry = useMemo(
    () => () => {
      const failing = new Set(failingQueries(cache));
      return queryClient.refetchQueries({ predicate: (query) => failing.has(query) });
    },
    [cache, queryClient],
  );
  useEffect(() => {
    let attempts = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const plan = () => {
      if (timer !== undefined || failingQueries(cache).length === 0) return;
      timer = setTimeout(
        async () => {
          attempts++;
          await retry();
          timer = undefined;
          if (failingQueries(cache).length === 0) attempts = 0;
          else plan();
        },
        WAITS[Math.min(attempts, WAITS.length - 1)],
      );
    };
    plan();
    const unsubscribe = cache.subscribe(plan);
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [cache, retry]);

  useEffect(() => {
    const timer = setInterval(() => {
      const { waiting, idle } = silence();
      if (document.hidden || (waiting < WAITING_MS && idle < IDLE_MS)) return;
      const me = cache.find({ queryKey: keys.session.me });
      if (me?.isActive() && me.state.fetchStatus === "idle" && !isOutage(me.state.error))
        void queryClient.refetchQueries({ queryKey: me.queryKey });
    }, 1_000);
    return () => clearInterval(timer);
  }, [cache, queryClient]);
  return { outage, retry: () => void retry() };
}

const failureOf = ({ state }: Query) => state.error ?? state.fetchFailureReason;

function failingQueries(cache: QueryCache): Query[] {
  return cache.findAll({ type: "active" }).filter((query) => isOutage(failureOf(query)));
}

/** Reads the outage. The result stays the same object while nothing changes. */
function outageReader(cache: QueryCache): () => Outage | null {
  let last: Outage | null = null;
  return () => {
    const stale = failingQueries(cache).filter(
      ({ state }) => state.data !== undefined && state.dataUpdatedAt > 0,
    );
    const error = stale[0] && failureOf(stale[0]);
    if (!isOutage(error)) {
      last = null;
      return last;
    }
    const since = Math.min(...stale.map(({ state }) => state.dataUpdatedAt));
    const isRetrying = stale.some(({ state }) => state.fetchStatus === "fetching");
    if (last?.error !== error || last.since !== since || last.isRetrying !== isRetrying)
      last = { error, since, isRetrying };
    return last;
  };
}
