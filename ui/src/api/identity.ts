import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { ApiError } from "./problem";
import { meKey } from "./queryClient";
import type { Me, ProjectLimits } from "./types";

const setupKey = ["setup"] as const;

/** GET /v1/setup: whether the first user exists. */
export function useSetupState() {
  return useQuery({
    queryKey: setupKey,
    queryFn: ({ signal }) => unwrap(client.GET("/v1/setup", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** GET /v1/me: the caller, or null without a session. */
export function useMe() {
  return useQuery({
    queryKey: meKey,
    queryFn: async ({ signal }): Promise<Me | null> => {
      try {
        return await unwrap(client.GET("/v1/me", { signal }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }
    },
    staleTime: 60_000,
    refetchOnWindowFocus: true,
  });
}

/** POST /v1/setup: the first user, organization, workspace and project. */
export function useSetup() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { email: string; password: string; org_name: string }) =>
      unwrap(client.POST("/v1/setup", { body })),
    onSuccess: (me) => {
      queryClient.setQueryData(setupKey, { bootstrapped: true });
      queryClient.setQueryData(meKey, me);
    },
  });
}

/** POST /v1/login. */
export function useLogin() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { email: string; password: string }) => unwrap(client.POST("/v1/login", { body })),
    onSuccess: (me) => queryClient.setQueryData(meKey, me),
  });
}

/** POST /v1/logout; nothing of the session stays in memory. */
export function useLogout() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(client.POST("/v1/logout")),
    onSuccess: async () => {
      // An answer that is still on its way would bring the session back.
      await queryClient.cancelQueries();
      // The gate watches this very query: it must be told, not have its query taken away.
      queryClient.setQueryData(meKey, null);
      const kept: unknown[] = [setupKey[0], meKey[0]];
      queryClient.removeQueries({ predicate: (query) => !kept.includes(query.queryKey[0]) });
      // Passwords and new keys stand in the mutations.
      queryClient.getMutationCache().clear();
    },
  });
}

/** POST /v1/projects. */
export function useCreateProject() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { workspace_id: string; name: string }) =>
      unwrap(client.POST("/v1/projects", { body })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: meKey }),
  });
}

/** PATCH /v1/projects/{project_id}. */
export function useUpdateProject(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string }) =>
      unwrap(
        client.PATCH("/v1/projects/{project_id}", { params: { path: { project_id: projectId } }, body }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: meKey }),
  });
}

const limitsKey = (projectId: string) => ["limits", projectId] as const;

/** GET /v1/projects/{project_id}/limits: the project's own, where they differ from the configuration of ingest. */
export function useProjectLimits(projectId: string) {
  return useQuery({
    queryKey: limitsKey(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/limits", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** PUT /v1/projects/{project_id}/limits: replaces them all. */
export function useSetProjectLimits(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ProjectLimits) =>
      unwrap(
        client.PUT("/v1/projects/{project_id}/limits", { params: { path: { project_id: projectId } }, body }),
      ),
    onSuccess: (limits) => queryClient.setQueryData(limitsKey(projectId), limits),
  });
}
