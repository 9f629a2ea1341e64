import type { Provider } from "@/api/types";
import { formatAge, formatCost, formatDuration } from "@/components/format";

/** What a connection does now: "now 14 of 50, last 429 12 s ago". */
export function activityText({ activity }: Pick<Provider, "activity">, now: number): string {
  const { running, concurrency_limit: limit, last_limited_at: limited, paused_until: until } = activity;
  const parts = [`now ${running} of ${limit}`];
  if (limited !== null) parts.push(`last 429 ${formatAge(limited, now)} ago`);
  const pause = until === null ? 0 : Date.parse(until) - now;
  if (pause > 0) parts.push(`waits ${formatDuration(Math.ceil(pause / 1000) * 1000)}`);
  return parts.join(", ");
}

/** The month's budget: what is spent and reserved, as text and as shares of it. Null shares without a budget. */
export function budgetOf({
  month,
  monthly_budget_usd: budget,
}: Pick<Provider, "month" | "monthly_budget_usd">) {
  const spent = formatCost(month.spent_usd);
  const reserved = month.reserved_usd > 0 ? `, up to ${formatCost(month.reserved_usd)} more under way` : "";
  if (budget === null) return { text: `${spent} this month${reserved}`, spent: null, reserved: null };
  const share = (usd: number) => (budget === 0 ? 1 : Math.min(1, usd / budget));
  return {
    text: `${spent} of ${formatCost(budget)} this month${reserved}`,
    spent: share(month.spent_usd),
    reserved: Math.min(1 - share(month.spent_usd), month.reserved_usd === 0 ? 0 : share(month.reserved_usd)),
  };
}
