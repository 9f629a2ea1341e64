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

/** When an evaluation is read again after a change of labels: a job summarizes it a moment later. */
const SUMMARIZED_MS = [1_500, 4_000, 10_000];

/** The evaluation, the item and, of a comparison, the side that have an output. */
export interface LabelledOutput {
  /** Null for that of an eval-run. */
  side: "a" | "b" | null;
  /** The comparison or the eval-run. */
  id: string;
  itemId: string;
}

function useLabelMutation<Input, Result>(
  { side, id }: LabelledOutput,
  mutationFn: (input: Input) => Promise<Result>,
) {
  const queryClient = useQueryClient();
  const read = (queryKey: QueryKey) => queryClient.invalidateQueries({ queryKey });
  const of = side === null ? keys.evalRun : keys.comparison;
  return useMutation({
    mutationFn,
    onSuccess: () => {
      for (const after of SUMMARIZED_MS) setTimeout(read, after, of.detail(id));
      return read(of.all(id));
    },
  });
}

/** PUT /v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label, or that of a comparison. */
export function useWriteLabel(output: LabelledOutput) {
  const { side, id, itemId } = output;
  return useLabelMutation(output, (body: LabelWrite) =>
    side === null
      ? unwrap(
          client.PUT("/v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label", {
            params: { path: { eval_run_id: id, dataset_item_id: itemId } },
            body,
          }),
        )
      : unwrap(
          client.PUT("/v1/comparisons/{comparison_id}/items/{dataset_item_id}/label", {
            params: { path: { comparison_id: id, dataset_item_id: itemId } },
            body: { ...body, side },
          }),
        ),
  );
}

/** DELETE /v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label, or that of a comparison. */
export function useRemoveLabel(output: LabelledOutput) {
  const { side, id, itemId } = output;
  return useLabelMutation(output, ({ panel, repeat }: Pick<LabelWrite, "panel" | "repeat">) =>
    side === null
      ? unwrap(
          client.DELETE("/v1/eval-runs/{eval_run_id}/items/{dataset_item_id}/label", {
            params: { path: { eval_run_id: id, dataset_item_id: itemId }, query: { panel, repeat } },
          }),
        )
      : unwrap(
          client.DELETE("/v1/comparisons/{comparison_id}/items/{dataset_item_id}/label", {
            params: { path: { comparison_id: id, dataset_item_id: itemId }, query: { panel, side, repeat } },
          }),
        ),
  );
}
