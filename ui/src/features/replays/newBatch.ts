import type { ReplayBatchDraft } from "@/api/replayBatches";
import type { ReplayEdit } from "@/api/types";
import { type FormErrors, readNumber } from "@/components/formErrors";
import type { BatchRunChoice } from "@/components/replayStart";
import type { EditDraft } from "./edits";
import { emptyReplay, type NewReplay, readAttempts, type Strength } from "./newReplay";

/** A batch while it is made. Numbers are texts. */
export interface NewBatch extends NewReplay {
  maxRuns: string;
  goodRuns: string;
}

export const STRENGTHS_OF_RUN: readonly [Strength, ...Strength[]] = [
  { controls: "2", treatments: "2", label: "2 + 2 of each run" },
  { controls: "4", treatments: "4", label: "4 + 4: smaller effects" },
];

export function emptyBatch(edits: EditDraft[]): NewBatch {
  const [{ controls, treatments }] = STRENGTHS_OF_RUN;
  return { ...emptyReplay(edits), controls, treatments, maxRuns: "50", goodRuns: "20" };
}

/** The most runs of a part, and the most attempts of a role of each. */
export const MOST_RUNS = 200;
export const MOST_ATTEMPTS_OF_RUN = 20;

/** The request of a batch. Null while something is wrong, which `errors` says, those of the edits among them. */
export function batchRequest(
  projectId: string,
  runs: BatchRunChoice,
  draft: NewBatch,
  edits: readonly (ReplayEdit | null)[],
  editErrors: FormErrors,
): { body: ReplayBatchDraft | null; errors: FormErrors } {
  const errors: FormErrors = { ...editErrors };
  if (edits.length === 0) errors["body.edits"] = "Add an edit.";
  const count = (at: string, text: string, min: number) =>
    readNumber(
      errors,
      at,
      text,
      (n) => Number.isInteger(n) && n >= min && n <= MOST_RUNS,
      `A whole number from ${min} to ${MOST_RUNS}.`,
    );
  const maxRuns = "run_filter" in runs ? count("body.max_runs", draft.maxRuns, 1) : undefined;
  const goodRuns = count("body.good_runs", draft.goodRuns, 0);
  const attempts = readAttempts(projectId, draft, edits, errors, MOST_ATTEMPTS_OF_RUN);
  if (!attempts) return { body: null, errors };
  const body: ReplayBatchDraft = {
    ...runs,
    ...attempts,
    ...(maxRuns !== undefined && { max_runs: maxRuns }),
    ...(goodRuns !== undefined && { good_runs: goodRuns }),
  };
  return { body, errors };
}
