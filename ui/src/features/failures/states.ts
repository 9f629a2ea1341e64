import type { FailureDecision, FailureState, FailureStateCounts, FailureStateFilter } from "@/api/types";
import { authorName } from "@/components/author";
import { formatAge, formatCount, formatTime } from "@/components/format";

/** The states to choose from. */
export const STATES: readonly { value: FailureStateFilter; label: string }[] = [
  { value: "open", label: "Open" },
  { value: "resolved", label: "Resolved" },
  { value: "muted", label: "Muted" },
  { value: "all", label: "All" },
];

/** The state in an address. Open by default. */
export function readState(params: URLSearchParams): FailureStateFilter {
  return STATES.find(({ value }) => value === params.get("state"))?.value ?? "open";
}

/** How many groups a state has. */
export function countOf(counts: FailureStateCounts, state: FailureStateFilter): number {
  return state === "all" ? counts.open + counts.resolved + counts.muted : counts[state];
}

/** The groups that a list of open ones leaves out: "2 muted, 5 resolved"; empty if there are none. */
export function leftOut({ muted, resolved }: FailureStateCounts): string {
  return [muted > 0 && `${formatCount(muted)} muted`, resolved > 0 && `${formatCount(resolved)} resolved`]
    .filter(Boolean)
    .join(", ");
}

const DAY_MS = 86_400_000;

/** How long to mute a group. */
export const MUTES: readonly { label: string; decision: (now: number) => FailureDecision }[] = [
  { label: "For a day", decision: (now) => mutedUntil(now + DAY_MS) },
  { label: "For a week", decision: (now) => mutedUntil(now + 7 * DAY_MS) },
  { label: "Until 10 more runs", decision: () => ({ state: "muted", more_runs: 10 }) },
  { label: "Until 100 more runs", decision: () => ({ state: "muted", more_runs: 100 }) },
  { label: "Until I unmute it", decision: () => ({ state: "muted" }) },
];

function mutedUntil(time: number): FailureDecision {
  return { state: "muted", until: new Date(time).toISOString() };
}

/** The decision that restores a state. Runs that counted for a mute are not counted again. */
export function decisionFor({ state, decision }: FailureState): FailureDecision {
  if (state === "open" || decision === null) return { state: "open" };
  const { note, until, more_runs, runs_since } = decision;
  return { state, note, until, more_runs: more_runs && Math.max(1, more_runs - (runs_since ?? 0)) };
}

/** The revision to base a decision on, so that none is made over another that was not seen. */
export function revisionOf({ decision }: FailureState): number {
  return decision?.revision ?? 0;
}

/** What a group's state is, and who decided it when; null if it is open and nothing ended. */
export function stateText({ state, decision, regression }: FailureState, now: number): string | null {
  if (decision === null) return null;
  const by = `${authorName(decision.created_by)} ${formatAge(decision.created_at, now)} ago`;
  if (regression) return `Failed again ${formatAge(regression.start_time, now)} ago. Resolved by ${by}.`;
  if (state === "resolved") return `Resolved by ${by}.`;
  if (state === "muted") return `Muted by ${by}${muteEnd(decision)}.`;
  if (decision.state === "muted") return `Muted by ${by}. The mute has ended.`;
  return null;
}

function muteEnd(decision: NonNullable<FailureState["decision"]>): string {
  if (decision.until !== null) return `, until ${formatTime(decision.until)}`;
  if (decision.more_runs === null) return "";
  return `, until ${formatCount(decision.more_runs)} more runs (${formatCount(decision.runs_since ?? 0)} so far)`;
}
