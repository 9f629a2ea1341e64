import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap, unwrapExact } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Dataset, RunsAdded, RunsToDataset } from "./types";

/** A request to add runs to a dataset, without what is only for the write. */
export type RunItemsDraft = Omit<RunsToDataset, "dry_run" | "split" | "tags" | "note" | "received_before">;

function addRuns(body: RunsToDataset, signal?: AbortSignal) {
  return unwrapExact<RunsAdded>(
    client.POST("/v1/runs/_actions/add-to-dataset", { body, parseAs: "text", signal }),
  );
}

/** What adding runs would do, with the items of the first five. Null asks nothing, and keeps the last answer. */
export function useRunItems(draft: RunItemsDraft | null) {
  return useQuery({
    queryKey: keys.runItems(draft),
    queryFn: ({ signal }) => addRuns({ ...(draft as RunItemsDraft), dry_run: true }, signal),
    enabled: draft !== null,
    placeholderData: keepPreviousData,
    gcTime: 0,
    // A path that is wrong stays wrong.
    retry: false,
  });
}

/** POST /v1/runs/_actions/add-to-dataset. */
export function useAddRuns({ id, project_id }: Pick<Dataset, "id" | "project_id">) {
  return useInvalidatingMutation(
    { all: [keys.datasets.all(project_id), keys.dataset.all(id)] },
    (body: Omit<RunsToDataset, "dataset_id" | "dry_run">) =>
      addRuns({ ...body, dataset_id: id, dry_run: false }),
  );
}

/** GET /v1/datasets: the first datasets whose name or description has a text. */
export function useDatasetChoice(projectId: string, search: string) {
  return useQuery({
    queryKey: keys.datasets.choice(projectId, search),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/datasets", {
          params: { query: { project_id: projectId, search: search || undefined, limit: 50 } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/datasets: the datasets that have items from a run. */
export function useDatasetsOfRun(projectId: string, runId: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.datasets.ofRun(projectId, runId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/datasets", {
          params: { query: { project_id: projectId, source_run_id: runId, limit: 20 } },
          signal,
        }),
      ),
    enabled,
  });
}
