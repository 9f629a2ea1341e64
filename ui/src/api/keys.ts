import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { KeyCreate } from "./types";

const PAGE = 100;
const keysKey = (projectId: string) => ["keys", projectId] as const;

/** GET /v1/keys, page by page. */
export function useKeys(projectId: string) {
  return useInfiniteQuery({
    queryKey: keysKey(projectId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/keys", {
          params: { query: { project_id: projectId, limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.offset + page.data.length : undefined),
  });
}

/** POST /v1/keys. The secret stands in the answer only and is kept in no cache. */
export function useCreateKey(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: Omit<KeyCreate, "project_id">) =>
      unwrap(client.POST("/v1/keys", { body: { ...body, project_id: projectId } })),
    gcTime: 0,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keysKey(projectId) }),
  });
}

/** DELETE /v1/keys/{key_id}. */
export function useRevokeKey(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (keyId: string) =>
      unwrap(client.DELETE("/v1/keys/{key_id}", { params: { path: { key_id: keyId } } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keysKey(projectId) }),
  });
}

/** POST /v1/keys/{key_id}/_actions/rotate. */
export function useRotateKey(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (keyId: string) =>
      unwrap(client.POST("/v1/keys/{key_id}/_actions/rotate", { params: { path: { key_id: keyId } } })),
    gcTime: 0,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keysKey(projectId) }),
  });
}
