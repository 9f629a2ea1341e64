import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { ProviderCreate, ProviderUpdate, SpendingGroup, SpendingWindow } from "./types";

/** More connections than a project has. */
const PAGE = 100;
/** How often the calls under way are read while a page shows them. */
const ACTIVITY_MS = 5_000;

/** GET /v1/providers, sorted by name. `live` reads it again while the page is open, for the calls under way. */
export function useProviders(projectId: string, { live = false } = {}) {
  return useQuery({
    queryKey: keys.providers.list(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/providers", { params: { query: { project_id: projectId, limit: PAGE } }, signal }),
      ),
    refetchInterval: live ? ACTIVITY_MS : false,
  });
}

/** POST /v1/providers. */
export function useCreateProvider(projectId: string) {
  return useInvalidatingMutation(keys.providers.all(projectId), (body: Omit<ProviderCreate, "project_id">) =>
    unwrap(client.POST("/v1/providers", { body: { ...body, project_id: projectId } })),
  );
}

/** PATCH /v1/providers/{provider_id}. */
export function useUpdateProvider(projectId: string) {
  return useInvalidatingMutation(
    keys.providers.all(projectId),
    ({ id, ...body }: ProviderUpdate & { id: string }) =>
      unwrap(client.PATCH("/v1/providers/{provider_id}", { params: { path: { provider_id: id } }, body })),
  );
}

/** DELETE /v1/providers/{provider_id}. */
export function useDeleteProvider(projectId: string) {
  return useInvalidatingMutation(keys.providers.all(projectId), (id: string) =>
    unwrap(client.DELETE("/v1/providers/{provider_id}", { params: { path: { provider_id: id } } })),
  );
}

/** GET /v1/providers/{provider_id}/models. An empty id has no request. The provider itself is asked, so it is kept. */
export function useProviderModels(projectId: string, providerId: string) {
  return useQuery({
    queryKey: keys.providers.models(projectId, providerId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/providers/{provider_id}/models", {
          params: { path: { provider_id: providerId } },
          signal,
        }),
      ),
    enabled: providerId !== "",
    staleTime: 60_000,
    retry: false,
  });
}

/** POST /v1/providers/{provider_id}/_actions/test. An empty model only tests the address and the key. */
export function useTestProvider(providerId: string) {
  return useMutation({
    mutationFn: (model: string) =>
      unwrap(
        client.POST("/v1/providers/{provider_id}/_actions/test", {
          params: { path: { provider_id: providerId } },
          body: model === "" ? {} : { model },
        }),
      ),
  });
}

/** GET /v1/spending. */
export function useSpending(projectId: string, window: SpendingWindow, groupBy: SpendingGroup) {
  return useQuery({
    queryKey: keys.providers.spending(projectId, window, groupBy),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/spending", {
          params: { query: { project_id: projectId, ...window, group_by: groupBy } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}
