import type { EvaluationEstimate } from "@/api/types";
import { formatCost, formatCount, formatCountOf, formatTokens } from "@/components/format";
import { callsText } from "./progress";

/** What a comparison may cost: "$0.02 to $0.10 for 240 calls". */
export function estimateText(estimate: EvaluationEstimate): string {
  const { input_tokens: tokens, basis } = estimate;
  const from =
    basis === "pilot"
      ? "from what the first 5 items cost"
      : `from the tokens of 5 items${tokens === null ? "" : `, about ${formatTokens(tokens)} input tokens`}`;
  const [cost, calls] = [estimatedCost(estimate), estimatedCalls(estimate)];
  return isUnknown(estimate) ? `${calls}, of ${cost}.` : `${cost} for ${calls}, ${from}.`;
}

/** "240 calls", or "240 calls, 160 of them of judges". */
export function estimatedCalls({ calls, judge_calls: ofJudges }: EvaluationEstimate): string {
  if (ofJudges === 0) return callsText(calls);
  return ofJudges === calls
    ? `${callsText(calls)} of judges`
    : `${callsText(calls)}, ${formatCount(ofJudges)} of them of judges`;
}

function isUnknown({ cost_low_usd: low, unpriced_models: unpriced }: EvaluationEstimate): boolean {
  return low === null || unpriced.length > 0;
}

/** The range of an estimated cost. What has no bound is said. */
export function estimatedCost({
  cost_low_usd: low,
  cost_high_usd: high,
  unpriced_models: unpriced,
}: EvaluationEstimate): string {
  if (unpriced.length > 0) return `unknown cost: no price for ${unpriced.join(" and ")}`;
  if (low === null) return "unknown cost";
  if (high === null) return `at least ${formatCost(low)}, without a most: set a maximum of output tokens`;
  return low === high ? `about ${formatCost(low)}` : `${formatCost(low)} to ${formatCost(high)}`;
}

/** 1 item, 2,000 items. */
export function itemsText(count: number): string {
  return formatCountOf(count, "item");
}
