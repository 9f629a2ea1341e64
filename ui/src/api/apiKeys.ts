import { useInfiniteQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { KeyCreate } from "./types";

const PAGE = 100;

/** GET /v1/keys, page by page. */
export function useApiKeys(projectId: string) {
  return useInfiniteQuery({
    queryKey: keys.apiKeys(projectId),
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

/** POST /v1/keys. Only this response contains the secret. */
export function useCreateKey(projectId: string) {
  return useInvalidatingMutation(keys.apiKeys(projectId), (body: Omit<KeyCreate, "project_id">) =>
    unwrap(client.POST("/v1/keys", { body: { ...body, project_id: projectId } })),
  );
}

/** DELETE /v1/keys/{key_id}. */
export function useRevokeKey(projectId: string) {
  return useInvalidatingMutation(keys.apiKeys(projectId), (keyId: string) =>
    unwrap(client.DELETE("/v1/keys/{key_id}", { params: { path: { key_id: keyId } } })),
  );
}

/** POST /v1/keys/{key_id}/_actions/rotate. Only this response contains the new secret. */
export function useRotateKey(projectId: string) {
  return useInvalidatingMutation(keys.apiKeys(projectId), (keyId: string) =>
    unwrap(client.POST("/v1/keys/{key_id}/_actions/rotate", { params: { path: { key_id: keyId } } })),
  );
}
