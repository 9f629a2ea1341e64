import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { useListPages } from "./paging";
import { keys } from "./queryKeys";
import type { Work, WorkSelection } from "./types";

const PAGE = 50;
/** How often work that waits or runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 2_000;

/** Whether work waits or runs. */
export function isOpen({ status }: Pick<Work, "status">): boolean {
  return status === "uploading" || status === "queued" || status === "running";
}

/** GET /v1/work, page by page, the newest first. It is read again while some of it is open. */
export function useWork(projectId: string, selection: WorkSelection) {
  return useListPages(
    keys.work.list(projectId, selection),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/work", {
          params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen, every: POLL },
  );
}

/** The operation that cancels work of its kind. */
export function useCancelWork(work: Work) {
  return useInvalidatingMutation(keys.work.all(work.project_id), async () => {
    await unwrap<unknown>(cancel(work));
  });
}

function cancel({ id, kind, dataset_id }: Work) {
  switch (kind) {
    case "import":
      return client.POST("/v1/imports/{import_id}/_actions/cancel", { params: { path: { import_id: id } } });
    case "near_duplicate_check":
      return client.POST("/v1/datasets/{dataset_id}/near-duplicates/_actions/cancel", {
        params: { path: { dataset_id: dataset_id ?? "" } },
      });
    case "comparison":
      return client.POST("/v1/comparisons/{comparison_id}/_actions/cancel", {
        params: { path: { comparison_id: id } },
      });
    case "eval_run":
      return client.POST("/v1/eval-runs/{eval_run_id}/_actions/cancel", {
        params: { path: { eval_run_id: id } },
      });
    case "replay":
      return client.POST("/v1/replays/{replay_id}/_actions/cancel", { params: { path: { replay_id: id } } });
    case "replay_batch":
      return client.POST("/v1/replay-batches/{batch_id}/_actions/cancel", {
        params: { path: { batch_id: id } },
      });
    case "diagnosis":
      return client.POST("/v1/diagnoses/{diagnosis_id}/_actions/cancel", {
        params: { path: { diagnosis_id: id } },
      });
  }
}
