import type {
  Replay,
  ReplayAttempt,
  ReplayChannel,
  ReplayChannelName,
  ReplayEditSummary,
  ReplaySelection,
  ReplayStatus,
} from "@/api/types";
import { reasonText, STATUSES } from "@/components/evaluation/progress";
import {
  formatCost,
  formatCount,
  formatCountOf,
  formatDuration,
  formatPercent,
  UNKNOWN,
} from "@/components/format";
import { CHANGES } from "./edits";

export const ROLES: Record<ReplayAttempt["role"], string> = {
  control: "Without the edits",
  treatment: "With the edits",
};

export const CHANNELS: Record<ReplayChannelName, { label: string; hint: string }> = {
  outcome: { label: "Outcome", hint: "Whether attempts are good" },
  structure: { label: "Tool calls", hint: "How different the sequences of tool calls are" },
  answer: { label: "Answer", hint: "How different the final answers are" },
  cost: { label: "Cost", hint: "Of the model calls" },
  latency: { label: "Duration", hint: "Of the replayed run" },
  tokens: { label: "Tokens", hint: "Input and output" },
};

/** Where steps of attempts came from. */
export const SOURCES: Record<string, { label: string; hint: string }> = {
  copied: { label: "Copied", hint: "as recorded" },
  hit: { label: "Served", hint: "the same call at the same place" },
  served: { label: "Served", hint: "answered from the recording" },
  hit_reordered: { label: "Served, reordered", hint: "the same call at another place" },
  hit_normalised: { label: "Served, normalised", hint: "the same call apart from what doesn't count" },
  stateful_ambiguous: { label: "Served, ambiguous", hint: "the same call had several results" },
  reissued: { label: "Live", hint: "a model was called" },
  derived: { label: "Derived", hint: "combines steps below it that differ" },
  edited: { label: "Edited", hint: "the edit sets the result" },
  nearest: { label: "Similar", hint: "the result of the most similar recorded call" },
  fixed: { label: "Fixed", hint: "the fixed result of the tool" },
  stale: { label: "Stale", hint: "served after a write that differs from the recording" },
  not_reached: { label: "Not reached", hint: "the attempt ended earlier or took another path" },
};

export function sourceLabel(source: string): string {
  return SOURCES[source]?.label ?? source.replaceAll("_", " ");
}

/** Why a replay ended before all attempts were made, and what to do. Null if it was not. */
export function replayProblem({
  error,
  status,
  stop_reason,
}: Pick<Replay, "error" | "status" | "stop_reason">): { title: string; text: string } | null {
  if (error) return { title: reasonText(error.code), text: error.detail };
  if (stop_reason === "max_cost")
    return {
      title: "It stopped at its cost cap",
      text: "The verdict covers the attempts that ended. Raise the cap to run the rest.",
    };
  if (stop_reason === "budget")
    return {
      title: "It stopped at the budget of the connection",
      text: "The verdict covers the attempts that ended. Raise the budget, then run the rest.",
    };
  if (status === "cancelled")
    return {
      title: "It was cancelled",
      text: "The verdict covers the attempts that ended. You can still run the rest.",
    };
  return null;
}

/** Whether it ended for a reason that ends when someone fixes the connection. */
export function isOfConnection(error: Replay["error"], stop: Replay["stop_reason"]): boolean {
  return stop === "budget" || (error !== null && /^(provider|model|budget|address)_/.test(error.code));
}

/** What the edits of a replay change: "System prompt of all model calls". */
export function editsText(edits: readonly ReplayEditSummary[]): string {
  return edits.map(({ target, set }) => `${changeLabel(set)} of ${targetText(target, set)}`).join("; ");
}

/** What an edit changes. One of an earlier version may change what none can change now. */
function changeLabel(set: ReplayEditSummary["set"]): string {
  switch (set) {
    case "latency_ms":
      return "Latency";
    case "message":
      return "One message";
    case "resample":
      return "Same request";
    default:
      return CHANGES[set].label;
  }
}

function targetText(target: ReplayEditSummary["target"], set: ReplayEditSummary["set"]): string {
  if (target === "all") return set === "input" ? "the run" : "all model calls";
  if ("span_id" in target) return "one step";
  const { kind, name } = target;
  if (kind === "tool") return name ? `the tool ${name}` : "all tool calls";
  return name ? `${kind === "agent" ? "the agent" : "the model calls"} ${name}` : `all ${kind} calls`;
}

/** "3 of 9 attempts, 1 failed" */
export function progressText({ status, progress }: Pick<Replay, "status" | "progress">): string {
  const { total, done, failed } = progress;
  if (status === "queued" && done === 0) return "Waiting for a free worker";
  const text = `${formatCount(done)} of ${formatCountOf(total, "attempt")}`;
  return failed > 0 ? `${text}, ${formatCount(failed)} failed` : text;
}

