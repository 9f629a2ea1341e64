import type { ChannelName } from "@/api/replayVerdict";
import type { Replay, ReplayAttempt, ReplaySelection, ReplayStatus } from "@/api/types";
import { reasonText, STATUSES } from "@/components/evaluation/progress";
import { formatCost, formatCount, formatDuration, formatPercent, UNKNOWN } from "@/components/format";

export const ROLES: Record<ReplayAttempt["role"], string> = {
  control: "Without the edits",
  treatment: "With the edits",
};

export const CHANNELS: Record<ChannelName, { label: string; hint: string }> = {
  outcome: { label: "Outcome", hint: "Whether attempts are good" },
  structure: { label: "Tool calls", hint: "How far the sequences of tool calls are apart" },
  answer: { label: "Answer", hint: "How far the final answers are apart" },
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
  derived: { label: "Derived", hint: "made of steps below it that differ" },
  edited: { label: "Edited", hint: "the edit says the result" },
  nearest: { label: "Similar", hint: "the result of the most similar recorded call" },
  fixed: { label: "Fixed", hint: "the fixed result of the tool" },
  stale: { label: "Stale", hint: "served after a write that differs from the recording" },
  simulated: { label: "Simulated", hint: "made up by a model" },
  worker: { label: "By your program", hint: "run by a worker" },
  not_reached: { label: "Not reached", hint: "the attempt ended or went another way before" },
};

export function sourceLabel(source: string): string {
  return SOURCES[source]?.label ?? source.replaceAll("_", " ");
}

/** The sources of an exposure table, those that are known first. Sources without a step are left out. */
export function sourcesOf(...exposures: Record<string, number>[]): string[] {
  const used = exposures.flatMap((exposure) =>
    Object.entries(exposure).flatMap(([source, count]) => (count > 0 ? [source] : [])),
  );
  const known = Object.keys(SOURCES);
  const rank = (source: string) => (known.includes(source) ? known.indexOf(source) : known.length);
  return [...new Set(used)].sort((a, b) => rank(a) - rank(b));
}

/** Why an attempt ended. Undefined for its own end. */
export const STOPS: Record<string, { text: string; remedy: string } | undefined> = {
  completed: undefined,
  miss: {
    text: "It made a call that was not recorded",
    remedy: "Say under Tools what such calls get: the most similar recorded answer, or a fixed one.",
  },
  write_barrier: {
    text: "It made a writing call that was not recorded",
    remedy:
      "What was recorded after it no longer holds. Give the tool a fixed result, or say that it only reads.",
  },
  opaque: {
    text: "The next request can't be rebuilt",
    remedy: "The program writes it by rules of its own. Edit an earlier or a later step.",
  },
  censored: {
    text: "The recording ends at a timeout or an error that the edit takes away",
    remedy: "Add an edit that says the result.",
  },
  model_error: {
    text: "A call of the model failed",
    remedy: "See its error. Make the missing attempts when the provider answers again.",
  },
  step_limit: {
    text: "It took more than twice as many steps as recorded",
    remedy: "The agent may be in a loop: look at its run.",
  },
  max_cost: { text: "It reached the cost cap", remedy: "Make the missing attempts with a higher cap." },
  cost: { text: "It reached the cost cap", remedy: "Make the missing attempts with a higher cap." },
  budget: {
    text: "It reached the budget of the connection",
    remedy: "Raise the budget, then make the missing attempts.",
  },
  tokens: { text: "It reached the limit of tokens", remedy: "Look at its run: it may be in a loop." },
  wall: { text: "It took too long", remedy: "Make the missing attempts, or look whether the model is slow." },
};

/** What became of an attempt and what to do, in sentences; null for its own end. */
export function attemptProblem({ error, stop_reason, status }: ReplayAttempt): string | null {
  if (error) return `${reasonText(error.code)}${error.detail ? `: ${error.detail}` : ""}`;
  if (status === "cancelled") return "It was not made: the replay was cancelled.";
  if (stop_reason === null || stop_reason === "completed") return null;
  const stop = STOPS[stop_reason];
  return stop ? `${stop.text}. ${stop.remedy}` : `${stop_reason.replaceAll("_", " ")}.`;
}

/** Why a replay ended before all attempts were made, and what to do. Null if it was not. */
export function replayProblem({
  error,
  status,
  stop_reason,
}: Replay): { title: string; text: string } | null {
  if (error) return { title: reasonText(error.code), text: error.detail };
  if (stop_reason === "max_cost")
    return {
      title: "It stopped at its cost cap",
      text: "Make the missing attempts with a higher cap. The verdict is that of the attempts that ended.",
    };
  if (stop_reason === "budget")
    return {
      title: "It stopped at the budget of the connection",
      text: "Raise the budget, then make the missing attempts. The verdict is that of the attempts that ended.",
    };
  if (status === "cancelled")
    return {
      title: "It was cancelled",
      text: "The verdict is that of the attempts that ended. Make the missing ones to go on.",
    };
  return null;
}

/** "3 of 9 attempts, 1 failed" */
export function progressText({ status, progress }: Pick<Replay, "status" | "progress">): string {
  const { total, done, failed } = progress;
  if (status === "queued" && done === 0) return "Waits for a free worker";
  const text = `${formatCount(done)} of ${formatCount(total)} attempts`;
  return failed > 0 ? `${text}, ${formatCount(failed)} failed` : text;
}

/** How many attempts are there to make again: they failed, were cancelled or were not made. */
export function missingAttempts({ attempts }: Pick<Replay, "attempts">): number {
  return attempts.filter(({ status }) => status !== "succeeded").length;
}

const FLAGS: Record<string, string> = {
  unknown: "Not known of one side.",
  partly_unknown: "Not known of all attempts: those without don't count.",
  not_tested: "Not tested: the verdict needs no test.",
  cannot_be_significant: "These values could never be significant, so they don't count in the correction.",
  beside_cost: "The cost is known, so that tokens don't count in the correction.",
  no_variation: "The values of a side are all the same.",
  too_few: "Too few values for an interval.",
  out_of_domain: "Some values can't be compared.",
  few_items: "Few attempts: the interval may be too narrow.",
};

/** What to mind about a figure, in plain words. */
export function flagText(flag: string): string {
  return FLAGS[flag] ?? `${flag.replaceAll("_", " ")}.`;
}

const CLASSES: Record<string, { label: string; meaning: string }> = {
  exact_by_construction: { label: "Exact by construction", meaning: "No model was asked." },
  stable: { label: "Stable", meaning: "All unedited replays did all that was recorded." },
  decision_stable: {
    label: "Decisions are stable",
    meaning: "All unedited replays made the recorded tool calls, with other words.",
  },
  outcome_stable: {
    label: "Outcome is stable",
    meaning: "All unedited replays came to the recorded outcome, on other ways.",
  },
  unstable: { label: "Unstable", meaning: "Unedited replays come to other outcomes than the recording." },
};

/** How well a recording can be reproduced. */
export function classText(name: string | null): { label: string; meaning: string } {
  if (name === null) return { label: "Unknown", meaning: "There is no unedited replay to compare." };
  return CLASSES[name] ?? { label: name.replaceAll("_", " "), meaning: "" };
}

/** A mean of a channel. Distances are shares: 0 is the same. */
export function channelValue(channel: ChannelName, value: number | null | undefined): string {
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
export function effectInterval(measure: string, [low, high]: readonly [number, number]): string {
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
