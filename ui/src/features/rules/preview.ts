import type { EvalRulePreview } from "@/api/types";
import { formatCost, formatCount, formatRuns } from "@/components/format";

/** How many runs match: "1,240 runs in the last 7 days match." */
export function matchedText({ matched, days }: EvalRulePreview): string {
  if (matched === 0) return "No run of the last 7 days matches.";
  return `${formatRuns(matched)} in the last ${spanText(days)} ${matched === 1 ? "matches" : "match"}.`;
}

function spanText(days: number): string {
  if (days >= 6.95) return "7 days";
  if (days >= 1.5) return `${Number(days.toFixed(1))} days`;
  const hours = Math.max(1, Math.round(days * 24));
  return hours === 1 ? "hour" : `${hours} hours`;
}

/** How many would be scored: "About 18 a day would be scored." Null without a run to tell from. */
export function rateText({ matched, sampled, days }: EvalRulePreview): string | null {
  if (matched === 0 || days <= 0) return null;
  const perDay = sampled / days;
  if (perDay * 7 < 1) return "Less than 1 a week would be scored.";
  return perDay < 1
    ? `About ${rounded(perDay * 7)} a week would be scored.`
    : `About ${rounded(perDay)} a day would be scored.`;
}

/** Two digits that count. */
function rounded(value: number): string {
  return formatCount(Number(value.toPrecision(2)));
}

/** What a day would cost: "About $0.40 a day." */
export function dailyCostText(preview: EvalRulePreview): string {
  const { calls_per_run: calls, cost_low_usd: low, cost_high_usd: high, unpriced_models: unpriced } = preview;
  if (calls === 0) return "It costs nothing: no model is called.";
  if (unpriced.length > 0)
    return `The cost is unknown: ${unpriced.join(", ")} ${unpriced.length === 1 ? "has" : "have"} no price.`;
  if (low === null) return "The cost is unknown until a run matches.";
  const least = formatCost(low);
  if (high === null) return `At least ${least} a day.`;
  const most = formatCost(high);
  return least === most ? `About ${least} a day.` : `About ${least} to ${most} a day.`;
}

/** Why there is no bound of the cost; null if there is one, or no cost. */
export function noBoundText({ cost_low_usd: low, cost_high_usd: high }: EvalRulePreview): string | null {
  return low !== null && high === null
    ? "There is no upper bound, because a judge has no limit on output tokens. The budget still applies."
    : null;
}

/** How the cost relates to the budget; null if it stays below. */
export function overBudgetText(
  { cost_low_usd: low, cost_high_usd: high }: EvalRulePreview,
  budget: number | undefined,
): string | null {
  if (budget === undefined || low === null) return null;
  const beyond = "Runs beyond it are counted but not scored.";
  if (low > budget) return `That is more than the budget of ${formatCost(budget)}. ${beyond}`;
  if (high !== null && high > budget)
    return `That may be more than the budget of ${formatCost(budget)}. ${beyond}`;
  return null;
}
