import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap, unwrapExact } from "./client";
import { download } from "./download";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { nextOffset, useListPages } from "./paging";
import { queryText } from "./query";
import { keys } from "./queryKeys";
import type {
  Dataset,
  DatasetCreate,
  DatasetDiff,
  DatasetItem,
  DatasetItemPage,
  DatasetItemsWrite,
  DatasetItemUpdate,
  DatasetItemWrite,
  DatasetUpdate,
  ExportQuery,
  ItemSelection,
} from "./types";

const PAGE = 100;
/** An item of a difference has both its contents. */
const DIFF_PAGE = 50;

/** GET /v1/datasets, page by page, sorted by name. */
export function useDatasets(projectId: string, search: string) {
  return useListPages(keys.datasets.list(projectId, search), (offset, signal) =>
    unwrap(
      client.GET("/v1/datasets", {
        params: {
          query: { project_id: projectId, search: search || undefined, limit: PAGE, offset },
        },
        signal,
      }),
    ),
  );
}

/** GET /v1/datasets/{dataset_id}. The schemas keep the digits of long numbers. */
export function useDataset(datasetId: string) {
  return useQuery({
    queryKey: keys.dataset.detail(datasetId),
    queryFn: ({ signal }) => fetchDataset(datasetId, signal),
  });
}

/** GET /v1/datasets/{dataset_id}. */
export function fetchDataset(datasetId: string, signal?: AbortSignal) {
  return unwrapExact<Dataset>(
    client.GET("/v1/datasets/{dataset_id}", {
      params: { path: { dataset_id: datasetId } },
      parseAs: "text",
      signal,
    }),
  );
}

/** POST /v1/datasets. */
export function useCreateDataset(projectId: string) {
  return useInvalidatingMutation(keys.datasets.all(projectId), (body: Omit<DatasetCreate, "project_id">) =>
    unwrap(
      client.POST("/v1/datasets", {
        body: { ...body, project_id: projectId },
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

/** The queries that a change of a dataset makes stale. */
const changed = ({ id, project_id }: Dataset) => ({
  all: [keys.datasets.all(project_id), keys.dataset.all(id)],
});

/** PATCH /v1/datasets/{dataset_id}. */
export function useUpdateDataset(dataset: Dataset) {
  return useInvalidatingMutation(changed(dataset), (body: DatasetUpdate) =>
    unwrap(
      client.PATCH("/v1/datasets/{dataset_id}", {
        params: { path: { dataset_id: dataset.id } },
        body,
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

/** DELETE /v1/datasets/{dataset_id}. */
export function useDeleteDataset({ id, project_id }: Dataset) {
  return useInvalidatingMutation(keys.datasets.all(project_id), () =>
    unwrap(client.DELETE("/v1/datasets/{dataset_id}", { params: { path: { dataset_id: id } } })),
  );
}

/** GET /v1/datasets/{dataset_id}/items, page by page. All pages are of the revision of the first. */
export function useDatasetItems(datasetId: string, selection: ItemSelection, enabled = true) {
  return useInfiniteQuery({
    queryKey: keys.dataset.items(datasetId, selection),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => fetchItems(datasetId, selection, PAGE, pageParam, signal),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** GET /v1/datasets/{dataset_id}/items: one page. */
export function fetchItems(
  datasetId: string,
  selection: ItemSelection,
  limit: number,
  cursor?: string,
  signal?: AbortSignal,
) {
  return unwrapExact<DatasetItemPage>(
    client.GET("/v1/datasets/{dataset_id}/items", {
      params: { path: { dataset_id: datasetId }, query: { ...selection, limit, cursor } },
      parseAs: "text",
      signal,
    }),
  );
}

/** GET /v1/datasets/{dataset_id}/items/{item_id}, in a revision or in the newest. */
export function useDatasetItem(datasetId: string, itemId: string, revision: number | undefined) {
  return useQuery({
    queryKey: keys.dataset.item(datasetId, itemId, revision),
    queryFn: ({ signal }) => fetchItem(datasetId, itemId, revision, signal),
  });
}

/** GET /v1/datasets/{dataset_id}/items/{item_id}. */
export function fetchItem(datasetId: string, itemId: string, revision?: number, signal?: AbortSignal) {
  return unwrapExact<DatasetItem>(
    client.GET("/v1/datasets/{dataset_id}/items/{item_id}", {
      params: { path: { dataset_id: datasetId, item_id: itemId }, query: { revision } },
      parseAs: "text",
      signal,
    }),
  );
}

/** POST /v1/datasets/{dataset_id}/items with one item. */
export function useAddItem(dataset: Dataset) {
  return useInvalidatingMutation(changed(dataset), (body: DatasetItemWrite & { note?: string }) =>
    unwrapExact<DatasetItem>(
      client.POST("/v1/datasets/{dataset_id}/items", {
        params: { path: { dataset_id: dataset.id } },
        // The type requires members that are only for many items.
        body: body as DatasetItemsWrite,
        bodySerializer: (value) => writeJson(value),
        parseAs: "text",
      }),
    ),
  );
}

/** PATCH /v1/datasets/{dataset_id}/items/{item_id}. */
export function useUpdateItem(dataset: Dataset) {
  return useInvalidatingMutation(
    changed(dataset),
    ({ itemId, ...body }: DatasetItemUpdate & { itemId: string }) =>
      unwrapExact<DatasetItem>(
        client.PATCH("/v1/datasets/{dataset_id}/items/{item_id}", {
          params: { path: { dataset_id: dataset.id, item_id: itemId } },
          body,
          bodySerializer: (value) => writeJson(value),
          parseAs: "text",
        }),
      ),
  );
}

/** DELETE /v1/datasets/{dataset_id}/items/{item_id}. */
export function useDeleteItem(dataset: Dataset) {
  return useInvalidatingMutation(changed(dataset), (itemId: string) =>
    unwrap(
      client.DELETE("/v1/datasets/{dataset_id}/items/{item_id}", {
        params: { path: { dataset_id: dataset.id, item_id: itemId } },
      }),
    ),
  );
}

/** GET /v1/datasets/{dataset_id}/revisions, page by page, the newest first. */
export function useDatasetRevisions(datasetId: string) {
  return useInfiniteQuery({
    queryKey: keys.dataset.revisions(datasetId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/datasets/{dataset_id}/revisions", {
          params: { path: { dataset_id: datasetId }, query: { limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
  });
}

/** GET /v1/datasets/{dataset_id}/revisions/{revision}/diff/{other_revision}, page by page. */
export function useDatasetDiff(datasetId: string, revision: number, other: number) {
  return useInfiniteQuery({
    queryKey: keys.dataset.diff(datasetId, revision, other),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrapExact<DatasetDiff>(
        client.GET("/v1/datasets/{dataset_id}/revisions/{revision}/diff/{other_revision}", {
          params: {
            path: { dataset_id: datasetId, revision, other_revision: other },
            query: { limit: DIFF_PAGE, offset: pageParam },
          },
          parseAs: "text",
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** GET /v1/datasets/{dataset_id}/export: saves the file. */
export function exportDataset({ id, name }: Dataset, query: ExportQuery & { format: string }) {
  const revision = query.revision === undefined ? "" : `-r${query.revision}`;
  return download(`/v1/datasets/${id}/export?${queryText(query)}`, `${name}${revision}.${query.format}`);
}
