import { type QueryKey, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { writeJson } from "./json";
import { keys } from "./queryKeys";
import type { JudgeTest, LabelWrite } from "./types";

/** GET /v1/judges. They come with the product, so they are read once. */
export function useReadyMadeJudges() {
  return useQuery({
    queryKey: keys.judges.readyMade,
    queryFn: ({ signal }) => fetchReadyMadeJudges(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** GET /v1/judges. */
export function fetchReadyMadeJudges(signal?: AbortSignal) {
  return unwrap(client.GET("/v1/judges", { signal }));
}

/** POST /v1/judges/_actions/test. The calls are paid. */
export function useJudgeTest() {
  return useMutation({
    mutationFn: (body: JudgeTest) =>
      unwrap(
        client.POST("/v1/judges/_actions/test", {
          body,
          bodySerializer: (value) => writeJson(value),
        }),
      ),
  });
}

/** When an eval-run is read again after a change of labels: a job summarizes it a moment later. */
const SUMMARIZED_MS = [1_500, 4_000, 10_000];

function useLabelMutation<Input, Result>(evalRunId: string, mutationFn: (input: Input) => Promise<Result>) {
  const queryClient = useQueryClient();
  const read = (queryKey: QueryKey) => queryClient.invalidateQueries({ queryKey });
  return useMutation({
    mutationFn,
    onSuccess: () => {
      for (const after of SUMMARIZED_MS) setTimeout(read, after, keys.evalRun.detail(evalRunId));
      return read(keys.evalRun.all(evalRunId));
    },
  });
}

/** PUT /v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label. */
export function useWriteLabel(evalRunId: string, itemId: string) {
  return useLabelMutation(evalRunId, (body: LabelWrite) =>
    unwrap(
      client.PUT("/v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label", {
        params: { path: { eval_run_id: evalRunId, dataset_item_id: itemId } },
        body,
      }),
    ),
  );
}

/** DELETE /v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label. */
export function useRemoveLabel(evalRunId: string, itemId: string) {
  return useLabelMutation(evalRunId, ({ panel, repeat }: Pick<LabelWrite, "panel" | "repeat">) =>
    unwrap(
      client.DELETE("/v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label", {
        params: {
          path: { eval_run_id: evalRunId, dataset_item_id: itemId },
          query: { panel, repeat },
        },
      }),
    ),
  );
}
