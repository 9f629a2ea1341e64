import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Answer, client, unwrap, unwrapExact } from "./client";
import { download } from "./download";
import { useInvalidatingMutation } from "./mutation";
import { nextOffset } from "./paging";
import { ApiError, errorFromNetwork, errorFromResponse } from "./problem";
import { queryText } from "./query";
import { keys } from "./queryKeys";
import { sessionHeaders } from "./session";
import type { Import, ImportErrorPage, ImportPreview, ImportPreviewQuery, ImportQuery } from "./types";

const PAGE = 100;
/** How often the state of an import is read, in ms. Nothing is read while the page is hidden. */
const POLL = 1_000;

/** Whether an import or a check has ended: it changes no more. */
export function isFinished({ status }: Pick<Import, "status">): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

/** GET /v1/datasets/{dataset_id}/imports, page by page, the newest first. */
export function useImports(datasetId: string) {
  return useInfiniteQuery({
    queryKey: keys.dataset.imports(datasetId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/datasets/{dataset_id}/imports", {
          params: { path: { dataset_id: datasetId }, query: { limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
    refetchInterval: ({ state }) =>
      state.data?.pages.every((page) => page.data.every(isFinished)) ? false : POLL,
  });
}

/** GET /v1/imports/{import_id}, until the import has ended. */
export function useImport(importId: string) {
  return useQuery({
    queryKey: keys.import.detail(importId),
    queryFn: ({ signal }) =>
      unwrap(client.GET("/v1/imports/{import_id}", { params: { path: { import_id: importId } }, signal })),
    refetchInterval: ({ state }) =>
      isGone(state.error) || (state.data && isFinished(state.data)) ? false : POLL,
  });
}

/** Whether an import is not there any more: its upload broke off. */
export function isGone(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** GET /v1/imports/{import_id}/errors, page by page. */
export function useImportErrors(importId: string, isEnabled: boolean) {
  return useInfiniteQuery({
    queryKey: keys.import.errors(importId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/imports/{import_id}/errors", {
          params: { path: { import_id: importId }, query: { limit: PAGE, offset: pageParam } },
          signal,
        }) as Promise<Answer<ImportErrorPage>>,
      ),
    getNextPageParam: nextOffset,
    enabled: isEnabled,
  });
}

/** GET /v1/imports/{import_id}/errors?format=csv: saves the file. */
export function downloadImportErrors({ id, file_name }: Import) {
  return download(`/v1/imports/${id}/errors?format=csv`, `${file_name ?? "import"}-errors.csv`);
}

/** POST /v1/imports/{import_id}/_actions/cancel. */
export function useCancelImport({ id, dataset_id }: Import) {
  return useInvalidatingMutation({ all: [keys.import.detail(id), keys.dataset.imports(dataset_id)] }, () =>
    unwrap(client.POST("/v1/imports/{import_id}/_actions/cancel", { params: { path: { import_id: id } } })),
  );
}

/** A file that was chosen for an import. */
export interface ChosenFile {
  /** Identifies it in this browser. */
  id: string;
  file: File;
  /** What a preview reads. */
  sample: Blob;
}

/** POST /v1/datasets/{dataset_id}/imports/_actions/preview. Null has no request. */
export function useImportPreview(datasetId: string, chosen: ChosenFile | null, query: ImportPreviewQuery) {
  return useQuery({
    queryKey: keys.import.preview(datasetId, chosen?.id ?? "", query),
    queryFn: ({ signal }) => {
      const sample = chosen?.sample ?? new Blob();
      return unwrapExact<ImportPreview>(
        client.POST("/v1/datasets/{dataset_id}/imports/_actions/preview", {
          params: { path: { dataset_id: datasetId }, query },
          headers: { "Content-Type": "application/octet-stream" },
          body: "",
          bodySerializer: () => sample,
          parseAs: "text",
          signal,
        }),
      );
    },
    enabled: chosen !== null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    // Another file has nothing to do with the one before.
    placeholderData: (previous, before) =>
      before?.queryKey[2] === chosen?.id ? keepPreviousData(previous) : undefined,
  });
}

export interface Upload {
  datasetId: string;
  file: File;
  query: ImportQuery;
  /** Gets the number of bytes that were sent. */
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/** POST /v1/datasets/{dataset_id}/imports. fetch doesn't tell how much it has sent. */
export function useUploadImport(datasetId: string) {
  const queryClient = useQueryClient();
  return async (upload: Omit<Upload, "datasetId">) => {
    const started = await send({ ...upload, datasetId });
    void queryClient.invalidateQueries({ queryKey: keys.dataset.imports(datasetId) });
    return started;
  };
}

function send({ datasetId, file, query, onProgress, signal }: Upload): Promise<Import> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/datasets/${datasetId}/imports?${queryText(query)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      let body: unknown = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // A body of another kind: the status says what happened.
      }
      const response = new Response(null, {
        status: request.status,
        headers: { "Retry-After": request.getResponseHeader("Retry-After") ?? "" },
      });
      if (response.ok) resolve(body as Import);
      else reject(errorFromResponse(response, body));
    };
    request.onerror = () => reject(errorFromNetwork(new Error("the upload broke off")));
    request.onabort = () => reject(new ApiError(0, null, null, "The upload was cancelled"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