/** An estimate says nothing before this time and this many attempts. */
const MIN_MS = 2_000;
const MIN_MADE = 2;

/**
 * How many milliseconds the rest takes at the speed since `since`, when `done` attempts had ended; null if that can't be said yet. The start
 * of a replay says nothing of its speed: it may have been extended days later.
 */
export function timeLeft(
  { status, progress: { total, done } }: Pick<Replay, "status" | "progress">,
  since: { time: number; done: number },
  now: number,
): number | null {
  const made = done - since.done;
  const elapsed = now - since.time;
  if (status !== "running" || done >= total || made < MIN_MADE || elapsed < MIN_MS) return null;
  return (elapsed * (total - done)) / made;
}

/** How many attempts are there to make again: they failed, were cancelled or were not made. */
export function missingAttempts({ attempts }: Pick<Replay, "attempts">): number {
  return attempts.filter(({ status }) => status !== "succeeded").length;
}

const FLAGS: Record<string, string> = {
  unknown: "Unknown for one side.",
  partly_unknown: "Some attempts have no value; they don't count.",
  not_tested: "Not tested: the verdict needs no test.",
  cannot_be_significant: "These values could never be significant, so they don't count in the correction.",
  made_apart: "Some attempts ran at another time than the other side; their cost and duration don't count.",
  no_variation: "All values on one side are the same.",
  too_few: "Too few values for an interval.",
  out_of_domain: "Some values can't be compared.",
  few_items: "Few attempts: the interval may be too narrow.",
};

/** What to mind about a figure, in plain words. */
export function flagText(flag: string): string {
  return FLAGS[flag] ?? `${flag.replaceAll("_", " ")}.`;
}

const CLASSES: Record<string, string> = {
  exact_by_construction: "No model was called, so that every replay is the same.",
  stable: "Every unedited replay did exactly what was recorded.",
  decision_stable: "Every unedited replay made the recorded tool calls, in different words.",
  outcome_stable: "Every unedited replay reached the recorded outcome, by other paths.",
  unstable: "Unedited replays do other things than the recording.",
};

/** How well a recording can be reproduced. */
export function classText(name: string | null): string {
  if (name === null) return "There is no unedited replay to compare.";
  return CLASSES[name] ?? `${name.replaceAll("_", " ")}.`;
}

/** What a channel found, in a line. */
export function effectText(name: ReplayChannelName, channel: ReplayChannel, isFound: boolean): string {
  const { test, measure, effect, ci, p, controls, treatments } = channel;
  if (name === "outcome") {
    if (controls.mean === null || treatments.mean === null) return UNKNOWN;
    const ends = (mean: number, n: number) =>
      test === "fisher_exact"
        ? `${formatCount(Math.round(mean * n))} of ${formatCount(n)} good`
        : formatPercent(mean);
    return `${ends(treatments.mean, treatments.n)} with the edits, ${ends(controls.mean, controls.n)} without`;
  }
  if (measure === "energy_distance")
    return isFound ? "different" : p === null ? UNKNOWN : "no difference found";
  return ci
    ? `${effectValue(measure, effect)} (${effectInterval(measure, ci)})`
    : effectValue(measure, effect);
}

/** A mean of a channel. Distances are shares: 0 is the same. */
export function channelValue(channel: ReplayChannelName, value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  switch (channel) {
    case "cost":
      return formatCost(value);
    case "latency":
      return formatDuration(value);
    case "tokens":
      return formatCount(value);
    case "outcome":
      return formatPercent(value);
    case "structure":
    case "answer":
      return decimal(value);
  }
}

/** An effect: a difference in points, a ratio, or a distance. */
export function effectValue(measure: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (measure === "ratio") return `× ${decimal(value)}`;
  if (measure === "difference") {
    const points = value * 100;
    return `${points > 0 ? "+" : points < 0 ? "−" : ""}${decimal(Math.abs(points))} points`;
  }
  return decimal(value);
}

/** An interval of an effect: "−49 to +43.4 points". */
export function effectInterval(measure: string, [low, high]: readonly number[]): string {
  return `${effectValue(measure, low).replace(" points", "")} to ${effectValue(measure, high)}`;
}

function decimal(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.0001) return value.toExponential(1);
  return size >= 100 ? formatCount(value) : String(Number(value.toPrecision(3)));
}

/** The filters in an address. What it doesn't know is ignored. */
export function readSelection(params: URLSearchParams): ReplaySelection {
  const status = params.get("status") ?? "";
  return {
    run_id: params.get("run") || undefined,
    status: Object.hasOwn(STATUSES, status) ? (status as ReplayStatus) : undefined,
  };
}
