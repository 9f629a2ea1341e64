import { useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { ViewCreate, ViewUpdate } from "./types";

/** GET /v1/projects/{project_id}/views: the saved views of all pages, by page and name. */
export function useViews(projectId: string) {
  return useQuery({
    queryKey: keys.views(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/views", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    select: (list) => list.data,
  });
}

/** POST /v1/projects/{project_id}/views. */
export function useCreateView(projectId: string) {
  return useInvalidatingMutation(keys.views(projectId), (body: ViewCreate) =>
    unwrap(
      client.POST("/v1/projects/{project_id}/views", { params: { path: { project_id: projectId } }, body }),
    ),
  );
}

/** PATCH /v1/projects/{project_id}/views/{view_id}. */
export function useUpdateView(projectId: string) {
  return useInvalidatingMutation(keys.views(projectId), ({ id, body }: { id: string; body: ViewUpdate }) =>
    unwrap(
      client.PATCH("/v1/projects/{project_id}/views/{view_id}", {
        params: { path: { project_id: projectId, view_id: id } },
        body,
      }),
    ),
  );
}

/** DELETE /v1/projects/{project_id}/views/{view_id}. */
export function useDeleteView(projectId: string) {
  return useInvalidatingMutation(keys.views(projectId), (id: string) =>
    unwrap(
      client.DELETE("/v1/projects/{project_id}/views/{view_id}", {
        params: { path: { project_id: projectId, view_id: id } },
      }),
    ),
  );
}
