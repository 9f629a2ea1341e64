import {
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { answerOf, client, unwrap } from "./client";
import { parseJson } from "./json";
import { errorFromResponse } from "./problem";
import { keys } from "./queryKeys";
import type { AgentViewOptions, Run, RunFilter, RunPage, RunQuery, Span, SpanPage } from "./types";

/** Rows on the first page of the run list. */
export const RUN_PAGE = 50;
/** How often live data is refetched. Queries pause while the tab is hidden. */
export const LIVE_INTERVAL_MS = 3_000;

/** Rows on later pages: larger pages mean fewer requests while scrolling. */
const LATER_PAGE = 200;
/** How long the pages of a list stay cached after the reader leaves it. */
const LIST_CACHE_MS = 30 * 60_000;

/** A page of runs, and a position of the stream of changes from before it was read. */
export interface ReadRuns extends RunPage {
  /** In ms since 1970 by the server's clock; null if unknown. */
  position: number | null;
}

async function fetchRuns(query: RunQuery, signal: AbortSignal): Promise<ReadRuns> {
  const asked = Date.now();
  const { data, error, response } = await answerOf(client.GET("/v1/runs", { params: { query }, signal }));
  if (!data) throw errorFromResponse(response, error);
  const answered = Date.parse(response.headers.get("Date") ?? "");
  return { ...data, position: Number.isNaN(answered) ? null : answered - (Date.now() - asked) };
}

function runPage(filter: RunFilter, cursor: string | null) {
  return queryOptions({
    queryKey: cursor === null ? keys.runs.firstPage(filter) : keys.runs.laterPage(filter, cursor),
    queryFn: ({ signal }) =>
      cursor === null
        ? fetchRuns({ ...filter, limit: RUN_PAGE }, signal)
        : fetchRuns({ ...filter, limit: LATER_PAGE, cursor }, signal),
    // The visible rows change only when the reader asks. The page announces new runs beside the list.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: LIST_CACHE_MS,
  });
}

/** GET /v1/runs: the first page. Shows the previous filter's page while the next one loads. */
export function useFirstRuns(filter: RunFilter) {
  return useQuery({ ...runPage(filter, null), placeholderData: keepPreviousData });
}

/** The first row of a page, and the cursor that fetches it. */
interface PageStart {
  cursor: string | null;
  row: number;
}

const firstPage: PageStart[] = [{ cursor: null, row: 0 }];

/** The rows around the visible part of a list of any length. */
export interface RunWindow {
  /** The number of known rows. It grows when the last of them becomes visible. */
  count: number;
  hasMore: boolean;
  /** Undefined while the row loads. */
  row: (index: number) => Run | undefined;
  /** The loaded rows of the pages that contain the range, in order. */
  loaded: Run[];
  /** The loaded rows of all pages, in order. */
  known: () => Run[];
  error: Error | null;
  retry: () => void;
  /** The oldest time searched when the search stopped early; null when it covered everything. */
  searchedTo: string | null;
  /** Continues such a search. */
  searchFurther: () => void;
}

/**
 * GET /v1/runs by cursor. Loads only the pages that contain the rows from `first` to `last`, so that a list of millions
 * needs little memory. Pages out of view stay cached for a while.
 */
export function useRunWindow(filter: RunFilter, first: number, last: number): RunWindow {
  const queryClient = useQueryClient();
  const startsKey = useMemo(() => keys.runs.pageStarts(filter), [filter]);
  const starts =
    useQuery({
      queryKey: startsKey,
      queryFn: () => firstPage,
      initialData: firstPage,
      staleTime: "static",
      gcTime: LIST_CACHE_MS,
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
      // Another view of the same list may have appended this page already.
      if (!end || known.length !== starts.length) return known;
      return [...known, { cursor, row: end.row + data.length }];
    });
  }, [queryClient, startsKey, starts.length, newest]);
  // A search that stopped early continues only when the reader asks.
  const mayContinue = reachesEnd && newest?.partial !== true;
  useEffect(() => {
    if (mayContinue) append();
  }, [mayContinue, append]);

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
    known: () =>
      starts.flatMap(({ cursor }) => queryClient.getQueryData(runPage(filter, cursor).queryKey)?.data ?? []),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
    searchedTo: (reachesEnd && newest?.partial && newest.searched_to) || null,
    searchFurther: append,
  };
}

