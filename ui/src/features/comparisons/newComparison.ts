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
import {
  type EvaluationDraft,
  emptyEvaluation,
  evaluationRequest,
  likeEvaluation,
} from "@/components/evaluation/evaluationDraft";
import { type FormErrors, readNumber } from "@/components/formErrors";

/** A comparison while it is edited. */
export interface NewComparison extends EvaluationDraft {
  a: ConfigurationDraft;
  b: ConfigurationDraft;
  /** In points. */
  margin: string;
  stopEarly: boolean;
}

export function emptyComparison(): NewComparison {
  return {
    ...emptyEvaluation(),
    a: emptyConfiguration(),
    b: emptyConfiguration(),
    margin: "",
    stopEarly: false,
  };
}

/** A comparison like one that is there. */
export function likeComparison(
  comparison: Comparison,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[] = [],
): NewComparison {
  return {
    ...likeEvaluation(comparison, dataset, catalog),
    a: configurationDraft(configOf(comparison.a)),
    b: configurationDraft(configOf(comparison.b)),
    repeats: String(comparison.repeats),
    margin:
      comparison.equivalence_margin === null
        ? ""
        : String(Number((comparison.equivalence_margin * 100).toPrecision(12))),
    stopEarly: comparison.stop_early,
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
  const { body: shared, repeats } = evaluationRequest(projectId, draft, errors);
  const margin = readNumber(
    errors,
    "body.equivalence_margin",
    draft.margin,
    (n) => n >= 0.01 && n <= 100,
    "A number of points from 0.01 to 100.",
  );
  if (draft.stopEarly && draft.graders.length + draft.panels.length === 0)
    errors["body.stop_early"] = "This needs a grader or judges that decide.";
  if (!a || !b || Object.keys(errors).length > 0) return { body: null, errors };
  const body: ComparisonDraft = {
    ...shared,
    ...(draft.name.trim() !== "" && { name: draft.name.trim() }),
    a,
    b,
    repeats,
    ...(margin !== undefined && { equivalence_margin: margin / 100 }),
    stop_early: draft.stopEarly,
  };
  return { body, errors };
}
