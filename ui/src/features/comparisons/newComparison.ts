import type { ComparisonDraft } from "@/api/comparisons";
import type { Comparison, Dataset, ReadyMadeJudge } from "@/api/types";
import {
  type ConfigurationDraft,
  configFrom,
  configOf,
  configurationDraft,
  emptyConfiguration,
  type ReadyConfiguration,
} from "@/components/configuration/configurationDraft";
import { setWithout } from "@/components/evalRunStart";
import { type FormErrors, readNumber } from "@/components/formErrors";
import { type GraderDraft, graderDraft, readGraders } from "@/components/graders/graderDraft";
import { likePanels, type PanelDraft } from "@/components/panels/panelDraft";
import { readPanels } from "@/components/panels/readPanels";

/** A comparison while it is edited. Numbers are texts. */
export interface NewComparison {
  name: string;
  dataset: Dataset | null;
  /** Empty for the newest. */
  revision: string;
  split: string;
  /** The path in an item by whose value items belong together; empty if each is on its own. */
  groupBy: string;
  a: ConfigurationDraft;
  b: ConfigurationDraft;
  repeats: string;
  graders: GraderDraft[];
  panels: PanelDraft[];
  /** Empty for the first panel, else the first grader. */
  primary: string;
  /** In points. */
  margin: string;
  stopEarly: boolean;
  /** Dollars; empty for none. */
  maxCost: string;
  allowUnpriced: boolean;
  skipIncompatible: boolean;
}

export function emptyComparison(): NewComparison {
  return {
    name: "",
    dataset: null,
    revision: "",
    split: "",
    groupBy: "",
    a: emptyConfiguration(),
    b: emptyConfiguration(),
    repeats: "1",
    graders: [],
    panels: [],
    primary: "",
    margin: "",
    stopEarly: false,
    maxCost: "",
    allowUnpriced: false,
    skipIncompatible: false,
  };
}

/** A comparison like one that is there. */
export function likeComparison(
  comparison: Comparison,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[] = [],
): NewComparison {
  return {
    ...emptyComparison(),
    dataset,
    revision: String(comparison.dataset.revision),
    split: comparison.dataset.split ?? "",
    groupBy: comparison.group_by ?? "",
    a: configurationDraft(configOf(comparison.a)),
    b: configurationDraft(configOf(comparison.b)),
    repeats: String(comparison.repeats),
    graders: comparison.graders.map(graderDraft),
    panels: likePanels(comparison.panels, catalog),
    primary: comparison.primary_metric ?? "",
    margin:
      comparison.equivalence_margin === null
        ? ""
        : String(Number((comparison.equivalence_margin * 100).toPrecision(12))),
    stopEarly: comparison.stop_early,
    maxCost: comparison.max_cost_usd === null ? "" : String(comparison.max_cost_usd),
    allowUnpriced: comparison.allow_unpriced,
    skipIncompatible: comparison.on_incompatible === "skip",
  };
}

/** The address of the form of a comparison like one that is there, without a judge. */
export function withoutPath(
  { id, project_id: projectId }: Pick<Comparison, "id" | "project_id">,
  panel: string,
  judge: string,
): string {
  const query = new URLSearchParams({ from: id });
  setWithout(query, { panel, judge });
  return `/p/${projectId}/comparisons/new?${query}`;
}

export type Side = "a" | "b";

/** The request of a comparison. Null while something is missing, which `errors` says. */
export function requestOf(
  projectId: string,
  draft: NewComparison,
  sides: Record<Side, ReadyConfiguration>,
): { body: ComparisonDraft | null; errors: FormErrors } {
  const errors: FormErrors = {};
  const a = configFrom("body.a", sides.a, errors);
  const b = configFrom("body.b", sides.b, errors);
  const { graders, names } = readGraders(draft.graders, errors);
  const panels = readPanels(draft.panels, names, errors);
  if (!draft.dataset) errors["body.dataset_id"] = "Choose a dataset.";
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
  const margin = number(
    "body.equivalence_margin",
    draft.margin,
    (n) => n >= 0.01 && n <= 100,
    "A number of points from 0.01 to 100.",
  );
  const maxCost = number("body.max_cost_usd", draft.maxCost, (n) => n > 0, "Enter an amount above 0.");
  if (draft.stopEarly && graders.length + panels.length === 0)
    errors["body.stop_early"] = "This needs a grader or judges that decide.";
  if (!a || !b || !draft.dataset || Object.keys(errors).length > 0) return { body: null, errors };
  const body: ComparisonDraft = {
    project_id: projectId,
    ...(draft.name.trim() !== "" && { name: draft.name.trim() }),
    dataset_id: draft.dataset.id,
    ...(revision !== undefined && { revision }),
    ...(draft.split.trim() !== "" && { split: draft.split.trim() }),
    ...(draft.groupBy.trim() !== "" && { group_by: draft.groupBy.trim() }),
    a,
    b,
    repeats,
    graders,
    ...(panels.length > 0 && { panels }),
    ...([...names, ...panels.map(({ name }) => name)].includes(draft.primary) && {
      primary_metric: draft.primary,
    }),
    ...(margin !== undefined && { equivalence_margin: margin / 100 }),
    stop_early: draft.stopEarly,
    on_incompatible: draft.skipIncompatible ? "skip" : "refuse",
    ...(maxCost !== undefined && { max_cost_usd: maxCost }),
    allow_unpriced: draft.allowUnpriced,
  };
  return { body, errors };
}
