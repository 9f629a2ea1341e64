import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { ITEMS_PAGE, useListPages } from "./paging";
import { keys } from "./queryKeys";
import type {
  ReplayBatch,
  ReplayBatchCreate,
  ReplayBatchOutcome,
  ReplayBatchSelection,
  ReplayExtend,
} from "./types";

const PAGE = 50;
/** How often a batch that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 2_000;

/** What the API adds to a request that leaves it out. */
type Defaults = "max_runs" | "good_runs" | "controls" | "treatments" | "allow_unpriced";

/** A batch to start or to plan. */
export type ReplayBatchDraft = Omit<ReplayBatchCreate, Defaults | "plan"> &
  Partial<Pick<ReplayBatchCreate, Defaults>>;

/** Whether a batch waits or runs. */
export function isBatchOpen({ status }: Pick<ReplayBatch, "status">): boolean {
  return status === "queued" || status === "running";
}

/** GET /v1/replay-batches, page by page, the newest first. It is read again while one of them runs. */
export function useReplayBatches(projectId: string, selection: ReplayBatchSelection) {
  return useListPages(
    keys.replayBatches.list(projectId, selection),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/replay-batches", {
          params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen: isBatchOpen, every: POLL },
  );
}

/** GET /v1/replay-batches/{batch_id}, again and again while it runs. */
export function useReplayBatch(batchId: string) {
  return useQuery({
    queryKey: keys.replayBatch.detail(batchId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/replay-batches/{batch_id}", { params: { path: { batch_id: batchId } }, signal }),
      ),
    refetchInterval: ({ state }) =>
      state.data === undefined || !isBatchOpen(state.data) || state.error ? false : POLL,
  });
}

/** GET /v1/replay-batches/{batch_id}/runs: a page of its runs. Another status reads them anew. */
export function useReplayBatchRuns(
  batch: Pick<ReplayBatch, "id" | "status">,
  outcome: ReplayBatchOutcome | undefined,
  offset: number,
) {
  return useQuery({
    queryKey: keys.replayBatch.runs(batch.id, batch.status, outcome, offset),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/replay-batches/{batch_id}/runs", {
          params: { path: { batch_id: batch.id }, query: { outcome, limit: ITEMS_PAGE, offset } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: isBatchOpen(batch) ? POLL : false,
  });
}

/** POST /v1/replay-batches with `plan`: what a batch would do. Nothing is stored or called. It reads each run, so it is asked for. */
export function usePlanReplayBatch() {
  return useMutation({
    mutationFn: async (draft: ReplayBatchDraft) => {
      const plan = await unwrap(
        client.POST("/v1/replay-batches", {
          body: { ...(draft as ReplayBatchCreate), plan: true },
          bodySerializer: (value) => writeJson(value),
        }),
      );
      if (!("runs" in plan)) throw new Error("The server started the batch instead of planning it.");
      return plan;
    },
  });
}

/** POST /v1/replay-batches. */
export function useCreateReplayBatch(projectId: string) {
  return useInvalidatingMutation(keys.replayBatches.all(projectId), async (draft: ReplayBatchDraft) => {
    const batch = await unwrap(
      client.POST("/v1/replay-batches", {
        body: draft as ReplayBatchCreate,
        bodySerializer: (value) => writeJson(value),
      }),
    );
    if (!("progress" in batch)) throw new Error("The server planned the batch instead of starting it.");
    return batch;
  });
}

type Known = Pick<ReplayBatch, "id" | "project_id">;

function staleFor({ id, project_id }: Known) {
  return { all: [keys.replayBatches.all(project_id), keys.replayBatch.all(id)] };
}

/** PATCH /v1/replay-batches/{batch_id}. */
export function useRenameReplayBatch(batch: Known) {
  return useInvalidatingMutation(staleFor(batch), (name: string) =>
    unwrap(
      client.PATCH("/v1/replay-batches/{batch_id}", {
        params: { path: { batch_id: batch.id } },
        body: { name },
      }),
    ),
  );
}

/** POST /v1/replay-batches/{batch_id}/_actions/cancel. */
export function useCancelReplayBatch(batch: Known) {
  return useInvalidatingMutation(staleFor(batch), () =>
    unwrap(
      client.POST("/v1/replay-batches/{batch_id}/_actions/cancel", {
        params: { path: { batch_id: batch.id } },
      }),
    ),
  );
}

/** POST /v1/replay-batches/{batch_id}/_actions/extend. */
export function useExtendReplayBatch(batch: Known) {
  return useInvalidatingMutation(staleFor(batch), (body: ReplayExtend) =>
    unwrap(
      client.POST("/v1/replay-batches/{batch_id}/_actions/extend", {
        params: { path: { batch_id: batch.id } },
        body,
      }),
    ),
  );
}

/** DELETE /v1/replay-batches/{batch_id}. Its replays go, too. */
export function useDeleteReplayBatch({ id, project_id }: Known) {
  return useInvalidatingMutation(
    { all: [keys.replayBatches.all(project_id), keys.replays.all(project_id)] },
    () => unwrap(client.DELETE("/v1/replay-batches/{batch_id}", { params: { path: { batch_id: id } } })),
  );
}
