import { useMutation, useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useInvalidatingMutation } from "./mutation";
import { keys } from "./queryKeys";
import type { Diagnosis, DiagnosisCreate } from "./types";

/** How many diagnoses of a group are read. */
const PAGE = 5;
/** How often one that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 2_000;

/** A diagnosis to start or to plan. */
export type DiagnosisDraft = Omit<DiagnosisCreate, "plan" | "allow_unpriced"> & { allow_unpriced?: boolean };

/** Whether a diagnosis waits or runs. */
export function isDiagnosisOpen({ status }: Pick<Diagnosis, "status">): boolean {
  return status === "queued" || status === "running";
}

/** GET /v1/diagnoses of a group, the newest first. It is read again while one of them runs. */
export function useDiagnosesOf(projectId: string, fingerprint: string, isEnabled: boolean) {
  return useQuery({
    queryKey: keys.diagnoses.ofGroup(projectId, fingerprint),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/diagnoses", {
          params: { query: { project_id: projectId, fingerprint, limit: PAGE } },
          signal,
        }),
      ),
    enabled: isEnabled,
    refetchInterval: ({ state: { data } }) => (data?.data.some(isDiagnosisOpen) ? POLL : false),
  });
}

/** GET /v1/diagnoses/{diagnosis_id}, again and again while it runs. */
export function useDiagnosis(projectId: string, diagnosisId: string) {
  return useQuery({
    queryKey: keys.diagnoses.detail(projectId, diagnosisId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/diagnoses/{diagnosis_id}", {
          params: { path: { diagnosis_id: diagnosisId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) =>
      state.data === undefined || !isDiagnosisOpen(state.data) || state.error ? false : POLL,
  });
}

/** POST /v1/diagnoses with `plan`: what would be sent, and what it would cost. Nothing is stored or called. */
export function usePlanDiagnosis() {
  return useMutation({
    mutationFn: async (draft: DiagnosisDraft) => {
      const plan = await unwrap(
        client.POST("/v1/diagnoses", { body: { allow_unpriced: false, ...draft, plan: true } }),
      );
      if (!("priced" in plan)) throw new Error("The server asked the model instead of planning it.");
      return plan;
    },
  });
}

/** POST /v1/diagnoses. */
export function useCreateDiagnosis(projectId: string) {
  return useInvalidatingMutation(keys.diagnoses.all(projectId), async (draft: DiagnosisDraft) => {
    const diagnosis = await unwrap(
      client.POST("/v1/diagnoses", { body: { allow_unpriced: false, ...draft, plan: false } }),
    );
    if (!("result" in diagnosis)) throw new Error("The server planned the diagnosis instead of starting it.");
    return diagnosis;
  });
}

type Known = Pick<Diagnosis, "id" | "project_id">;

/** POST /v1/diagnoses/{diagnosis_id}/_actions/cancel. */
export function useCancelDiagnosis({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.diagnoses.all(project_id), () =>
    unwrap(
      client.POST("/v1/diagnoses/{diagnosis_id}/_actions/cancel", { params: { path: { diagnosis_id: id } } }),
    ),
  );
}

/** DELETE /v1/diagnoses/{diagnosis_id}. The recorded run of its call stays. */
export function useDeleteDiagnosis({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.diagnoses.all(project_id), () =>
    unwrap(client.DELETE("/v1/diagnoses/{diagnosis_id}", { params: { path: { diagnosis_id: id } } })),
  );
}
