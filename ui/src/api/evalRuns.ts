import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { client, unwrap, unwrapExact } from "./client";
import { isFinal } from "./comparisons";
import { useDraftQuery } from "./draftQuery";
import { useInvalidatingMutation } from "./mutation";
import { ITEMS_PAGE, useListPages } from "./paging";
import { keys } from "./queryKeys";
import type {
  EvalRun,
  EvalRunItem,
  EvalRunItemPage,
  EvalRunItemSelection,
  EvalRunSelection,
  GateCheck,
  RankingSelection,
} from "./types";

const PAGE = 50;
/** How many eval-runs of a dataset can be chosen from. */
export const CHOICE = 100;
/** How often an eval-run that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 2_000;

/** GET /v1/eval-runs, page by page, the newest first. It is read again while one of them runs. */
export function useEvalRuns(projectId: string, selection: EvalRunSelection) {
  return useListPages(
    keys.evalRuns.list(projectId, selection),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/eval-runs", {
          params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen: (row) => !isFinal(row), every: POLL },
  );
}

/** GET /v1/eval-runs: the newest ones of a dataset, to choose from. */
export function useEvalRunChoice(projectId: string, datasetId: string, enabled = true) {
  return useQuery({
    queryKey: keys.evalRuns.choice(projectId, datasetId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/eval-runs", {
          params: { query: { project_id: projectId, dataset_id: datasetId, limit: CHOICE } },
          signal,
        }),
      ),
    enabled,
  });
}

/** GET /v1/eval-runs/_ranking: several eval-runs of a dataset. */
export function useRanking(selection: RankingSelection) {
  return useQuery({
    queryKey: keys.evalRuns.ranking(selection),
    queryFn: ({ signal }) =>
      unwrap(client.GET("/v1/eval-runs/_ranking", { params: { query: selection }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/eval-runs/{eval_run_id}, again and again until its result is there. */
export function useEvalRun(evalRunId: string) {
  return useQuery({
    queryKey: keys.evalRun.detail(evalRunId),
    queryFn: ({ signal }) => fetchEvalRun(evalRunId, signal),
    refetchInterval: ({ state }) =>
      state.data === undefined || isFinal(state.data) || state.error ? false : POLL,
  });
}

/** GET /v1/eval-runs/{eval_run_id}. */
export function fetchEvalRun(evalRunId: string, signal?: AbortSignal) {
  return unwrap(
    client.GET("/v1/eval-runs/{eval_run_id}", { params: { path: { eval_run_id: evalRunId } }, signal }),
  );
}

/** GET /v1/eval-runs/{eval_run_id}/items: one page. `live` reads it again while the eval-run runs. */
export function useEvalRunItems(
  evalRunId: string,
  selection: EvalRunItemSelection,
  offset: number,
  live: boolean,
) {
  return useQuery({
    queryKey: keys.evalRun.items(evalRunId, selection, offset),
    queryFn: ({ signal }) =>
      fetchEvalRunItems(evalRunId, { ...selection, limit: ITEMS_PAGE, offset }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: live ? 2 * POLL : false,
  });
}

/** GET /v1/eval-runs/{eval_run_id}/items. */
export function fetchEvalRunItems(
  evalRunId: string,
  query: EvalRunItemSelection & { limit: number; offset?: number },
  signal?: AbortSignal,
) {
  return unwrapExact<EvalRunItemPage>(
    client.GET("/v1/eval-runs/{eval_run_id}/items", {
      params: { path: { eval_run_id: evalRunId }, query },
      parseAs: "text",
      signal,
    }),
  );
}

/** GET /v1/eval-runs/{eval_run_id}/items/{dataset_item_id}, with whole texts. */
export function useEvalRunItem(evalRunId: string, itemId: string, live: boolean) {
  return useQuery({
    queryKey: keys.evalRun.item(evalRunId, itemId),
    queryFn: ({ signal }) =>
      unwrapExact<EvalRunItem>(
        client.GET("/v1/eval-runs/{eval_run_id}/items/{dataset_item_id}", {
          params: { path: { eval_run_id: evalRunId, dataset_item_id: itemId } },
          parseAs: "text",
          signal,
        }),
      ),
    refetchInterval: live ? 2 * POLL : false,
  });
}

type Known = Pick<EvalRun, "id" | "project_id">;

/** POST /v1/eval-runs/{eval_run_id}/_actions/cancel. */
export function useCancelEvalRun({ id, project_id }: Known) {
  return useInvalidatingMutation({ all: [keys.evalRuns.all(project_id), keys.evalRun.all(id)] }, () =>
    unwrap(
      client.POST("/v1/eval-runs/{eval_run_id}/_actions/cancel", { params: { path: { eval_run_id: id } } }),
    ),
  );
}

/** PATCH /v1/eval-runs/{eval_run_id}. */
export function useRenameEvalRun({ id, project_id }: Known) {
  return useInvalidatingMutation(
    { all: [keys.evalRuns.all(project_id), keys.evalRun.all(id)] },
    (name: string) =>
      unwrap(
        client.PATCH("/v1/eval-runs/{eval_run_id}", {
          params: { path: { eval_run_id: id } },
          body: { name },
        }),
      ),
  );
}

/** DELETE /v1/eval-runs/{eval_run_id}. */
export function useDeleteEvalRun({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.evalRuns.all(project_id), () =>
    unwrap(client.DELETE("/v1/eval-runs/{eval_run_id}", { params: { path: { eval_run_id: id } } })),
  );
}

/** POST /v1/gates/_actions/plan. Null has no request. */
export function useGatePlan(body: GateCheck | null) {
  return useDraftQuery(keys.evalRuns.gatePlan(body), body, (body, signal) =>
    unwrap(client.POST("/v1/gates/_actions/plan", { body, signal })),
  );
}

/** POST /v1/gates/_actions/check. */
export function useGateCheck() {
  return useMutation({
    mutationFn: (body: GateCheck) => unwrap(client.POST("/v1/gates/_actions/check", { body })),
  });
}
