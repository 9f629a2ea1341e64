import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Finding, FindingCreate, FindingPromote, FindingSelection, FindingUpdate } from "./types";

/** More findings than a page shows. */
const MOST = 200;
/** How often findings are read whose batch runs, in ms. */
const POLL = 5_000;

function findingsQuery(projectId: string, selection: FindingSelection) {
  return queryOptions({
    queryKey: keys.findings.list(projectId, selection),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/findings", {
          params: { query: { project_id: projectId, ...selection, limit: MOST } },
          signal,
        }),
      ),
  });
}

/** GET /v1/findings: confirmed ones first. They are read again while a batch of theirs runs. */
export function useFindings(projectId: string, selection: FindingSelection, enabled = true) {
  return useQuery({
    ...findingsQuery(projectId, selection),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.data.some(({ batch }) => batch?.status === "queued" || batch?.status === "running")
        ? POLL
        : false,
  });
}

/** GET /v1/findings of groups of failed runs, once for each page of them. */
export function useFindingsOfGroups(projectId: string, pages: readonly (readonly string[])[]): Finding[] {
  return useQueries({
    queries: pages
      .filter((fingerprints) => fingerprints.length > 0)
      .map((fingerprints) => findingsQuery(projectId, { fingerprint: [...fingerprints] })),
    combine: (results) => results.flatMap(({ data }) => data?.data ?? []),
  });
}

/** POST /v1/findings. */
export function useCreateFinding(projectId: string) {
  return useInvalidatingMutation(keys.findings.all(projectId), (body: FindingCreate) =>
    unwrap(client.POST("/v1/findings", { body, bodySerializer: writeJson })),
  );
}

/** PATCH /v1/findings/{finding_id}. The findings are read again after a refusal, too: somebody else may have changed this one. */
export function useUpdateFinding({ id, project_id, revision }: Finding) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (change: FindingUpdate) =>
      unwrap(
        client.PATCH("/v1/findings/{finding_id}", {
          params: { path: { finding_id: id } },
          body: { ...change, base_revision: revision },
        }),
      ),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.findings.all(project_id) }),
  });
}

/** DELETE /v1/findings/{finding_id}. */
export function useDeleteFinding({ id, project_id }: Finding) {
  return useInvalidatingMutation(keys.findings.all(project_id), () =>
    unwrap(client.DELETE("/v1/findings/{finding_id}", { params: { path: { finding_id: id } } })),
  );
}

/** What a finding is to become. */
export type PromotionDraft = Omit<FindingPromote, "plan">;

function promote(id: string, body: FindingPromote, signal?: AbortSignal) {
  return unwrap(
    client.POST("/v1/findings/{finding_id}/_actions/promote", {
      params: { path: { finding_id: id } },
      body,
      signal,
    }),
  );
}

/** POST /v1/findings/{finding_id}/_actions/promote with plan: what it would do. Null asks nothing. */
export function usePromotionPlan({ id, project_id }: Finding, body: PromotionDraft | null) {
  return useQuery({
    queryKey: keys.findings.plan(project_id, id, body),
    queryFn: ({ signal }) => promote(id, { ...body, plan: true }, signal),
    enabled: body !== null,
    retry: false,
  });
}

/** POST /v1/findings/{finding_id}/_actions/promote. */
export function usePromoteFinding({ id, project_id }: Finding) {
  return useInvalidatingMutation(
    { all: [keys.findings.all(project_id), keys.prompts.all(project_id), keys.datasets.all(project_id)] },
    (body: PromotionDraft) => promote(id, { ...body, plan: false }),
  );
}
