import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { PriceWrite } from "./types";

const PAGE = 100;

/** GET /v1/projects/{project_id}/prices, page by page: the project's own first, then the built-in ones. */
export function usePrices(projectId: string, search: string) {
  return useInfiniteQuery({
    queryKey: keys.prices.list(projectId, search),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/prices", {
          params: { path: { project_id: projectId }, query: { search, limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.offset + page.data.length : undefined),
    placeholderData: keepPreviousData,
  });
}

/** GET /v1/projects/{project_id}/prices/_unpriced: recently used models without a price. */
export function useUnpricedModels(projectId: string) {
  return useQuery({
    queryKey: keys.prices.unpriced(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/prices/_unpriced", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** GET /v1/projects/{project_id}/prices/_differences: clients whose costs differ from the computed ones. */
export function useCostDifferences(projectId: string) {
  return useQuery({
    queryKey: keys.prices.differences(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/prices/_differences", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** Creates a project price, or replaces the one with the id. */
export function useSavePrice(projectId: string) {
  return useInvalidatingMutation(
    keys.prices.all(projectId),
    ({ id, body }: { id: string | null; body: PriceWrite }) =>
      id === null
        ? unwrap(
            client.POST("/v1/projects/{project_id}/prices", {
              params: { path: { project_id: projectId } },
              body,
            }),
          )
        : unwrap(
            client.PUT("/v1/projects/{project_id}/prices/{price_id}", {
              params: { path: { project_id: projectId, price_id: id } },
              body,
            }),
          ),
  );
}

/** DELETE /v1/projects/{project_id}/prices/{price_id}. */
export function useDeletePrice(projectId: string) {
  return useInvalidatingMutation(keys.prices.all(projectId), (id: string) =>
    unwrap(
      client.DELETE("/v1/projects/{project_id}/prices/{price_id}", {
        params: { path: { project_id: projectId, price_id: id } },
      }),
    ),
  );
}
