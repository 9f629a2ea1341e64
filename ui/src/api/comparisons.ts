import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { client, unwrap, unwrapExact } from "./client";
import { download } from "./download";
import { useDraftQuery } from "./draftQuery";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { ITEMS_PAGE, useListPages } from "./paging";
import { keys } from "./queryKeys";
import type {
  Comparison,
  ComparisonCreate,
  ComparisonItem,
  ComparisonItemPage,
  ComparisonItemSelection,
  ComparisonSelection,
  EvaluationResume,
  GradeRequest,
} from "./types";

const PAGE = 50;
/** How often a comparison that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 1_500;

/** A comparison to start, without what the API adds. */
export type ComparisonDraft = Omit<
  ComparisonCreate,
  "repeats" | "stop_early" | "on_incompatible" | "allow_unpriced" | "cache"
> &
  Partial<ComparisonCreate>;

/** Whether a comparison or an eval-run has ended: it changes no more until it is resumed. */
export function hasEnded({ status }: Pick<Comparison, "status">): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

/** Whether a comparison or an eval-run has ended and its result is there: a cancelled one is summarized a little later. */
export function isFinal({ status, summary }: { status: Comparison["status"]; summary: unknown }): boolean {
  return hasEnded({ status }) && (status === "failed" || summary !== null);
}

/** GET /v1/comparisons, page by page, the newest first. It is read again while one of them runs. */
export function useComparisons(projectId: string, selection: ComparisonSelection) {
  return useListPages(
    keys.comparisons.list(projectId, selection),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/comparisons", {
          params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen: (row) => !isFinal(row), every: POLL },
  );
}

/** GET /v1/comparisons/{comparison_id}, again and again until its result is there. */
export function useComparison(comparisonId: string) {
  return useQuery({
    queryKey: keys.comparison.detail(comparisonId),
    queryFn: ({ signal }) => fetchComparison(comparisonId, signal),
    refetchInterval: ({ state }) =>
      state.data === undefined || isFinal(state.data) || state.error ? false : POLL,
  });
}

/** GET /v1/comparisons/{comparison_id}. */
export function fetchComparison(comparisonId: string, signal?: AbortSignal) {
  return unwrap(
    client.GET("/v1/comparisons/{comparison_id}", {
      params: { path: { comparison_id: comparisonId } },
      signal,
    }),
  );
}

