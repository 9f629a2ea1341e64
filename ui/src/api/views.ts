import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import type { ViewCreate, ViewUpdate } from "./types";

const viewsKey = (projectId: string) => ["views", projectId] as const;

/** GET /v1/projects/{project_id}/views: the saved views of all pages, by page and name. */
export function useViews(projectId: string, enabled = true) {
  return useQuery({
    queryKey: viewsKey(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/views", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    select: (list) => list.data,
    enabled,
  });
}

/** POST /v1/projects/{project_id}/views. */
export function useCreateView(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ViewCreate) =>
      unwrap(
        client.POST("/v1/projects/{project_id}/views", { params: { path: { project_id: projectId } }, body }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: viewsKey(projectId) }),
  });
}

/** PATCH /v1/projects/{project_id}/views/{view_id}. */
export function useUpdateView(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: string; body: ViewUpdate }) =>
      unwrap(
        client.PATCH("/v1/projects/{project_id}/views/{view_id}", {
          params: { path: { project_id: projectId, view_id: id } },
          body,
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: viewsKey(projectId) }),
  });
}

/** DELETE /v1/projects/{project_id}/views/{view_id}. */
export function useDeleteView(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(
        client.DELETE("/v1/projects/{project_id}/views/{view_id}", {
          params: { path: { project_id: projectId, view_id: id } },
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: viewsKey(projectId) }),
  });
}
