import type { SpendingGroup, SpendingRow, SpendingTotals, SpendingWindow } from "@/api/types";
import { formatCost, formatCountOf, UNKNOWN } from "@/components/format";

export const GROUPS: { value: SpendingGroup; label: string }[] = [
  { value: "provider", label: "Connection" },
  { value: "feature", label: "Feature" },
  { value: "caller", label: "Caller" },
  { value: "model", label: "Model" },
  { value: "day", label: "Day" },
];

type SpendingRange = "month" | "30d" | "custom";

/** What the address says about spending. `from` and `until` are days (UTC), the last one included. */
export interface SpendingView {
  range: SpendingRange;
  from: string;
  until: string;
  groupBy: SpendingGroup;
}

const DAY_MS = 86_400_000;

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export function readView(params: URLSearchParams, now: number): SpendingView {
  const range = params.get("range");
  const groupBy = GROUPS.find(({ value }) => value === params.get("group_by"))?.value ?? "provider";
  const day = (name: string) => {
    const text = params.get(name) ?? "";
    return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
  };
  return {
    range: range === "30d" || range === "custom" ? range : "month",
    from: day("from") ?? `${dayOf(now).slice(0, 8)}01`,
    until: day("until") ?? dayOf(now),
    groupBy,
  };
}

/** The window of a view. Its times only change with the day, so that queries stay the same. */
export function windowOf({ range, from, until }: SpendingView, now: number): SpendingWindow {
  if (range === "month") return {};
  if (range === "30d") return { start: `${dayOf(now - 29 * DAY_MS)}T00:00:00Z` };
  return { start: `${from}T00:00:00Z`, end: `${dayOf(Date.parse(until) + DAY_MS)}T00:00:00Z` };
}

/** A bar for each day from the start to the end. A day without calls cost nothing. */
export function daysOf(rows: readonly SpendingRow[], start: string, end: string) {
  const known = new Map(rows.map(({ key, totals }) => [key.slice(0, 10), totals]));
  const times: number[] = [];
  const cost: number[] = [];
  const bounded: number[] = [];
  const first = Math.floor(Date.parse(start) / DAY_MS) * DAY_MS;
  for (let day = first; day < Date.parse(end); day += DAY_MS) {
    const totals = known.get(dayOf(day));
    times.push(day / 1000);
    cost.push(totals?.cost_usd ?? 0);
    bounded.push(totals?.bounded_usd ?? 0);
  }
  return { times, cost, bounded };
}

/** What the cost leaves out, in sentences. */
export function leftOut(totals: SpendingTotals): string[] {
  const calls = (count: number) => formatCountOf(count, "call");
  const texts: string[] = [];
  if (totals.bounded_count > 0) {
    texts.push(
      `${calls(totals.bounded_count)} of unknown cost, at most ${formatCost(totals.bounded_usd)}. Budgets count that.`,
    );
  }
  if (totals.unpriced_count > 0) {
    texts.push(`${calls(totals.unpriced_count)} to models without a price, not included in any figure.`);
  }
  if (totals.running_count > 0) {
    texts.push(`${calls(totals.running_count)} under way, at most ${formatCost(totals.reserved_usd)}.`);
  }
  return texts;
}

/** The known cost. A plus says that it leaves something out. It is unknown if it leaves out all. */
export function costText(totals: SpendingTotals): string {
  if (leftOut(totals).length === 0) return formatCost(totals.cost_usd);
  return totals.cost_usd === 0 ? UNKNOWN : `${formatCost(totals.cost_usd)} +`;
}