/** The page that contains a row: the last one that starts at or before it. */
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

/** Reloads the list from its first page. */
export function useReloadRuns(filter: RunFilter): () => Promise<void> {
  const queryClient = useQueryClient();
  return useCallback(async () => {
    queryClient.setQueryData(keys.runs.pageStarts(filter), firstPage);
    queryClient.removeQueries({ queryKey: keys.runs.laterPages(filter) });
    await queryClient.refetchQueries({ queryKey: keys.runs.firstPage(filter) });
  }, [queryClient, filter]);
}

/** GET /v1/runs: polls the newest runs. */
export function useNewestRuns(filter: RunFilter, limit: number) {
  return useQuery({
    queryKey: keys.runs.newest(filter, limit),
    queryFn: ({ signal }) => fetchRuns({ ...filter, limit }, signal),
    refetchInterval: LIVE_INTERVAL_MS,
    staleTime: 0,
    gcTime: 0,
  });
}

/** GET /v1/runs: the newest runs of a filter, without polling. */
export function useRecentRuns(filter: RunFilter) {
  return useQuery({
    queryKey: keys.runs.recent(filter),
    queryFn: ({ signal }) => fetchRuns({ ...filter, limit: 15 }, signal),
  });
}

/** Spans may still arrive for a while after the run has ended. */
const LATE_SPANS_MS = 30_000;

/** GET /v1/runs/{run_id}. Polls while the run is running or has just changed. */
export function useRun(projectId: string, runId: string) {
  return useQuery({
    queryKey: keys.run.detail(projectId, runId),
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
      const hasAll = Date.now() - Date.parse(run.received_at) > LATE_SPANS_MS;
      return run.status === "running" || !hasAll ? LIVE_INTERVAL_MS : false;
    },
  });
}

/** GET /v1/runs/{run_id}/outline: all spans without their texts. */
export function useOutline(projectId: string, runId: string) {
  return useQuery({
    queryKey: keys.run.outline(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/outline", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
    gcTime: 60_000,
    // Comparing columns of 100,000 items costs more than rendering them again.
    structuralSharing: false,
  });
}

/** Small pages, because each span may contain a long conversation. */
const WHOLE_SPANS = 40;

/** GET /v1/runs/{run_id}/spans with full=true: spans in start order, page by page. Numbers keep all their digits. */
export function useWholeSpans(projectId: string, runId: string) {
  return useInfiniteQuery({
    queryKey: keys.run.wholeSpans(projectId, runId),
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

/** Refetches what the page shows of a run's spans. */
export function useReloadRun(projectId: string, runId: string): () => void {
  const queryClient = useQueryClient();
  return useCallback(() => {
    void queryClient.invalidateQueries({ queryKey: keys.run.content(projectId, runId) });
  }, [queryClient, projectId, runId]);
}

/** GET /v1/runs/{run_id}/agent-view, as text. */
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
    queryKey: keys.run.agentView(projectId, runId, options),
    queryFn: ({ signal }) => fetchAgentView(projectId, runId, options, signal),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/runs/{run_id}/spans/{span_id}: one whole span. Numbers keep all their digits. */
export function spanQuery(projectId: string, runId: string, spanId: string | undefined) {
  return {
    queryKey: keys.run.span(projectId, runId, spanId),
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      parseJson(
        await unwrap(
          client.GET("/v1/runs/{run_id}/spans/{span_id}", {
            params: { path: { run_id: runId, span_id: spanId ?? "" }, query: { project_id: projectId } },
            parseAs: "text",
            signal,
          }),
        ),
      ) as Span,
    staleTime: 30_000,
  };
}

/** GET /v1/runs/{run_id}/spans/{span_id}, again and again while the run is running. */
export function useSpan(projectId: string, runId: string, spanId: string | undefined, running: boolean) {
  return useQuery({
    ...spanQuery(projectId, runId, spanId),
    enabled: spanId !== undefined,
    refetchInterval: running ? LIVE_INTERVAL_MS : false,
  });
}

/** GET /v1/runs: the newest run that succeeded or recovered among those that a filter selects. */
export function useFindGoodRun() {
  return useMutation({
    mutationFn: (filter: RunFilter) =>
      unwrap(
        client.GET("/v1/runs", {
          params: { query: { ...filter, outcome: ["succeeded", "recovered"], limit: 1 } },
        }),
      ),
  });
}
