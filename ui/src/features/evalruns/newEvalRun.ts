import type { EvalRunDraft } from "@/api/evalRunJobs";
import type { Dataset, EvalRun, ReadyMadeJudge } from "@/api/types";
import {
  type ConfigurationDraft,
  configFrom,
  configOf,
  configurationDraft,
  emptyConfiguration,
  type ReadyConfiguration,
} from "@/components/configuration/configurationDraft";
import {
  type EvaluationDraft,
  emptyEvaluation,
  evaluationRequest,
  likeEvaluation,
} from "@/components/evaluation/evaluationDraft";
import { runFilterOf } from "@/components/filters/runFilter";
import { type FormErrors, readNumber } from "@/components/formErrors";

/** Where outputs come from. */
export type TargetType = "config" | "reference" | "eval_run" | "runs" | "external";

export const TARGETS: Record<TargetType, { label: string; description: string }> = {
  config: { label: "A prompt or model", description: "A model answers each item of the dataset." },
  eval_run: {
    label: "Outputs of an eval-run",
    description: "Judges the outputs of another eval-run of the dataset again. No model answers.",
  },
  reference: {
    label: "Reference outputs",
    description: "Judges the reference outputs. If they score badly, don't trust the judges, or the dataset.",
  },
  runs: {
    label: "Recorded runs",
    description: "Runs of your application become items of the dataset, and what they answered is judged.",
  },
  external: {
    label: "Your own program",
    description: "Your program runs its agent and sends the answers.",
  },
};

/** An eval-run while it is edited. */
export interface NewEvalRun extends EvaluationDraft {
  target: TargetType;
  config: ConfigurationDraft;
  /** The eval-run whose outputs are judged; empty for none. */
  source: string;
  /** Only its outputs with a label of a person. */
  labelled: boolean;
  /** The filter of recorded runs, as the parameters of an address. */
  runs: string;
  /** Local times, as an input has them; empty for none. */
  from: string;
  to: string;
  maxRuns: string;
  /** The eval-run whose outputs are judged again; empty for none. */
}

export function emptyEvalRun(): NewEvalRun {
  return {
    ...emptyEvaluation(),
    target: "config",
    config: emptyConfiguration(),
    source: "",
    labelled: false,
    runs: "",
    from: "",
    to: "",
    maxRuns: "100",
  };
}

/** An eval-run like one that is there. What your own program sent can't be made here, so its outputs are judged again. */
export function likeEvalRun(
  run: EvalRun,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[],
): NewEvalRun {
  const { target } = run;
  if (target.type === "external") return judgeAgain(run, dataset, catalog);
  return {
    ...common(run, dataset, catalog),
    target: target.type,
    config: target.config ? configurationDraft(configOf(target.config)) : emptyConfiguration(),
    source: target.eval_run_id ?? "",
    labelled: target.labelled,
    runs: target.run_filter ?? "",
    from: localTime(target.from),
    to: localTime(target.to),
    maxRuns: target.max_runs === null ? "100" : String(target.max_runs),
    repeats: String(run.repeats),
  };
}

/** An eval-run that judges the outputs of one that is there. */
export function judgeAgain(
  run: EvalRun,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[],
): NewEvalRun {
  return { ...common(run, dataset, catalog), target: "eval_run", source: run.id };
}

function common(run: EvalRun, dataset: Dataset | null, catalog: readonly ReadyMadeJudge[]): NewEvalRun {
  return {
    ...emptyEvalRun(),
    ...likeEvaluation(run, dataset, catalog),
    name: run.name,
  };
}

/** A time as an input of local times has it: "2026-11-26T09:15". */
function localTime(time: string | null): string {
  if (time === null) return "";
  const date = new Date(time);
  const pad = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** The request of an eval-run. Null while something is missing, which `errors` says, and for what another program sends. */
export function evalRunRequest(
  projectId: string,
  draft: NewEvalRun,
  config: ReadyConfiguration,
): { body: EvalRunDraft | null; errors: FormErrors } {
  const errors: FormErrors = {};
  if (draft.name.trim() === "") errors["body.name"] = "Enter a name.";
  const { body: shared, repeats } = evaluationRequest(projectId, draft, errors);
  const target = readTarget(draft, config, errors);
  if (target === null || Object.keys(errors).length > 0) return { body: null, errors };
  const body: EvalRunDraft = {
    ...shared,
    name: draft.name.trim(),
    target,
    ...(draft.target === "config" && { repeats }),
  };
  return { body, errors };
}

function readTarget(
  draft: NewEvalRun,
  config: ReadyConfiguration,
  errors: FormErrors,
): EvalRunDraft["target"] | null {
  switch (draft.target) {
    case "config":
      return { config: configFrom("body.target.config", config, errors) };
    case "reference":
      return { outputs: "reference" };
    case "eval_run":
      if (draft.source === "") errors["body.target.eval_run_id"] = "Choose an eval-run.";
      return { eval_run_id: draft.source, ...(draft.labelled && { labelled: true }) };
    case "runs":
      return readRuns(draft, errors);
    case "external":
      return null;
  }
}

function readRuns(draft: NewEvalRun, errors: FormErrors): EvalRunDraft["target"] {
  const from = draft.from === "" ? undefined : new Date(draft.from);
  const to = draft.to === "" ? undefined : new Date(draft.to);
  if (from && to && from >= to) errors["body.target.to"] = "It must be after the start.";
  const most = readNumber(
    errors,
    "body.target.max_runs",
    draft.maxRuns,
    (n) => Number.isInteger(n) && n >= 1 && n <= 10_000,
    "A whole number from 1 to 10,000.",
  );
  return {
    run_filter: runFilterOf(draft.runs),
    ...(from && { from: from.toISOString() }),
    ...(to && { to: to.toISOString() }),
    ...(most !== undefined && { max_runs: most }),
  };
}
