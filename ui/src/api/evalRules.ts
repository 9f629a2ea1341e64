import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, unwrap, unwrapExact } from "./client";
import { useDraftQuery } from "./draftQuery";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { ITEMS_PAGE, useListPages } from "./paging";
import { keys } from "./queryKeys";
import type {
  EvalRule,
  EvalRuleCreate,
  EvalRulePreview,
  EvalRuleRunSelection,
  EvalRuleStatus,
  EvalRuleUpdate,
} from "./types";

const PAGE = 50;
/** How often rules that score runs are read, in ms. Nothing is read while the page is hidden. */
const POLL = 5_000;

/** Whether something may change by itself: an active rule takes runs, and runs that wait are tried again. */
export function isAtWork({ status, today }: Pick<EvalRule, "status" | "today">): boolean {
  return status === "active" || today.pending > 0;
}

/** GET /v1/eval-rules, page by page, by name. It is read again while one of them is at work. */
export function useEvalRules(projectId: string, status: EvalRuleStatus | undefined) {
  return useListPages(
    keys.rules.list(projectId, status),
    (offset, signal) =>
      unwrap(
        client.GET("/v1/eval-rules", {
          params: { query: { project_id: projectId, status, limit: PAGE, offset } },
          signal,
        }),
      ),
    { isOpen: isAtWork, every: 2 * POLL },
  );
}

/** GET /v1/eval-rules/{eval_rule_id}, again and again while it is at work. */
export function useEvalRule(ruleId: string) {
  return useQuery({
    queryKey: keys.rule.detail(ruleId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/eval-rules/{eval_rule_id}", { params: { path: { eval_rule_id: ruleId } }, signal }),
      ),
    refetchInterval: ({ state }) =>
      state.data === undefined || !isAtWork(state.data) || state.error ? false : POLL,
  });
}

/** GET /v1/eval-rules/{eval_rule_id}/runs: one page, the newest first. `live` reads it again and again. */
export function useEvalRuleRuns(
  ruleId: string,
  selection: EvalRuleRunSelection,
  offset: number,
  live: boolean,
) {
  return useQuery({
    queryKey: keys.rule.runs(ruleId, selection, offset),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/eval-rules/{eval_rule_id}/runs", {
          params: {
            path: { eval_rule_id: ruleId },
            query: { ...selection, limit: ITEMS_PAGE, offset },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: live ? POLL : false,
  });
}

/** A rule to make, without what the API adds. */
export type EvalRuleDraft = Omit<EvalRuleCreate, "allow_unpriced" | "group_by"> &
  Partial<Pick<EvalRuleCreate, "allow_unpriced" | "group_by">>;

/** POST /v1/eval-rules/_actions/preview. It calls no model. Null has no request. */
export function useEvalRulePreview(draft: EvalRuleDraft | null) {
  return useDraftQuery(keys.rules.preview(draft), draft, (draft, signal) =>
    unwrapExact<EvalRulePreview>(
      client.POST("/v1/eval-rules/_actions/preview", {
        body: draft as EvalRuleCreate,
        bodySerializer: (value) => writeJson(value),
        parseAs: "text",
        signal,
      }),
    ),
  );
}

/** POST /v1/eval-rules. */
export function useCreateEvalRule(projectId: string) {
  return useInvalidatingMutation(keys.rules.all(projectId), (draft: EvalRuleDraft) =>
    unwrap(
      client.POST("/v1/eval-rules", {
        body: draft as EvalRuleCreate,
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

type Known = Pick<EvalRule, "id" | "project_id">;

function useRuleMutation<Input, Result>(
  { id, project_id }: Known,
  mutationFn: (input: Input) => Promise<Result>,
) {
  return useInvalidatingMutation({ all: [keys.rules.all(project_id), keys.rule.all(id)] }, mutationFn);
}

/** PATCH /v1/eval-rules/{eval_rule_id}. */
export function useUpdateEvalRule(rule: Known) {
  return useRuleMutation(rule, (body: Partial<EvalRuleUpdate>) =>
    unwrap(
      client.PATCH("/v1/eval-rules/{eval_rule_id}", {
        params: { path: { eval_rule_id: rule.id } },
        body: body as EvalRuleUpdate,
        bodySerializer: (value) => writeJson(value),
      }),
    ),
  );
}

/** POST /v1/eval-rules/{eval_rule_id}/_actions/pause. */
export function usePauseEvalRule(rule: Known) {
  return useRuleMutation(rule, () =>
    unwrap(
      client.POST("/v1/eval-rules/{eval_rule_id}/_actions/pause", {
        params: { path: { eval_rule_id: rule.id } },
      }),
    ),
  );
}

/** POST /v1/eval-rules/{eval_rule_id}/_actions/resume. */
export function useResumeEvalRule(rule: Known) {
  return useRuleMutation(rule, (catchUp: boolean) =>
    unwrap(
      client.POST("/v1/eval-rules/{eval_rule_id}/_actions/resume", {
        params: { path: { eval_rule_id: rule.id } },
        body: { catch_up: catchUp },
      }),
    ),
  );
}

/** DELETE /v1/eval-rules/{eval_rule_id}. */
export function useDeleteEvalRule({ id, project_id }: Known) {
  return useInvalidatingMutation(keys.rules.all(project_id), () =>
    unwrap(client.DELETE("/v1/eval-rules/{eval_rule_id}", { params: { path: { eval_rule_id: id } } })),
  );
}
