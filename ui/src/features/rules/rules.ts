import type {
  EvalRule,
  EvalRuleCounts,
  EvalRuleDay,
  EvalRuleRunSelection,
  EvalRuleRunStatus,
  EvalRuleStatus,
  Vote,
} from "@/api/types";
import { formatCost, formatCount, formatRuns, NONE, UNKNOWN } from "@/components/format";

export const STATUSES: Record<EvalRuleStatus, string> = {
  active: "Active",
  paused: "Paused",
  stopped: "Stopped",
};

/** What became of a run that a rule took. */
export const RUN_STATUSES: Record<EvalRuleRunStatus, string> = {
  scored: "Scored",
  partly_scored: "Partly scored",
  failed: "Without a score",
  skipped: "Skipped",
  over_budget: "Over budget",
  pending: "Waiting",
};

/** What a status means, for people who wonder. */
export const RUN_HINTS: Record<EvalRuleRunStatus, string> = {
  scored: "It has all scores.",
  partly_scored: "A grader or judge failed, so a score is missing.",
  failed: "All graders and judges failed, so it has no score.",
  skipped: "It can't be scored: it has no output, or was deleted.",
  over_budget: "The daily budget was used up, so it wasn't scored.",
  pending: "It's being scored, or waiting for a retry.",
};

const ORDER: readonly EvalRuleRunStatus[] = [
  "scored",
  "partly_scored",
  "failed",
  "skipped",
  "over_budget",
  "pending",
];

/** One kind of run in the sum of all runs. */
export interface CountPart {
  status: EvalRuleRunStatus;
  label: string;
  count: number;
}

/** All runs by what became of them. The counts add up to `taken`. */
export function countParts(counts: EvalRuleCounts): CountPart[] {
  return ORDER.map((status) => ({
    status,
    label: RUN_STATUSES[status].toLowerCase(),
    count: counts[status],
  }));
}

/** The runs in one line: "18 of 20 runs scored, 1 skipped, 1 waiting". */
export function countsText(counts: EvalRuleCounts): string {
  if (counts.taken === 0) return "No runs";
  const others = countParts(counts)
    .filter(({ status, count }) => status !== "scored" && count > 0)
    .map(({ label, count }) => `${formatCount(count)} ${label}`);
  return [`${formatCount(counts.scored)} of ${formatRuns(counts.taken)} scored`, ...others].join(", ");
}

/** What votes cost, of a budget if there is one, and what the sum leaves out: "$0.12 of $5, without 2 runs of unknown cost". */
export function spendText(
  { cost_usd: cost, unknown_cost_runs: unknown }: EvalRuleCounts,
  budget: number | null = null,
): string {
  const most = budget === null ? "" : ` of ${formatCost(budget)}`;
  if (unknown === 0) return formatCost(cost) + most;
  if (cost === 0) return `Unknown${most}, for ${formatRuns(unknown)}`;
  return `${formatCost(cost)}${most}, excluding ${formatRuns(unknown)} of unknown cost`;
}

/** What votes cost, in a column. A plus says that there is more. */
export function shortSpend({ cost_usd: cost, unknown_cost_runs: unknown }: EvalRuleCounts): string {
  if (unknown > 0 && cost === 0) return UNKNOWN;
  return formatCost(cost) + (unknown > 0 ? " +" : "");
}

/** The spend of a rule in a column, against its budget: "$0.12 of $5". A rule without judges spends nothing. */
export function budgetText({ today, panels, max_cost_usd_per_day: budget }: EvalRule): string {
  if (panels.length === 0 && today.cost_usd === 0 && today.unknown_cost_runs === 0) return NONE;
  return budget === null ? shortSpend(today) : `${shortSpend(today)} of ${formatCost(budget)}`;
}

/** The counts of several days together. */
export function sumCounts(days: readonly EvalRuleDay[]): EvalRuleCounts {
  const sum: EvalRuleCounts = {
    taken: 0,
    scored: 0,
    partly_scored: 0,
    failed: 0,
    skipped: 0,
    over_budget: 0,
    pending: 0,
    cost_usd: 0,
    unknown_cost_runs: 0,
  };
  for (const { counts } of days)
    for (const name of Object.keys(sum) as (keyof EvalRuleCounts)[]) sum[name] += counts[name];
  return sum;
}

/** A share in percent as it was typed: 0.5 %, 10 %. */
export function percentOf(rate: number): string {
  return String(Number((rate * 100).toPrecision(6)));
}

/** Of which runs a rule takes how many: "10 %", "all". */
export function sampleText(rate: number): string {
  return rate === 1 ? "All" : `${percentOf(rate)}\u00a0%`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** A day of the API, such as "2026-11-26", for people. */
export function dayText(day: string): string {
  return dayFormat.format(Date.parse(`${day}T00:00:00Z`));
}

/** Votes in the order that the rule has its panels and judges in, so that all runs show them alike. Those of an earlier version come last. */
export function orderVotes(votes: readonly Vote[], panels: EvalRule["panels"]): Vote[] {
  const order = panels.flatMap(({ name, judges, escalation }) =>
    [...judges, ...(escalation ? [escalation] : [])].map((judge) => JSON.stringify([name, judge.name])),
  );
  const place = ({ panel, judge }: Vote) => {
    const index = order.indexOf(JSON.stringify([panel, judge]));
    return index < 0 ? order.length : index;
  };
  return votes.toSorted((a, b) => place(a) - place(b));
}

/** Where the reader is among the runs of a rule. */
export interface RunsPlace extends EvalRuleRunSelection {
  /** From 1. */
  page: number;
  /** An id, or empty. */
  run: string;
}

/** The place in an address. What it doesn't know is ignored. */
export function readRunsPlace(params: URLSearchParams): RunsPlace {
  const [status, day, page] = [params.get("status") ?? "", params.get("day") ?? "", params.get("page") ?? ""];
  return {
    status: Object.hasOwn(RUN_STATUSES, status) ? (status as EvalRuleRunStatus) : undefined,
    day: /^\d{4}-\d{2}-\d{2}$/.test(day) ? day : undefined,
    page: /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1,
    run: params.get("run") ?? "",
  };
}

/** The address of runs of a rule on its page. */
export function runsPath({ status, day }: EvalRuleRunSelection): string {
  return `?${new URLSearchParams({ tab: "runs", ...(status && { status }), ...(day && { day }) })}`;
}
