import { useMemo, useState } from "react";
import type { useFirstRuns } from "@/api/runs";
import { useRunStream } from "@/api/stream";
import type { RunFilter } from "@/api/types";
import { type Live, mergeArrivals, NO_CHANGES } from "./live";

interface Since {
  listed: RunFilter;
  loadedAt: number;
  news: Live;
  /** Whether more runs arrived than were kept. */
  overrun: boolean;
}

/** The runs that changed since the first page was loaded. Loading it again clears them. */
export function useArrivals(
  listed: RunFilter,
  runs: Pick<ReturnType<typeof useFirstRuns>, "data" | "dataUpdatedAt" | "isSuccess" | "isPlaceholderData">,
  live: boolean,
): Pick<Since, "news" | "overrun"> {
  const page = runs.isSuccess && !runs.isPlaceholderData ? runs.data : undefined;
  const loadedAt = runs.dataUpdatedAt;
  const [since, setSince] = useState<Since>({ listed, loadedAt, news: NO_CHANGES, overrun: false });
  const current = (known: Since) =>
    known.listed === listed && known.loadedAt === loadedAt
      ? known
      : { listed, loadedAt, news: NO_CHANGES, overrun: false };
  // Any status and outcome, to notice runs that no longer match the filter.
  const streamed = useMemo(
    () => ({ ...listed, order: undefined, status: undefined, outcome: undefined }),
    [listed],
  );
  useRunStream(streamed, live && page !== undefined, {
    position: page?.position ?? null,
    onRuns: (arrived) =>
      page &&
      setSince((before) => {
        const known = current(before);
        const next = mergeArrivals(known.news, arrived, {
          first: page,
          isNewestFirst: listed.order === undefined,
          status: listed.status,
          outcome: listed.outcome,
        });
        return next === known.news ? before : { ...known, news: next };
      }),
    onReset: () => setSince((before) => ({ ...current(before), overrun: true })),
  });
  return current(since);
}
