import type { ComparisonDraft } from "@/api/comparisons";
import { isFinal } from "@/api/comparisons";
import type {
  EvalRun,
  EvalRunItem,
  EvalRunMetric,
  EvalRunSelection,
  EvaluationStatus,
  GateDecision,
  PanelCategory,
} from "@/api/types";
import { newEvalRunPath } from "@/components/evalRunStart";
import { itemsText } from "@/components/evaluation/estimate";
import { formatValue, intervalText } from "@/components/evaluation/measures";
import { STATUSES } from "@/components/evaluation/progress";
import { hasWork, type MissingWork, mayGoOn } from "@/components/evaluation/resume";
import { failedVotes } from "@/components/evaluation/votes";
import { formatCount, formatPercent } from "@/components/format";

/** The score that decides; undefined until the eval-run has ended, and without scores. */
export function primaryScore({ summary, primary_metric }: EvalRun): EvalRunMetric | undefined {
  const scores = summary?.scores.filter(({ kind }) => kind === "score") ?? [];
  return scores.find(({ name }) => name === primary_metric) ?? scores[0];
}

/** What an eval-run still has to make, and what failed. A program of yours makes the outputs of an external one. */
export function missingWork({ accounting, target }: Pick<EvalRun, "accounting" | "target">): MissingWork {
  const { outputs_pending: pending, outputs_failed: failed, votes } = accounting;
  const isOurs = target.type === "config";
  return {
    outputs: target.type === "external" ? 0 : pending,
    failedOutputs: isOurs ? failed : 0,
    votes: votes?.pending ?? 0,
    failedVotes: votes ? failedVotes(votes) : 0,
  };
}

/** Whether an eval-run that ended can be resumed. */
export function isResumable(run: Pick<EvalRun, "accounting" | "target" | "error">): boolean {
  return mayGoOn(run) && hasWork(missingWork(run));
}

/** The form of an eval-run without a judge. What a program of yours sent is judged again. */
export function withoutPath(
  run: Pick<EvalRun, "id" | "project_id" | "target">,
  panel: string,
  judge: string,
) {
  const which = run.target.type === "external" ? { outputs: run.id } : { from: run.id };
  return newEvalRunPath(run.project_id, { ...which, without: { panel, judge } });
}

/** The shares of labels, the commonest first: "formal 73 %, casual 27 %". Labels that no output has are left out. */
export function sharesText(categories: readonly PanelCategory[]): string {
  const found = categories.filter(({ outputs }) => outputs > 0).sort((x, y) => y.outputs - x.outputs);
  const named = found.slice(0, MAX_SHARES).map(({ label, share }) => `${label} ${formatPercent(share)}`);
  const more = found.length - named.length;
  return [...named, ...(more > 0 ? [`${formatCount(more)} more`] : [])].join(", ");
}

const MAX_SHARES = 3;

/** A score in one line: "correct 83.3 (70.0 to 93.3), 30 items". */
export function scoreText(metric: EvalRunMetric): string {
  if (metric.categories !== null)
    return `${metric.name}: ${sharesText(metric.categories)}, ${itemsText(metric.n)}`;
  const value = formatValue(metric.kind, metric.mean);
  const interval = intervalText(metric.ci, (one) => formatValue(metric.kind, one));
  return `${metric.name} ${value}${interval === null ? "" : ` (${interval})`}, ${itemsText(metric.n)}`;
}

/** The mean of a score over the repeats of an item; null if none has it. */
export function itemScore({ repeats }: EvalRunItem, name: string | undefined): number | null {
  const scores = repeats.flatMap(({ result }) => result.scores.filter((one) => one.name === name));
  const values = scores.flatMap(({ score }) => (score === null ? [] : [score]));
  return values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;
}

/** What a panel says of an item: the mean of its scores, or the labels of its outputs. Null for neither. */
export function itemVerdict(item: EvalRunItem, name: string | undefined): string | null {
  const mean = itemScore(item, name);
  if (mean !== null) return formatValue("score", mean);
  const labels = item.repeats.flatMap(({ result }) =>
    result.scores.flatMap((one) => (one.name === name && one.label !== null ? [one.label] : [])),
  );
  return labels.length === 0 ? null : [...new Set(labels)].join(", ");
}

/** What tells eval-runs of one name apart: "faster-triage · 0d2f9c1 · r3". */
export function originText({ branch, commit, dataset }: EvalRun): string {
  const parts = [branch, commit === null ? null : shortCommit(commit), `r${dataset.revision}`];
  return parts.filter((part) => part !== null).join(" · ");
}

