import type { Replay, ReplayAction, ReplayPlan, ReplayPlanStep } from "@/api/types";
import { formatP } from "@/components/evaluation/measures";
import { callsText } from "@/components/evaluation/progress";
import { formatCost } from "@/components/format";

export const ACTIONS: Record<ReplayAction, { label: string; hint: string }> = {
  copied: { label: "Copied", hint: "as recorded: it can't depend on the edit" },
  served: { label: "Served", hint: "answered from the recording" },
  live: { label: "Live", hint: "a model is called" },
  unknown: { label: "Depends", hint: "on what models answer" },
};

const MISSES: Record<NonNullable<ReplayPlanStep["on_miss"]>, string> = {
  stop: "A call that was not recorded ends the attempt.",
  nearest: "A call that was not recorded gets the answer of the most similar one.",
  fixed: "A call that was not recorded gets the fixed result.",
};

/** Why a step is copied, served, live or unknown, and what a miss would do. */
export function whyText({ why, on_miss }: Pick<ReplayPlanStep, "why" | "on_miss">): string {
  return [why, on_miss === null ? "" : MISSES[on_miss]].filter((text) => text !== "").join(" ");
}

type Estimated = Pick<Replay["estimate"], "calls" | "cost_low_usd" | "cost_high_usd">;

/** What a replay may cost: "$0.02 to $0.10". What has no bound is said. */
export function planCost({
  calls,
  cost_low_usd: low,
  cost_high_usd: high,
  unpriced_models: unpriced = [],
}: Estimated & { unpriced_models?: readonly string[] }): string {
  if (calls === 0) return "no calls";
  if (unpriced.length > 0) return `unknown cost: no price for ${unpriced.join(" and ")}`;
  if (low === null) return "unknown cost";
  if (high === null) return `at least ${formatCost(low)}`;
  return low === high ? `about ${formatCost(low)}` : `${formatCost(low)} to ${formatCost(high)}`;
}

/** How many steps of a plan are shown at once: a run may have thousands. */
export const PAGE = 100;

/** So many steps before what an edit changes are shown, too. */
const SHOWN_BEFORE = 2;

/**
 * How many steps are before what an edit changes, in a plan that is too long to be shown whole. An agent has no place in that order: it
 * begins before its calls.
 */
export function stepsBefore(steps: readonly Pick<ReplayPlanStep, "action" | "kind">[]): number {
  if (steps.length <= PAGE) return 0;
  const first = steps.findIndex(
    ({ action, kind }) => action !== "copied" && (kind === "llm" || kind === "tool"),
  );
  return Math.max(0, first - SHOWN_BEFORE);
}

/** What the button that starts it says. */
export function startText(plan: ReplayPlan | undefined): string {
  if (!plan) return "Start replay";
  if (plan.unpriced_models.length > 0) return "Start replay · unknown cost";
  return `Start replay · ${planCost(plan)}`;
}

/** "27 calls of models" */
export function planCalls({ calls }: Pick<ReplayPlan, "calls">): string {
  return calls === 0
    ? "No model is called."
    : `${callsText(calls)} to models, if all attempts take the recorded path.`;
}

/** The level of the first verdict on a replay. */
const ALPHA = 0.04;

/** Why a design can never tell an effect; null if it can, or where nothing is tested. */
export function unableText(p: number | null): string | null {
  if (p === null || p <= ALPHA) return null;
  return `With so few attempts, p can't go below ${formatP(p)}, which is above 0.04. Run more of both.`;
}
