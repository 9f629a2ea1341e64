import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { ApiError } from "./problem";
import { keys } from "./queryKeys";
import { forgetSessionSecret } from "./session";
import type { Me, ProjectFailedScores, ProjectLimits, ProjectSignals } from "./types";

/** GET /v1/setup: whether the first user exists. */
export function useSetupState() {
  return useQuery({
    queryKey: keys.session.setup,
    queryFn: ({ signal }) => unwrap(client.GET("/v1/setup", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** GET /v1/me: the caller, or null without a session. */
export function useMe() {
  return useQuery({
    queryKey: keys.session.me,
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
    mutationFn: (body: { email: string; password: string; org_name: string; setup_token?: string }) =>
      unwrap(client.POST("/v1/setup", { body })),
    onSuccess: (me) => {
      queryClient.setQueryData(keys.session.setup, { bootstrapped: true });
      queryClient.setQueryData(keys.session.me, me);
    },
  });
}

/** POST /v1/login. */
export function useLogin() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { email: string; password: string }) => unwrap(client.POST("/v1/login", { body })),
    onSuccess: (me) => startSession(queryClient, me),
  });
}

/** Replaces everything cached for an earlier session by the caller of a new one. */
export function startSession(queryClient: QueryClient, me: Me): void {
  removeSessionData(queryClient);
  queryClient.setQueryData(keys.session.me, me);
}

function removeSessionData(queryClient: QueryClient): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.session.all[0] });
}

/** POST /v1/logout. Clears everything cached for the session. */
export function useLogout() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(client.POST("/v1/logout")),
    onSuccess: async () => {
      forgetSessionSecret();
      // A response that arrives later would restore the session.
      await queryClient.cancelQueries();
      // Gate observes this query: update it instead of removing it.
      queryClient.setQueryData(keys.session.me, null);
      removeSessionData(queryClient);
      // Mutations contain passwords and new keys.
      queryClient.getMutationCache().clear();
    },
  });
}

/** POST /v1/projects. */
export function useCreateProject() {
  return useInvalidatingMutation(keys.session.me, (body: { workspace_id: string; name: string }) =>
    unwrap(client.POST("/v1/projects", { body })),
  );
}

/** POST /v1/samples. It waits a moment for the runs, which appear soon after the answer, until no more of them do. */
export function useLoadSamples() {
  return useInvalidatingMutation(keys.session.me, async (workspaceId: string) => {
    const project = await unwrap(client.POST("/v1/samples", { body: { workspace_id: workspaceId } }));
    let before = 0;
    for (let attempt = 0; attempt < SAMPLE_ATTEMPTS; attempt++) {
      const query = { project_id: project.id, limit: 200 };
      const { length } = (await unwrap(client.GET("/v1/runs", { params: { query } }))).data;
      if (length > 0 && length === before) break;
      before = length;
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_PAUSE_MS));
    }
    return project;
  });
}

const SAMPLE_ATTEMPTS = 20;
const SAMPLE_PAUSE_MS = 250;

/** PATCH /v1/projects/{project_id}. */
export function useUpdateProject(projectId: string) {
  return useInvalidatingMutation(keys.session.me, (body: { name: string }) =>
    unwrap(client.PATCH("/v1/projects/{project_id}", { params: { path: { project_id: projectId } }, body })),
  );
}

/** GET /v1/projects/{project_id}/limits: the limits that override the configured ones. */
export function useProjectLimits(projectId: string) {
  return useQuery({
    queryKey: keys.limits(projectId),
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
    onSuccess: (limits) => queryClient.setQueryData(keys.limits(projectId), limits),
  });
}

/** GET /v1/projects/{project_id}/failed-scores: which scores fail the project's runs. */
export function useFailedScores(projectId: string) {
  return useQuery({
    queryKey: keys.failedScores(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/failed-scores", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** PUT /v1/projects/{project_id}/failed-scores: replaces them all. What failed is read anew. */
export function useSetFailedScores(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ProjectFailedScores) =>
      unwrap(
        client.PUT("/v1/projects/{project_id}/failed-scores", {
          params: { path: { project_id: projectId } },
          body,
        }),
      ),
    onSuccess: async (scores) => {
      queryClient.setQueryData(keys.failedScores(projectId), scores);
      await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "failedScores" });
    },
  });
}

/** GET /v1/projects/{project_id}/signals: which signals are off. */
export function useProjectSignals(projectId: string) {
  return useQuery({
    queryKey: keys.signals(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/projects/{project_id}/signals", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
  });
}

/** PUT /v1/projects/{project_id}/signals: replaces which are off. Runs and their groups are read anew. */
export function useSetProjectSignals(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ProjectSignals) =>
      unwrap(
        client.PUT("/v1/projects/{project_id}/signals", {
          params: { path: { project_id: projectId } },
          body,
        }),
      ),
    onSuccess: async (signals) => {
      queryClient.setQueryData(keys.signals(projectId), signals);
      await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "signals" });
    },
  });
}