/** The first characters of a hash; other names of commits stay whole. */
export function shortCommit(commit: string): string {
  return /^[0-9a-f]{12,64}$/.test(commit) ? commit.slice(0, 9) : commit;
}

/** How long it took, in ms; null while it runs. */
export function tookMs({ started_at, finished_at }: EvalRun): number | null {
  return started_at === null || finished_at === null
    ? null
    : Date.parse(finished_at) - Date.parse(started_at);
}

/** Why two eval-runs can't be compared; null if they can. */
export function whyNotComparable(a: EvalRun, b: EvalRun): string | null {
  if (a.dataset.id !== b.dataset.id) return "They are of different datasets.";
  const unready = [a, b].find((one) => !isFinal(one) || one.summary === null);
  return unready ? `“${unready.name}” has no result yet.` : null;
}

/** The comparison of two eval-runs of a dataset. A is the baseline. */
export function comparisonOf(a: EvalRun, b: EvalRun): ComparisonDraft {
  const shared = [b.primary_metric, a.primary_metric].find(
    (name) =>
      name !== null &&
      [a, b].every(({ summary }) =>
        summary?.scores.some((one) => one.name === name && one.categories === null),
      ),
  );
  return {
    project_id: b.project_id,
    dataset_id: b.dataset.id,
    a: { eval_run_id: a.id },
    b: { eval_run_id: b.id },
    ...(shared && { primary_metric: shared }),
  };
}

/** Two eval-runs, the older one first. */
export function inOrder(one: EvalRun, other: EvalRun): [EvalRun, EvalRun] {
  return Date.parse(one.created_at) <= Date.parse(other.created_at) ? [one, other] : [other, one];
}

/** The filters in an address. What it doesn't know is ignored. */
export function readSelection(params: URLSearchParams): EvalRunSelection {
  const status = params.get("status") ?? "";
  return {
    dataset_id: params.get("dataset") || undefined,
    name: params.get("name") || undefined,
    branch: params.get("branch") || undefined,
    status: Object.hasOwn(STATUSES, status) ? (status as EvaluationStatus) : undefined,
  };
}

/** A metric that a gate checks. Differences of points are asked out of 100. */
export interface GateMetric {
  name: string;
  label: string;
  /** What is typed times this is what the API takes. */
  scale: number;
  unit: string;
}

const MEASURED: readonly GateMetric[] = [
  { name: "failures", label: "Failed outputs", scale: 0.01, unit: "points" },
  { name: "cost_usd", label: "Cost", scale: 1, unit: "$ per output" },
  { name: "output_tokens", label: "Output tokens", scale: 1, unit: "tokens per output" },
];

/** What a gate can check of an eval-run, the primary score first. */
export function gateMetrics(run: EvalRun): GateMetric[] {
  const primary = primaryScore(run)?.name;
  const names =
    run.summary?.scores.flatMap(({ kind, name, categories }) =>
      kind === "score" && categories === null ? [name] : [],
    ) ?? [];
  const scores = names.map((name) => ({ name, label: name, scale: 0.01, unit: "points" }));
  return [
    ...scores.filter(({ name }) => name === primary),
    ...scores.filter(({ name }) => name !== primary),
    ...MEASURED,
  ];
}

/** The margin that the API takes; null if the text is no number from 0. */
export function readMargin(text: string | number, { scale }: GateMetric): number | null {
  const value = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? Number((value * scale).toPrecision(12)) : null;
}

export const DECISIONS: Record<GateDecision["decision"], string> = {
  pass: "Passes: not worse",
  regression: "Regression: worse",
  inconclusive: "Can't tell",
  incomplete: "Incomplete",
};

/** What a decision leaves out, in sentences. */
export function gateNotes(decision: GateDecision): string[] {
  const notes = [`${itemsText(decision.paired)} compared.`];
  const left = [
    [decision.only_candidate, "only in this eval-run"],
    [decision.only_baseline, "only in the baseline"],
    [decision.changed, "with a changed input or reference output"],
  ] as const;
  for (const [count, what] of left) if (count > 0) notes.push(`Left out: ${itemsText(count)} ${what}.`);
  const lost = [
    [decision.candidate_lost, "this eval-run"],
    [decision.baseline_lost, "the baseline"],
  ] as const;
  for (const [count, where] of lost)
    if (count > 0) notes.push(`Without a result in ${where}: ${itemsText(count)}.`);
  return notes;
}
