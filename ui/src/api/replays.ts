import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useDraftQuery } from "./draftQuery";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { useListPages } from "./paging";
import { keys } from "./queryKeys";
import type { Replay, ReplayCreate, ReplayExtend, ReplaySelection, ReplaySummary } from "./types";

const PAGE = 50;
/** How often a replay that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 2_000;
/** Steps per page of a diff. A folded group of equal steps counts as one. */
const STEPS = 1000;
/** How many replays the page of a run names. */
const OF_RUN = 3;

/** A replay to start or to plan, without what the API adds. */
export type ReplayDraft = Omit<ReplayCreate, "controls" | "treatments" | "allow_unpriced" | "plan"> &
  Partial<Pick<ReplayCreate, "controls" | "treatments" | "allow_unpriced">>;

/**
 * Whether nothing more happens to a replay by itself: it has ended, and has its verdict or failed. One that was cancelled with its batch gets
 * no verdict.
 */
export function isReplayFinal({
  status,
  verdict,
  batch_id,
}:
  | Pick<Replay, "status" | "verdict" | "batch_id">
  | Pick<ReplaySummary, "status" | "verdict" | "batch_id">): boolean {
  if (status === "queued" || status === "running") return false;
  return status === "failed" || verdict !== null || (status === "cancelled" && batch_id !== null);
}

/** GET /v1/replays, page by page, the newest first. It is read again while one of them runs. */
export function useReplays(projectId: string, selection: ReplaySelection) {
  return useListPages(
    keys.replays.list(projectId, selection),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/replays", {
          params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen: (row) => !isReplayFinal(row), every: POLL },
  );
}

/** GET /v1/replays: the newest ones of a run. */
export function useReplaysOfRun(projectId: string, runId: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.replays.ofRun(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/replays", {
          params: { query: { project_id: projectId, run_id: runId, limit: OF_RUN } },
          signal,
        }),
      ),
    enabled,
  });
}

/** GET /v1/replays/{replay_id}, again and again until its verdict is there. */
export function useReplay(replayId: string) {
  return useQuery({
    queryKey: keys.replay.detail(replayId),
    queryFn: ({ signal }) =>
      unwrap(client.GET("/v1/replays/{replay_id}", { params: { path: { replay_id: replayId } }, signal })),
    refetchInterval: ({ state }) =>
      state.data === undefined || isReplayFinal(state.data) || state.error ? false : POLL,
  });
}

/** GET /v1/runs/{run_id}/replayability. */
export function useReplayability(projectId: string, runId: string) {
  return useQuery({
    queryKey: keys.run.replayability(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/runs/{run_id}/replayability", {
          params: { path: { run_id: runId }, query: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** POST /v1/replays with `plan`: what a replay would do. Nothing is stored or called. Null has no request. */
export function useReplayPlan(draft: ReplayDraft | null) {
  return useDraftQuery(
    keys.replays.plan(draft),
    draft,
    async (draft, signal) => {
      const plan = await unwrap(
        client.POST("/v1/replays", {
          body: { ...(draft as ReplayCreate), plan: true },
          bodySerializer: (value) => writeJson(value),
          signal,
        }),
      );
      if (!("counts" in plan)) throw new Error("The server started the replay instead of planning it.");
      return plan;
    },
    { structuralSharing: false },
  );
}

/** POST /v1/replays. */
export function useCreateReplay(projectId: string) {
  return useInvalidatingMutation(keys.replays.all(projectId), async (draft: ReplayDraft) => {
    const replay = await unwrap(
      client.POST("/v1/replays", {
        body: draft as ReplayCreate,
        bodySerializer: (value) => writeJson(value),
      }),
    );
    if (!("progress" in replay)) throw new Error("The server planned the replay instead of starting it.");
    return replay;
  });
}

type Known = Pick<Replay, "id" | "project_id">;

function staleFor({ id, project_id }: Known) {
  return { all: [keys.replays.all(project_id), keys.replay.all(id)] };
}

/** PATCH /v1/replays/{replay_id}. */
export function useRenameReplay(replay: Known) {
  return useInvalidatingMutation(staleFor(replay), (name: string) =>
    unwrap(
      client.PATCH("/v1/replays/{replay_id}", { params: { path: { replay_id: replay.id } }, body: { name } }),
    ),
  );
}

/** POST /v1/replays/{replay_id}/_actions/cancel. */
export function useCancelReplay(replay: Known) {
  return useInvalidatingMutation(staleFor(replay), () =>
    unwrap(
      client.POST("/v1/replays/{replay_id}/_actions/cancel", { params: { path: { replay_id: replay.id } } }),
    ),
  );
}

/** POST /v1/replays/{replay_id}/_actions/extend. */
export function useExtendReplay(replay: Known) {
  return useInvalidatingMutation(staleFor(replay), (body: ReplayExtend) =>
    unwrap(
      client.POST("/v1/replays/{replay_id}/_actions/extend", {
        params: { path: { replay_id: replay.id } },
        body,
      }),
    ),
  );
}

/** DELETE /v1/replays/{replay_id}. */
export function useDeleteReplay({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.replays.all(project_id), () =>
    unwrap(client.DELETE("/v1/replays/{replay_id}", { params: { path: { replay_id: id } } })),
  );
}

/** GET /v1/replays/{replay_id}/diff: an attempt beside the recorded run, page by page. */
export function useReplayDiff(replayId: string, attempt: number) {
  return useInfiniteQuery({
    queryKey: keys.replay.diff(replayId, attempt),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => fetchReplayDiff(replayId, attempt, pageParam, STEPS, true, signal),
    getNextPageParam: ({ diff }) => diff.next_offset ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    retry: false,
  });
}

/** The steps inside a folded group. */
export async function fetchReplayFolded(replayId: string, attempt: number, offset: number, limit: number) {
  return (await fetchReplayDiff(replayId, attempt, offset, limit, false)).diff.steps;
}

function fetchReplayDiff(
  replayId: string,
  attempt: number,
  offset: number,
  limit: number,
  fold: boolean,
  signal?: AbortSignal,
) {
  return unwrap(
    client.GET("/v1/replays/{replay_id}/diff", {
      params: { path: { replay_id: replayId }, query: { attempt, offset, limit, fold } },
      signal,
    }),
  );
}
