import { useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { ForecastGoal } from "./comparisons";
import { download } from "./download";
import { useDraftQuery } from "./draftQuery";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { EvalRun, EvalRunCreate, EvaluationResume } from "./types";

/** How many eval-runs a trend looks at. */
const TREND_RUNS = 100;

/** An eval-run to start, without what the API adds. */
export type EvalRunDraft = Omit<EvalRunCreate, keyof Defaulted | "target"> &
  Partial<Defaulted> & {
    target: Partial<EvalRunCreate["target"]>;
  };

type Defaulted = Pick<EvalRunCreate, "repeats" | "cache" | "on_incompatible" | "allow_unpriced">;

/** POST /v1/eval-runs/_actions/estimate. Null has no request. */
export function useEvalRunEstimate(draft: EvalRunDraft | null, goal: ForecastGoal = {}) {
  return useDraftQuery(keys.evalRuns.estimate(draft, goal), draft, (draft, signal) =>
    unwrap(
      client.POST("/v1/eval-runs/_actions/estimate", {
        params: { query: goal },
        body: draft as EvalRunCreate,
        bodySerializer: (value) => writeJson(value),
        signal,
      }),
    ),
  );
}

/** POST /v1/eval-runs. */
export function useCreateEvalRun(projectId: string) {
  return useInvalidatingMutation(keys.evalRuns.all(projectId), (draft: EvalRunDraft) =>
    unwrap(
      client.POST("/v1/eval-runs", {
        body: draft as EvalRunCreate,
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

type Known = Pick<EvalRun, "id" | "project_id">;

/** POST /v1/eval-runs/{eval_run_id}/_actions/resume. */
export function useResumeEvalRun({ id, project_id }: Known) {
  return useInvalidatingMutation(
    { all: [keys.evalRuns.all(project_id), keys.evalRun.all(id)] },
    (body: EvaluationResume) =>
      unwrap(
        client.POST("/v1/eval-runs/{eval_run_id}/_actions/resume", {
          params: { path: { eval_run_id: id } },
          body,
        }),
      ),
  );
}

/** POST /v1/eval-runs/{eval_run_id}/_actions/rerun. */
export function useRerunEvalRun({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.evalRuns.all(project_id), () =>
    unwrap(
      client.POST("/v1/eval-runs/{eval_run_id}/_actions/rerun", { params: { path: { eval_run_id: id } } }),
    ),
  );
}

/** GET /v1/eval-runs: the newest ones of a dataset that succeeded. */
export function useEvalRunTrend(projectId: string, datasetId: string) {
  return useQuery({
    queryKey: keys.evalRuns.trend(projectId, datasetId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/eval-runs", {
          params: {
            query: { project_id: projectId, dataset_id: datasetId, status: "succeeded", limit: TREND_RUNS },
          },
          signal,
        }),
      ),
  });
}

/** GET /v1/eval-runs/{eval_run_id}/export, or …/report in JUnit: saves the file. */
export function downloadEvalRun({ id, name }: EvalRun, what: "jsonl" | "csv" | "junit") {
  if (what === "junit") return download(`/v1/eval-runs/${id}/report?format=junit`, `${name}.xml`);
  return download(`/v1/eval-runs/${id}/export?format=${what}`, `${name}.${what}`);
}

/** How many eval-runs {@link useEvalRunChanges} reads. */
const CHANGES = 20;

/** GET /v1/eval-runs/{eval_run_id}/trend: the paired differences of the newest eval-runs of a trend. Undefined has no request. */
export function useEvalRunChanges(evalRunId: string | undefined, metric: string) {
  return useQuery({
    queryKey: keys.evalRun.changes(evalRunId ?? "", metric),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/eval-runs/{eval_run_id}/trend", {
          params: { path: { eval_run_id: evalRunId ?? "" }, query: { metric, limit: CHANGES } },
          signal,
        }),
      ),
    enabled: evalRunId !== undefined && metric !== "",
  });
}