/** GET /v1/comparisons/{comparison_id}/items: one page. `live` reads it again while the comparison runs. */
export function useComparisonItems(
  comparisonId: string,
  selection: ComparisonItemSelection,
  offset: number,
  live: boolean,
) {
  return useQuery({
    queryKey: keys.comparison.items(comparisonId, selection, offset),
    queryFn: ({ signal }) =>
      unwrapExact<ComparisonItemPage>(
        client.GET("/v1/comparisons/{comparison_id}/items", {
          params: {
            path: { comparison_id: comparisonId },
            query: { ...selection, limit: ITEMS_PAGE, offset },
          },
          parseAs: "text",
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: live ? 2 * POLL : false,
  });
}

/** GET /v1/comparisons/{comparison_id}/items/{dataset_item_id}, with whole texts. */
export function useComparisonItem(comparisonId: string, itemId: string, live: boolean) {
  return useQuery({
    queryKey: keys.comparison.item(comparisonId, itemId),
    queryFn: ({ signal }) =>
      unwrapExact<ComparisonItem>(
        client.GET("/v1/comparisons/{comparison_id}/items/{dataset_item_id}", {
          params: { path: { comparison_id: comparisonId, dataset_item_id: itemId } },
          parseAs: "text",
          signal,
        }),
      ),
    refetchInterval: live ? 2 * POLL : false,
  });
}

/** What the forecast of an estimate is asked for: a margin from 0 to 1. */
export interface ForecastGoal {
  margin?: number;
}

/** POST /v1/comparisons/_actions/estimate. Null has no request. */
export function useComparisonEstimate(draft: ComparisonDraft | null, goal: ForecastGoal = {}) {
  return useDraftQuery(keys.comparisons.estimate(draft, goal), draft, (draft, signal) =>
    unwrap(
      client.POST("/v1/comparisons/_actions/estimate", {
        params: { query: goal },
        body: draft as ComparisonCreate,
        bodySerializer: (value) => writeJson(value),
        signal,
      }),
    ),
  );
}

/** POST /v1/comparisons. */
export function useCreateComparison(projectId: string) {
  return useInvalidatingMutation(keys.comparisons.all(projectId), (draft: ComparisonDraft) =>
    unwrap(
      client.POST("/v1/comparisons", {
        body: draft as ComparisonCreate,
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

type Known = Pick<Comparison, "id" | "project_id">;

/** The queries that a change of a comparison makes stale. */
const changed = ({ id, project_id }: Known) => ({
  all: [keys.comparisons.all(project_id), keys.comparison.all(id)],
});

/** PATCH /v1/comparisons/{comparison_id}. */
export function useRenameComparison(comparison: Known) {
  return useInvalidatingMutation(changed(comparison), (name: string) =>
    unwrap(
      client.PATCH("/v1/comparisons/{comparison_id}", {
        params: { path: { comparison_id: comparison.id } },
        body: { name },
      }),
    ),
  );
}

/** DELETE /v1/comparisons/{comparison_id}. */
export function useDeleteComparison({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.comparisons.all(project_id), () =>
    unwrap(client.DELETE("/v1/comparisons/{comparison_id}", { params: { path: { comparison_id: id } } })),
  );
}

/** POST /v1/comparisons/{comparison_id}/_actions/cancel. */
export function useCancelComparison(comparison: Known) {
  return useInvalidatingMutation(changed(comparison), () =>
    unwrap(
      client.POST("/v1/comparisons/{comparison_id}/_actions/cancel", {
        params: { path: { comparison_id: comparison.id } },
      }),
    ),
  );
}

/** POST /v1/comparisons/{comparison_id}/_actions/resume. */
export function useResumeComparison(comparison: Known) {
  return useInvalidatingMutation(changed(comparison), (body: EvaluationResume) =>
    unwrap(
      client.POST("/v1/comparisons/{comparison_id}/_actions/resume", {
        params: { path: { comparison_id: comparison.id } },
        body,
      }),
    ),
  );
}

/** POST /v1/comparisons/{comparison_id}/_actions/rerun. */
export function useRerunComparison({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.comparisons.all(project_id), () =>
    unwrap(
      client.POST("/v1/comparisons/{comparison_id}/_actions/rerun", {
        params: { path: { comparison_id: id } },
      }),
    ),
  );
}

/** GET /v1/comparisons/{comparison_id}/report?format=markdown. */
export function useComparisonReport(comparisonId: string) {
  return useQuery({
    queryKey: keys.comparison.report(comparisonId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/comparisons/{comparison_id}/report", {
          params: { path: { comparison_id: comparisonId }, query: { format: "markdown" } },
          parseAs: "text",
          signal,
        }),
      ) as unknown as Promise<string>,
    gcTime: 0,
  });
}

/** GET …/export, or …/report in JUnit: saves the file. */
export function downloadComparison({ id, name }: Comparison, what: "jsonl" | "csv" | "junit") {
  if (what === "junit") return download(`/v1/comparisons/${id}/report?format=junit`, `${name}.xml`);
  return download(`/v1/comparisons/${id}/export?format=${what}`, `${name}.${what}`);
}

/** POST /v1/graders/_actions/grade: what is wrong with graders. An empty output is graded, and the scores don't matter. */
export function useGraderCheck(request: Pick<GradeRequest, "project_id" | "graders"> | null) {
  return useDraftQuery(keys.comparisons.graders(request), request, (request, signal) =>
    unwrap(
      client.POST("/v1/graders/_actions/grade", {
        body: { ...request, sample: { output: "" } },
        bodySerializer: (value) => writeJson(value),
        signal,
      }),
    ),
  );
}

/** POST /v1/graders/_actions/grade. */
export function useGrade() {
  return useMutation({
    mutationFn: (body: GradeRequest) =>
      unwrap(
        client.POST("/v1/graders/_actions/grade", {
          body,
          bodySerializer: (value) => writeJson(value),
        }),
      ),
  });
}
