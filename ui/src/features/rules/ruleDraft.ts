import type { EvalRuleDraft } from "@/api/evalRules";
import type { EvalRule, EvalRuleUpdate, ReadyMadeJudge } from "@/api/types";
import { runFilterOf } from "@/components/filters/runFilter";
import { type FormErrors, readNumber } from "@/components/formErrors";
import { type GraderDraft, graderDraft, readGraders } from "@/components/graders/graderDraft";
import { likePanels, type PanelDraft } from "@/components/panels/panelDraft";
import { readPanels } from "@/components/panels/readPanels";
import { percentOf } from "./rules";

/** A rule while it is edited. Numbers are texts. */
export interface RuleDraft {
  name: string;
  /** The filter of runs, as the parameters of an address. */
  runs: string;
  /** In percent. */
  sample: string;
  /** By what runs belong together. */
  groupBy: string;
  graders: GraderDraft[];
  panels: PanelDraft[];
  /** Dollars a day; empty for none. */
  budget: string;
  allowUnpriced: boolean;
}

/** A new rule for the runs that match a filter, without what rules can't filter by: scores, and runs of judges. */
export function emptyRule(runs: string): RuleDraft {
  const params = new URLSearchParams(runs);
  params.delete("has_score");
  if (/^(evaluation|all)$/.test(params.get("source") ?? "")) params.delete("source");
  return {
    name: "",
    runs: runFilterOf(params.toString()),
    sample: "10",
    groupBy: "session",
    graders: [],
    panels: [],
    budget: "",
    allowUnpriced: false,
  };
}

/** A rule that is there, to edit. */
export function draftOf(rule: EvalRule, catalog: readonly ReadyMadeJudge[]): RuleDraft {
  const { max_cost_usd_per_day: budget } = rule;
  return {
    name: rule.name,
    runs: rule.run_filter,
    sample: percentOf(rule.sample_rate),
    groupBy: rule.group_by,
    graders: rule.graders.map(graderDraft),
    panels: likePanels(rule.panels, catalog),
    budget: budget === null ? "" : String(budget),
    allowUnpriced: rule.allow_unpriced,
  };
}

/** The request of a rule. Null while something is missing, which `errors` says. */
export function ruleRequest(
  projectId: string,
  draft: RuleDraft,
): { body: EvalRuleDraft | null; errors: FormErrors } {
  const errors: FormErrors = {};
  const { graders, names } = readGraders(draft.graders, errors);
  const panels = readPanels(draft.panels, names, errors);
  const { rate, budget } = readNumbers(draft, errors);
  if (draft.name.trim() === "") errors["body.name"] = "Enter a name.";
  if (draft.sample.trim() === "") errors["body.sample_rate"] = "Enter a percentage.";
  if (draft.graders.length + draft.panels.length === 0)
    errors["body.graders"] = "Add a grader, or a panel of judges below.";
  if (draft.panels.length > 0 && draft.budget.trim() === "")
    errors["body.max_cost_usd_per_day"] = "Enter a daily budget for the judges.";
  if (rate === undefined || Object.keys(errors).length > 0) return { body: null, errors };
  return {
    body: {
      project_id: projectId,
      name: draft.name.trim(),
      run_filter: runFilterOf(draft.runs),
      sample_rate: rate,
      group_by: draft.groupBy.trim() || "session",
      graders,
      panels,
      ...(budget !== undefined && { max_cost_usd_per_day: budget }),
      allow_unpriced: draft.allowUnpriced,
    },
    errors,
  };
}

function readNumbers({ sample, budget }: RuleDraft, errors: FormErrors) {
  const percent = readNumber(
    errors,
    "body.sample_rate",
    sample,
    (n) => n >= 0.01 && n <= 100,
    "A number from 0.01 to 100.",
  );
  return {
    rate: percent === undefined ? undefined : Number((percent / 100).toPrecision(12)),
    budget: readNumber(
      errors,
      "body.max_cost_usd_per_day",
      budget,
      (n) => n >= 0.000001 && n <= 1_000_000,
      "Enter an amount above 0.",
    ),
  };
}

/** What is previewed while a rule isn't complete: which runs it would take. A grader that costs nothing stands for what scores them. */
export function filterPreview(projectId: string, draft: RuleDraft): EvalRuleDraft | null {
  const { rate } = readNumbers(draft, {});
  if (rate === undefined) return null;
  return {
    project_id: projectId,
    name: "preview",
    run_filter: runFilterOf(draft.runs),
    sample_rate: rate,
    graders: [{ name: "any", type: "length", min: 0 }],
  };
}

/** What differs between two requests. A budget that is gone is null. */
export function changesOf(before: EvalRuleDraft, after: EvalRuleDraft): Partial<EvalRuleUpdate> {
  const { project_id: _, ...members } = { max_cost_usd_per_day: null, ...after };
  const old: Record<string, unknown> = { max_cost_usd_per_day: null, ...before };
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name])),
  );
}

/** Whether a change counts the version of a rule up: it is of what is scored, or how. */
export function isNewVersion(changes: Partial<EvalRuleUpdate>): boolean {
  const { run_filter, group_by, graders, panels } = changes;
  return [run_filter, group_by, graders, panels].some((change) => change !== undefined);
}
