import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { PriceWrite } from "./types";

const PAGE = 100;
const pricesKey = (projectId: string) => ["prices", projectId] as const;

/** GET /v1/projects/{project_id}/prices, page by page: the project's own first, then the table's. */
export function usePrices(projectId: string, search: string) {
  return useInfiniteQuery({
    queryKey: [...pricesKey(projectId), "list", search],
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

/** GET /v1/projects/{project_id}/prices/_unpriced: models of the last days without a price. */
export function useUnpricedModels(projectId: string) {
  return useQuery({
    queryKey: [...pricesKey(projectId), "unpriced"],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/prices/_unpriced", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** POST or PUT of a project's own price: a new one without an id. */
export function useSavePrice(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: string | null; body: PriceWrite }) =>
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
    onSuccess: () => queryClient.invalidateQueries({ queryKey: pricesKey(projectId) }),
  });
}

/** DELETE /v1/projects/{project_id}/prices/{price_id}. */
export function useDeletePrice(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(
        client.DELETE("/v1/projects/{project_id}/prices/{price_id}", {
          params: { path: { project_id: projectId, price_id: id } },
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: pricesKey(projectId) }),
  });
}
