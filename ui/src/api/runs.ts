import {
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { client, unwrap } from "./client";
import { parseJson } from "./json";
import type { Run, RunQuery, Span, SpanPage } from "./types";

/** Rows of one page of the runs list. */
export const RUN_PAGE = 50;
/** How often something live is asked for again. Queries pause while the tab is hidden. */
export const LIVE_INTERVAL_MS = 3_000;

/** What selects runs: everything of the list's query but its paging. */
export type RunFilter = Omit<RunQuery, "limit" | "offset" | "cursor">;

const runsKey = (filter: RunFilter) => ["runs", filter] as const;
/** Rows of the later pages: fewer requests where much is scrolled. */
const MORE_RUNS = 200;
/** How long a list that was left is found again: its pages, and where they begin. */
const LIST_KEPT_MS = 30 * 60_000;

function fetchRuns(query: RunQuery, signal: AbortSignal) {
  return unwrap(client.GET("/v1/runs", { params: { query }, signal }));
}

function runPage(filter: RunFilter, cursor: string | null) {
  return queryOptions({
    queryKey: [...runsKey(filter), cursor],
    queryFn: ({ signal }) =>
      cursor === null
        ? fetchRuns({ ...filter, limit: RUN_PAGE }, signal)
        : fetchRuns({ ...filter, limit: MORE_RUNS, cursor }, signal),
    // What is on the screen moves only when the reader asks: what is new is told beside it.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: LIST_KEPT_MS,
  });
}

/** GET /v1/runs: the first page. While another filter's is awaited, the page before stands in for it. */
export function useFirstRuns(filter: RunFilter) {
  return useQuery({ ...runPage(filter, null), placeholderData: keepPreviousData });
}

/** Where a page of the list begins. */
interface PageStart {
  cursor: string | null;
  row: number;
}

const firstPage: PageStart[] = [{ cursor: null, row: 0 }];

/** The rows of a list of any length around what is looked at. */
export interface RunWindow {
  /** How many rows are known; more come when the last of them is looked at. */
  count: number;
  hasMore: boolean;
  /** Undefined while the row is on its way. */
  row: (index: number) => Run | undefined;
  /** The rows that are here, in their order. */
  loaded: Run[];
  error: Error | null;
  retry: () => void;
  /** How far back a search came that took too long; null where all was searched. */
  searchedTo: string | null;
  /** Lets such a search go on from there. */
  goOn: () => void;
}

/**
 * GET /v1/runs by cursor: the pages that hold the rows from `first` to `last`, and no others, so that a list of
 * millions takes no more memory than what is looked at. Pages that were left are kept for a while.
 */
export function useRunWindow(filter: RunFilter, first: number, last: number): RunWindow {
  const queryClient = useQueryClient();
  const startsKey = useMemo(() => ["run-pages", filter] as const, [filter]);
  const starts =
    useQuery({
      queryKey: startsKey,
      queryFn: () => firstPage,
      initialData: firstPage,
      staleTime: "static",
      gcTime: LIST_KEPT_MS,
    }).data ?? firstPage;
  const from = pageOf(starts, first);
  const until = pageOf(starts, last);
  const visible = starts.slice(from, until + 1);
  const pages = useQueries({ queries: visible.map(({ cursor }) => runPage(filter, cursor)) });

  const newest = pages.at(-1)?.data;
  const reachesEnd = until === starts.length - 1;
  const append = useCallback(() => {
    if (!newest?.next_cursor) return;
    const { next_cursor: cursor, data } = newest;
    queryClient.setQueryData<PageStart[]>(startsKey, (known = firstPage) => {
      const end = known.at(-1);
      // The page may have been taken over by another view of the same list meanwhile.
      if (!end || known.length !== starts.length) return known;
      return [...known, { cursor, row: end.row + data.length }];
    });
  }, [queryClient, startsKey, starts.length, newest]);
  // A search that took too long goes on when the reader asks.
  const mayGoOn = reachesEnd && newest?.partial !== true;
  useEffect(() => {
    if (mayGoOn) append();
  }, [mayGoOn, append]);

  const failed = pages.find((page) => page.isError && !page.data);
  const lastStart = starts.at(-1);
  const lastPage = queryClient.getQueryData(runPage(filter, lastStart?.cursor ?? null).queryKey);
  return {
    count: (lastStart?.row ?? 0) + (lastPage?.data.length ?? 0),
    hasMore: lastPage === undefined || lastPage.next_cursor !== null,
    row: (index) => {
      const page = pageOf(starts, index);
      const start = starts[page];
      return start && pages[page - from]?.data?.data[index - start.row];
    },
    loaded: pages.flatMap((page) => page.data?.data ?? []),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
    searchedTo: (reachesEnd && newest?.partial && newest.searched_to) || null,
    goOn: append,
  };
}

/** The page that holds a row: the last that begins at or before it. */
function pageOf(starts: readonly PageStart[], row: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle]?.row ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Starts the list again from its newest page. */
export function useReloadRuns(filter: RunFilter): () => Promise<void> {
  const queryClient = useQueryClient();
  return useCallback(async () => {
    queryClient.setQueryData(["run-pages", filter], firstPage);
    queryClient.removeQueries({
      queryKey: runsKey(filter),
      predicate: ({ queryKey }) => queryKey[2] !== null,
    });
    await queryClient.refetchQueries({ queryKey: runPage(filter, null).queryKey });
  }, [queryClient, filter]);
}

/** GET /v1/runs: the newest page again and again, while `live`. */
export function useRunsHead(filter: RunFilter, live: boolean, limit = RUN_PAGE) {
  return useQuery({
    queryKey: ["runs-head", filter, limit],
    queryFn: ({ signal }) => fetchRuns({ ...filter, limit }, signal),
    enabled: live,
    refetchInterval: LIVE_INTERVAL_MS,
    staleTime: 0,
    gcTime: 0,
  });
}

/** GET /v1/runs: the newest ones that a filter selects, once. */
export function useRecentRuns(filter: RunFilter) {
  return useQuery({
    queryKey: ["runs-recent", filter],
    queryFn: ({ signal }) => fetchRuns({ ...filter, limit: 15 }, signal),
  });
}

/** Spans may still come for a while after a run's end. */
const SETTLE_MS = 30_000;

/** GET /v1/runs/{run_id}; asked again while it is running or has just changed. */
export function useRun(projectId: string, runId: string) {
  return useQuery({
    queryKey: ["run", projectId, runId],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
    refetchInterval: (query) => {
      const run = query.state.data;
      if (!run) return false;
      const settled = Date.now() - Date.parse(run.received_at) > SETTLE_MS;
      return run.status === "running" || !settled ? LIVE_INTERVAL_MS : false;
    },
  });
}

/** GET /v1/runs/{run_id}/outline: what all its spans are, without their texts. */
export function useOutline(projectId: string, runId: string) {
  return useQuery({
    queryKey: ["outline", projectId, runId],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/outline", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
    gcTime: 60_000,
    // Columns of 100,000 items: comparing them with the last ones would cost more than drawing anew.
    structuralSharing: false,
  });
}

/** Whole spans come in small pages: each may carry a long conversation. */
const WHOLE_SPANS = 40;

/** GET /v1/runs/{run_id}/spans with full=true: whole spans in start order, page after page, with every number as it was recorded. */
export function useWholeSpans(projectId: string, runId: string) {
  return useInfiniteQuery({
    queryKey: ["whole-spans", projectId, runId],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      parseJson(
        await unwrap(
          client.GET("/v1/runs/{run_id}/spans", {
            params: {
              path: { run_id: runId },
              query: { project_id: projectId, full: true, limit: WHOLE_SPANS, cursor: pageParam },
            },
            parseAs: "text",
            signal,
          }),
        ),
      ) as SpanPage,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    structuralSharing: false,
  });
}

/** Asks again for what is shown of a run. */
export function useReloadRun(projectId: string, runId: string): () => void {
  const queryClient = useQueryClient();
  return useCallback(() => {
    for (const part of ["outline", "span", "whole-spans", "agent-view"])
      void queryClient.invalidateQueries({ queryKey: [part, projectId, runId] });
  }, [queryClient, projectId, runId]);
}

export type AgentViewFormat = "text" | "json";

export interface AgentViewOptions {
  budget: number;
  format: AgentViewFormat;
  /** The id of the span that it is about. */
  focus?: string;
}

/** GET /v1/runs/{run_id}/agent-view, as sent. */
export function fetchAgentView(
  projectId: string,
  runId: string,
  { budget, format, focus }: AgentViewOptions,
  signal?: AbortSignal,
): Promise<string> {
  return unwrap(
    client.GET("/v1/runs/{run_id}/agent-view", {
      params: {
        path: { run_id: runId },
        query: { project_id: projectId, token_budget: budget, format, focus },
      },
      parseAs: "text",
      signal,
    }),
  );
}

export function useAgentView(projectId: string, runId: string, options: AgentViewOptions) {
  return useQuery({
    queryKey: ["agent-view", projectId, runId, options],
    queryFn: ({ signal }) => fetchAgentView(projectId, runId, options, signal),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/{run_id}/spans/{span_id}: one span, whole, with every number as it was recorded. */
export function useSpan(projectId: string, runId: string, spanId: string | undefined, running: boolean) {
  return useQuery({
    queryKey: ["span", projectId, runId, spanId],
    queryFn: async ({ signal }) =>
      parseJson(
        await unwrap(
          client.GET("/v1/runs/{run_id}/spans/{span_id}", {
            params: { path: { run_id: runId, span_id: spanId ?? "" }, query: { project_id: projectId } },
            parseAs: "text",
            signal,
          }),
        ),
      ) as Span,
    enabled: spanId !== undefined,
    refetchInterval: running ? LIVE_INTERVAL_MS : false,
    staleTime: 30_000,
  });
}
