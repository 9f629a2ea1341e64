import type {
  Comparison,
  EvaluationAccounting,
  EvaluationCost,
  EvaluationItemStatus,
  EvaluationOutcome,
  EvaluationStatus,
  PanelRead,
} from "@/api/types";
import { formatCost, formatCount, formatCountOf, NONE, UNKNOWN } from "@/components/format";

export const STATUSES: Record<EvaluationStatus, string> = {
  queued: "Waiting",
  running: "Running",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const OUTCOMES: Record<EvaluationOutcome, string> = {
  improved: "Improved",
  regressed: "Regressed",
  unchanged: "Unchanged",
  failed: "Failed",
};

export const ITEM_STATUSES: Record<EvaluationItemStatus, string> = {
  scored: "Scored",
  target_failed: "No output",
  judge_failed: "No score",
  skipped: "Skipped",
  pending: "Not done",
};

/** What of an evaluation says how far it is. */
export type Running = Pick<Comparison, "status" | "progress" | "vote_progress">;

/** Outputs and votes together. Votes that aren't needed are done. */
export function workOf({ progress, vote_progress: votes }: Running): { done: number; total: number } {
  return { done: progress.done + (votes?.done ?? 0), total: progress.total + (votes?.total ?? 0) };
}

/** How much is done, from 0 to 1. */
export function doneShare({ done, total }: { done: number; total: number }): number {
  return total > 0 ? done / total : 0;
}

/** What is done: "120 of 240 outputs, 3 failed". */
export function progressText({ status, progress }: Pick<Comparison, "status" | "progress">): string {
  const { total, done, failed, skipped } = progress;
  if (status === "queued" && done === skipped) return "Waiting for a free worker";
  const parts = [`${formatCount(done)} of ${formatCountOf(total, "output")}`];
  if (failed > 0) parts.push(`${formatCount(failed)} failed`);
  if (skipped > 0) parts.push(`${formatCount(skipped)} skipped`);
  return parts.join(", ");
}

/** Votes so far: "80 of 240 votes, 2 failed". Null without judges. */
export function voteProgressText({ vote_progress: progress }: Pick<Running, "vote_progress">): string | null {
  if (progress === null) return null;
  const { total, done, failed, skipped } = progress;
  const parts = [`${formatCount(done)} of ${formatCountOf(total, "vote")}`];
  if (failed > 0) parts.push(`${formatCount(failed)} failed`);
  if (skipped > 0) parts.push(`${formatCount(skipped)} not needed`);
  return parts.join(", ");
}

/** An estimate says nothing before this time and this many outputs and votes. */
const MIN_MS = 2_000;
const MIN_DONE = 4;

/**
 * How many milliseconds the rest takes at the speed since `since`, when `done` outputs and votes were done; null if that can't be
 * said yet.
 */
export function timeLeft(
  evaluation: Running,
  since: { time: number; done: number },
  now: number,
): number | null {
  const { done, total } = workOf(evaluation);
  const made = done - since.done;
  const elapsed = now - since.time;
  if (evaluation.status !== "running" || made < MIN_DONE || elapsed < MIN_MS) return null;
  return (elapsed * (total - done)) / made;
}

/** Why a comparison ended before all outputs were made. */
export const STOP_REASONS: Record<NonNullable<Comparison["stop_reason"]>, string> = {
  max_cost: "It stopped at its cost cap. Resume it with a higher one to run the rest.",
  budget: "It stopped at the budget of a connection. Raise the budget, then resume it.",
  decided: "It stopped early, because the primary metric was decided.",
};

/** One kind of item in the sum of all items. */
export interface AccountingPart {
  status: EvaluationItemStatus;
  label: string;
  count: number;
}

/** All items by what became of them. The counts add up to `items`. */
export function accountingParts(accounting: EvaluationAccounting): AccountingPart[] {
  const { scored, target_failed, judge_failed, skipped, pending } = accounting;
  return [
    { status: "scored", label: "scored", count: scored },
    { status: "target_failed", label: "without an output", count: target_failed },
    { status: "judge_failed", label: "without a score", count: judge_failed },
    { status: "skipped", label: "skipped", count: skipped },
    { status: "pending", label: "not done", count: pending },
  ];
}

/** What a code of a reason says: "grader_failed: tone" is a failure of the grader tone, or of judges if `panels` has one of that name. */
export function reasonText(code: string, panels: readonly PanelRead[] = []): string {
  const { kind, rest } =
    /^(?<kind>grader_failed|grader_not_applicable|judges_tied|judges_no_weight|skipped|run_unknown): (?<rest>.*)$/s.exec(
      code,
    )?.groups ?? {
      kind: "",
      rest: "",
    };
  const panel = panels.find(({ name }) => name === rest);
  switch (kind) {
    case "grader_failed":
      if (panel) return `Too few judges of ${rest} gave a valid vote`;
      return `The grader ${rest} failed`;
    case "grader_not_applicable":
      if (panel) return noScoreText(panel);
      return `The grader ${rest} doesn't apply`;
    case "judges_tied":
      return `The judges of ${rest} are tied`;
    case "judges_no_weight":
      return `The judges of ${rest} that voted have no weight`;
    case "skipped":
      return `Skipped: ${rest}`;
    case "run_unknown":
      return UNKNOWN_RUNS[rest ?? ""] ?? "The run wasn't found";
    default:
      return REASONS[code] ?? (code === "" ? "Unknown error" : code.replaceAll("_", " "));
  }
}

/** Why a panel with valid votes gave no score, of evaluations that did not store it. */
function noScoreText({ name, aggregate, judges }: PanelRead): string {
  if (judges[0]?.scale?.type === "categorical" && judges[0].pass == null)
    return `${name} gives a category, not a score`;
  return aggregate === "weighted"
    ? `The judges of ${name} that voted have no weight`
    : `The judges of ${name} are tied`;
}

const UNKNOWN_RUNS: Record<string, string> = {
  not_found: "The run did not arrive",
  unfinished: "The run did not end",
  unavailable: "The run couldn't be read",
  not_allowed: "The key that sent the result can't read runs",
};

const REASONS: Record<string, string> = {
  cost_unknown: "The run has no cost, or not of all calls",
  provider_deleted: "The connection was deleted",
  provider_key_unreadable: "The API key of the connection can't be read",
  address_not_allowed: "The address of the connection isn't allowed",
  price_unknown: "The model has no price, so the cap can't be applied",
  provider_key_refused: "The provider refused the API key",
  provider_permission_denied: "The API key can't use the model",
  model_not_found: "The provider doesn't know the model",
  provider_rate_limited: "The provider's rate limit was reached",
  provider_quota_exceeded: "The account at the provider has no quota left",
  provider_overloaded: "The provider was overloaded",
  provider_error: "The provider answered with an error",
  provider_timeout: "The provider took too long",
  provider_unreachable: "The provider couldn't be reached",
  provider_broken_answer: "The answer was cut off",
  parameter_refused: "The provider refused a parameter",
  content_refused: "The provider refused the content",
  context_length_exceeded: "The messages are too long for the model",
  budget_exceeded: "The budget of the connection is used up",
  run_filter_invalid: "The filter can't be read",
  parse_error: "A judge's answer couldn't be read",
  refused: "A judge refused to judge",
  off_scale: "A judge's value is off the scale",
  timeout: "A judge took too long",
  judges_tied: "The judges tied",
  judges_no_weight: "The judges that voted have no weight",
  grader_failed: "A grader failed",
  not_applicable: "No grader applies",
  cannot_be_scored: "The run can't be scored",
  cannot_be_judged: "The run can't be judged",
  run_deleted: "The run was deleted",
  over_budget: "The daily budget is used up",
};

/**
 * A cost with all that it doesn't have: "$0.12, at most $0.01 more for 2 calls of unknown cost". While it runs, the cost of calls
 * that are under way is unknown, too.
 */
export function costText(cost: EvaluationCost, isRunning = false): string {
  const { usd, calls, unknown_calls: unknown, unknown_at_most_usd: most, unpriced_calls: unpriced } = cost;
  if (calls === 0) return "No calls";
  const isKnown = hasKnownCost(cost);
  const parts = [isKnown ? formatCost(usd) : "Unknown"];
  if (unknown > 0) {
    const more = isKnown ? `at most ${formatCost(most)} more` : `at most ${formatCost(most)}`;
    parts.push(`${more} for ${callsText(unknown)} ${isRunning ? "under way or " : ""}of unknown cost`);
  }
  if (unpriced > 0) parts.push(`excluding ${callsText(unpriced)} without a price`);
  return parts.join(", ");
}

/** Whether a cost says anything: refused requests cost nothing, so 0 beside calls of unknown cost does not. */
export function hasKnownCost({ usd, unknown_calls, unpriced_calls }: EvaluationCost): boolean {
  return usd > 0 || unknown_calls + unpriced_calls === 0;
}

/** 1 call, 2,000 calls. */
export function callsText(count: number): string {
  return formatCountOf(count, "call");
}

/** A cost in a column. A plus says that there is more. */
export function shortCost(cost: EvaluationCost): string {
  if (cost.calls === 0) return NONE;
  if (!hasKnownCost(cost)) return UNKNOWN;
  return formatCost(cost.usd) + (cost.unknown_calls + cost.unpriced_calls > 0 ? " +" : "");
}
