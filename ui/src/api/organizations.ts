import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Contents } from "./types";

/** POST /v1/organizations. It gets a workspace and a project. Returns the organization's first project, if any. */
export function useCreateOrganization() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (name: string) => {
      const created = await unwrap(client.POST("/v1/organizations", { body: { name } }));
      const me = await unwrap(client.GET("/v1/me"));
      queryClient.setQueryData(keys.session.me, me);
      return me.projects.find((project) => project.organization_id === created.id);
    },
  });
}

/** PATCH /v1/organizations/{organization_id}. */
export function useRenameOrganization(id: string) {
  return useInvalidatingMutation(keys.session.me, (name: string) =>
    unwrap(
      client.PATCH("/v1/organizations/{organization_id}", {
        params: { path: { organization_id: id } },
        body: { name },
      }),
    ),
  );
}

/** POST /v1/workspaces. It has no project. */
export function useCreateWorkspace() {
  return useInvalidatingMutation(keys.session.me, (body: { organization_id: string; name: string }) =>
    unwrap(client.POST("/v1/workspaces", { body })),
  );
}

/** PATCH /v1/workspaces/{workspace_id}. */
export function useRenameWorkspace(id: string) {
  return useInvalidatingMutation(keys.session.me, (name: string) =>
    unwrap(
      client.PATCH("/v1/workspaces/{workspace_id}", {
        params: { path: { workspace_id: id } },
        body: { name },
      }),
    ),
  );
}

/** What can be deleted with everything in it. */
export type Container = "project" | "workspace" | "organization";

const readers = {
  project: (id: string, signal: AbortSignal) =>
    unwrap(
      client.GET("/v1/projects/{project_id}/contents", { params: { path: { project_id: id } }, signal }),
    ),
  workspace: (id: string, signal: AbortSignal) =>
    unwrap(
      client.GET("/v1/workspaces/{workspace_id}/contents", {
        params: { path: { workspace_id: id } },
        signal,
      }),
    ),
  organization: (id: string, signal: AbortSignal) =>
    unwrap(
      client.GET("/v1/organizations/{organization_id}/contents", {
        params: { path: { organization_id: id } },
        signal,
      }),
    ),
} satisfies Record<Container, (id: string, signal: AbortSignal) => Promise<Contents>>;

/** GET …/contents: what a deletion would delete now. */
export function useContents(container: Container, id: string) {
  return useQuery({
    queryKey: keys.contents(container, id),
    queryFn: ({ signal }) => readers[container](id, signal),
    staleTime: 0,
    gcTime: 0,
  });
}

const removers = {
  project: (id: string, confirm: string) =>
    unwrap(
      client.DELETE("/v1/projects/{project_id}", {
        params: { path: { project_id: id }, query: { confirm } },
      }),
    ),
  workspace: (id: string, confirm: string) =>
    unwrap(
      client.DELETE("/v1/workspaces/{workspace_id}", {
        params: { path: { workspace_id: id }, query: { confirm } },
      }),
    ),
  organization: (id: string, confirm: string) =>
    unwrap(
      client.DELETE("/v1/organizations/{organization_id}", {
        params: { path: { organization_id: id }, query: { confirm } },
      }),
    ),
} satisfies Record<Container, (id: string, confirm: string) => Promise<unknown>>;

/** DELETE of a project, workspace or organization. `confirm` is its name. */
export function useDeleteContainer(container: Container, id: string) {
  return useInvalidatingMutation(keys.session.me, (confirm: string) => removers[container](id, confirm));
}
