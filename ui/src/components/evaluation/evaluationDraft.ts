import type { Comparison, Dataset, EvalRun, ReadyMadeJudge } from "@/api/types";
import { type FormErrors, readNumber } from "@/components/formErrors";
import { type GraderDraft, graderDraft, readGraders } from "@/components/graders/graderDraft";
import { likePanels, type PanelDraft } from "@/components/panels/panelDraft";
import { readPanels } from "@/components/panels/readPanels";

/** What a comparison and an eval-run have in common, while it is edited. Numbers are texts. */
export interface EvaluationDraft {
  name: string;
  dataset: Dataset | null;
  /** Empty for the newest. */
  revision: string;
  split: string;
  /** The path in an item by whose value items belong together; empty if each is on its own. */
  groupBy: string;
  repeats: string;
  graders: GraderDraft[];
  panels: PanelDraft[];
  /** Empty for the first panel, else the first grader. */
  primary: string;
  /** Dollars; empty for none. */
  maxCost: string;
  allowUnpriced: boolean;
  skipIncompatible: boolean;
}

export function emptyEvaluation(): EvaluationDraft {
  return {
    name: "",
    dataset: null,
    revision: "",
    split: "",
    groupBy: "",
    repeats: "1",
    graders: [],
    panels: [],
    primary: "",
    maxCost: "",
    allowUnpriced: false,
    skipIncompatible: false,
  };
}

/** An evaluation like one that is there, with another name and one repeat. */
export function likeEvaluation(
  like: Comparison | EvalRun,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[],
): EvaluationDraft {
  return {
    ...emptyEvaluation(),
    dataset,
    revision: String(like.dataset.revision),
    split: like.dataset.split ?? "",
    groupBy: like.group_by ?? "",
    graders: like.graders.map(graderDraft),
    panels: likePanels(like.panels, catalog),
    primary: like.primary_metric ?? "",
    maxCost: like.max_cost_usd === null ? "" : String(like.max_cost_usd),
    allowUnpriced: like.allow_unpriced,
    skipIncompatible: like.on_incompatible === "skip",
  };
}

/** The members that both requests have, and the repeats. `errors` says what is wrong. */
export function evaluationRequest(projectId: string, draft: EvaluationDraft, errors: FormErrors) {
  if (!draft.dataset) errors["body.dataset_id"] = "Choose a dataset.";
  const { graders, names } = readGraders(draft.graders, errors);
  const panels = readPanels(draft.panels, names, errors);
  const number = (at: string, text: string, isValid: (value: number) => boolean, message: string) =>
    readNumber(errors, at, text, isValid, message);
  const isWhole = Number.isInteger;
  const revision = number("body.revision", draft.revision, (n) => isWhole(n) && n >= 0, "A whole number.");
  const repeats = number(
    "body.repeats",
    draft.repeats || "1",
    (n) => isWhole(n) && n >= 1 && n <= 100,
    "A whole number from 1 to 100.",
  );
  const maxCost = number("body.max_cost_usd", draft.maxCost, (n) => n > 0, "Enter an amount above 0.");
  const body = {
    project_id: projectId,
    dataset_id: draft.dataset?.id ?? "",
    ...(revision !== undefined && { revision }),
    ...(draft.split.trim() !== "" && { split: draft.split.trim() }),
    ...(draft.groupBy.trim() !== "" && { group_by: draft.groupBy.trim() }),
    graders,
    ...(panels.length > 0 && { panels }),
    ...([...names, ...panels.map(({ name }) => name)].includes(draft.primary) && {
      primary_metric: draft.primary,
    }),
    on_incompatible: draft.skipIncompatible ? ("skip" as const) : ("refuse" as const),
    ...(maxCost !== undefined && { max_cost_usd: maxCost }),
    allow_unpriced: draft.allowUnpriced,
  };
  return { body, repeats };
}
