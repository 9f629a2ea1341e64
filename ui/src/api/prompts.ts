import {
  keepPreviousData,
  useInfiniteQuery,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { answerOf, client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { nextOffset, useListPages } from "./paging";
import { errorFromResponse } from "./problem";
import { keys } from "./queryKeys";
import type {
  Prompt,
  PromptCreate,
  PromptDraft,
  PromptImport,
  PromptSelection,
  PromptUpdate,
  PromptVersion,
  PromptVersionCreate,
  TimeWindow,
} from "./types";

const PAGE = 100;

/** GET /v1/prompts, page by page, sorted by name. The first page has the folders. */
export function usePrompts(projectId: string, selection: PromptSelection) {
  return useListPages(keys.prompts.list(projectId, selection), (offset, signal) =>
    unwrap(
      client.GET("/v1/prompts", {
        params: { query: { project_id: projectId, ...selection, limit: PAGE, offset } },
        signal,
      }),
    ),
  );
}

/** GET /v1/prompts: the prompt with a name, or null. An empty name has no request. */
export function usePromptNamed(projectId: string, name: string) {
  return useQuery({
    queryKey: keys.prompts.named(projectId, name),
    queryFn: async ({ signal }): Promise<Prompt | null> => {
      const page = await unwrap(
        client.GET("/v1/prompts", { params: { query: { project_id: projectId, name } }, signal }),
      );
      return page.data[0] ?? null;
    },
    enabled: name !== "",
  });
}

/** GET /v1/prompts/{prompt_id}. */
export function usePrompt(promptId: string) {
  return useQuery({
    queryKey: keys.prompt.detail(promptId),
    queryFn: ({ signal }) =>
      unwrap(client.GET("/v1/prompts/{prompt_id}", { params: { path: { prompt_id: promptId } }, signal })),
  });
}

/** POST /v1/prompts. */
export function useCreatePrompt(projectId: string) {
  return useInvalidatingMutation(keys.prompts.all(projectId), (body: Omit<PromptCreate, "project_id">) =>
    unwrap(client.POST("/v1/prompts", { body: { ...body, project_id: projectId } })),
  );
}

/** PATCH /v1/prompts/{prompt_id}. */
export function useUpdatePrompt({ id, project_id }: Prompt) {
  return useInvalidatingMutation(
    { all: [keys.prompts.all(project_id), keys.prompt.detail(id)] },
    (body: PromptUpdate) =>
      unwrap(client.PATCH("/v1/prompts/{prompt_id}", { params: { path: { prompt_id: id } }, body })),
  );
}

/** DELETE /v1/prompts/{prompt_id}. */
export function useDeletePrompt({ id, project_id }: Prompt) {
  return useInvalidatingMutation(keys.prompts.all(project_id), () =>
    unwrap(client.DELETE("/v1/prompts/{prompt_id}", { params: { path: { prompt_id: id } } })),
  );
}

/** GET /v1/prompts/{prompt_id}/versions, page by page, the newest first. */
export function usePromptVersions(promptId: string) {
  return useInfiniteQuery({
    queryKey: keys.prompt.versions(promptId),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/prompts/{prompt_id}/versions", {
          params: { path: { prompt_id: promptId }, query: { limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
  });
}

/** GET /v1/prompts/{prompt_id}/versions/{version}. Null has no request. */
export function usePromptVersion(promptId: string, version: number | null) {
  return useQuery({
    queryKey: keys.prompt.version(promptId, version),
    queryFn: ({ signal }) => fetchVersion(promptId, version ?? 0, signal),
    enabled: version !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Several versions of prompts, each as soon as it is loaded. */
export function usePromptVersionsOf(versions: readonly { id: string; version: number }[]) {
  return useQueries({
    queries: versions.map(({ id, version }) => ({
      queryKey: keys.prompt.version(id, version),
      queryFn: ({ signal }: { signal: AbortSignal }) => fetchVersion(id, version, signal),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: combined,
  });
}

function combined(results: { data?: PromptVersion; error: Error | null }[]) {
  return {
    versions: results.flatMap(({ data }) => (data ? [data] : [])),
    error: results.find(({ error }) => error !== null)?.error ?? null,
  };
}

/** Loads a version of a prompt, if it isn't already. */
export function useLoadVersion() {
  const queryClient = useQueryClient();
  return ({ id, version }: { id: string; version: number }): Promise<PromptVersion> =>
    queryClient.fetchQuery({
      queryKey: keys.prompt.version(id, version),
      queryFn: ({ signal }) => fetchVersion(id, version, signal),
      staleTime: Number.POSITIVE_INFINITY,
    });
}

/** GET /v1/prompts/{prompt_id}/versions/{version}. */
export function fetchVersion(promptId: string, version: number, signal?: AbortSignal) {
  return unwrap(
    client.GET("/v1/prompts/{prompt_id}/versions/{version}", {
      params: { path: { prompt_id: promptId, version } },
      signal,
    }),
  );
}

/** POST /v1/prompts/{prompt_id}/versions. `isNew` is false if a version had the same content already. */
export function useSaveVersion({ id, project_id }: Prompt) {
  return useInvalidatingMutation(
    { all: [keys.prompts.all(project_id), keys.prompt.all(id)] },
    async (body: PromptVersionCreate) => {
      const { data, error, response } = await answerOf(
        client.POST("/v1/prompts/{prompt_id}/versions", {
          params: { path: { prompt_id: id } },
          body,
        }),
      );
      if (!data) throw errorFromResponse(response, error);
      return { version: data, isNew: response.status === 201 };
    },
  );
}

/** GET /v1/prompts/{prompt_id}/versions/{version}/diff/{other_version}. */
export function usePromptDiff(promptId: string, version: number, other: number) {
  return useQuery({
    queryKey: keys.prompt.diff(promptId, version, other),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/prompts/{prompt_id}/versions/{version}/diff/{other_version}", {
          params: { path: { prompt_id: promptId, version, other_version: other } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** GET /v1/prompts/{prompt_id}/aliases. */
export function usePromptAliases(promptId: string) {
  return useQuery({
    queryKey: keys.prompt.aliases(promptId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/prompts/{prompt_id}/aliases", { params: { path: { prompt_id: promptId } }, signal }),
      ),
  });
}

/** The ETag of an alias that never existed. */
export const NO_ALIAS = '"0"';

interface AliasMove {
  alias: string;
  version: number;
  /** Of the alias that the user saw. */
  etag: string;
}

/** POST /v1/prompts/{prompt_id}/aliases: creates or moves an alias, if nobody else has meanwhile. */
export function useMoveAlias({ id, project_id }: Prompt) {
  return useInvalidatingMutation(
    { all: [keys.prompts.all(project_id), keys.prompt.all(id)] },
    ({ etag, ...body }: AliasMove) =>
      unwrap(
        client.POST("/v1/prompts/{prompt_id}/aliases", {
          params: { path: { prompt_id: id }, header: { "If-Match": etag } },
          body,
        }),
      ),
  );
}

/** PATCH /v1/prompts/{prompt_id}/aliases/{alias}. */
export function useProtectAlias({ id, project_id }: Prompt) {
  return useInvalidatingMutation(
    { all: [keys.prompts.all(project_id), keys.prompt.all(id)] },
    ({ alias, etag, ...body }: { alias: string; etag: string; protected: boolean }) =>
      unwrap(
        client.PATCH("/v1/prompts/{prompt_id}/aliases/{alias}", {
          params: { path: { prompt_id: id, alias }, header: { "If-Match": etag } },
          body,
        }),
      ),
  );
}

/** DELETE /v1/prompts/{prompt_id}/aliases/{alias}. */
export function useDeleteAlias({ id, project_id }: Prompt) {
  return useInvalidatingMutation(
    { all: [keys.prompts.all(project_id), keys.prompt.all(id)] },
    ({ alias, etag }: { alias: string; etag: string }) =>
      unwrap(
        client.DELETE("/v1/prompts/{prompt_id}/aliases/{alias}", {
          params: { path: { prompt_id: id, alias }, header: { "If-Match": etag } },
        }),
      ),
  );
}

/** GET /v1/prompts/{prompt_id}/aliases/{alias}/history, page by page, the newest first. */
export function useAliasHistory(promptId: string, alias: string) {
  return useInfiniteQuery({
    queryKey: keys.prompt.aliasHistory(promptId, alias),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/prompts/{prompt_id}/aliases/{alias}/history", {
          params: { path: { prompt_id: promptId, alias }, query: { limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
  });
}

/** GET /v1/prompts/{prompt_id}/usage. */
export function usePromptUsage(promptId: string, window: TimeWindow) {
  return useQuery({
    queryKey: keys.prompt.usage(promptId, window),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/prompts/{prompt_id}/usage", {
          params: { path: { prompt_id: promptId }, query: window },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** POST /v1/prompts/_actions/render: checks, renders and counts a draft. Null has no request. */
export function useRenderedDraft(draft: PromptDraft | null) {
  return useQuery({
    queryKey: keys.prompts.rendered(draft ?? { project_id: "", version: { messages: [] } }),
    queryFn: ({ signal }) =>
      unwrap(
        client.POST("/v1/prompts/_actions/render", {
          body: draft ?? { project_id: "", version: { messages: [] } },
          signal,
        }),
      ),
    enabled: draft !== null,
    retry: false,
    gcTime: 60_000,
    placeholderData: keepPreviousData,
  });
}

/** POST /v1/prompts/_actions/import. */
export function useImportPrompts(projectId: string) {
  return useInvalidatingMutation(keys.prompts.all(projectId), (body: Omit<PromptImport, "project_id">) =>
    unwrap(client.POST("/v1/prompts/_actions/import", { body: { ...body, project_id: projectId } })),
  );
}
