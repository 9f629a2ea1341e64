import type { ReplayAttempt, ReplayChannelName, ReplayVerdict } from "@/api/types";

/** The channels in the order in which they matter to people. */
const CHANNEL_ORDER: readonly ReplayChannelName[] = [
  "outcome",
  "answer",
  "structure",
  "cost",
  "latency",
  "tokens",
];

/** The channels that a page shows. Tokens stand in where the cost is unknown. */
export function shownChannels({ cost }: ReplayVerdict["channels"]): ReplayChannelName[] {
  const isPriced = cost.controls.n > 0 && cost.treatments.n > 0;
  return CHANNEL_ORDER.filter((name) => name !== "tokens" || !isPriced);
}

/** Whether a channel is about distances between attempts, so that an attempt alone has no value. */
export function isDistance(name: ReplayChannelName): boolean {
  return name === "answer" || name === "structure";
}

/** The known values of attempts without and with the edits. */
export interface Points {
  controls: number[];
  treatments: number[];
}

/** What attempts have in a channel. Those that did not end say nothing. */
export function pointsOf(name: ReplayChannelName, attempts: readonly ReplayAttempt[]): Points {
  const points: Points = { controls: [], treatments: [] };
  for (const attempt of attempts) {
    if (attempt.status !== "succeeded") continue;
    const value = attemptValue(name, attempt);
    if (value !== null) (attempt.role === "control" ? points.controls : points.treatments).push(value);
  }
  return points;
}

function attemptValue(name: ReplayChannelName, attempt: ReplayAttempt): number | null {
  const { input_tokens: input, output_tokens: output } = attempt.usage;
  switch (name) {
    case "outcome":
      return attempt.outcome;
    case "cost":
      return attempt.cost_usd;
    case "latency":
      return attempt.duration_ms;
    case "tokens":
      return input === null || output === null ? null : input + output;
    default:
      return null;
  }
}

/** The ends of the axis of a channel: from 0 to 1 for shares, else what has all points with room at both ends. */
export function axisOf(name: ReplayChannelName, points: Points): [number, number] {
  const values = [...points.controls, ...points.treatments];
  if (name === "outcome" || values.length === 0) return [0, 1];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = least === most ? Math.abs(most) * 0.1 || 1 : (most - least) * 0.08;
  return [Math.max(0, least - room), most + room];
}

/** Points side by side, so that equal ones are all seen: for each its value and how far up it is, from 0. */
export function stacked(values: readonly number[], width: number): { value: number; level: number }[] {
  const sorted = [...values].sort((a, b) => a - b);
  const ends: number[] = [];
  return sorted.map((value) => {
    const level = ends.findIndex((end) => value - end >= width);
    const at = level < 0 ? ends.length : level;
    ends[at] = value;
    return { value, level: at };
  });
}

/** Channels of a verdict that are found to differ: their p after correction is at most alpha. */
export function foundChannels({ channels, alpha }: ReplayVerdict): ReplayChannelName[] {
  return CHANNEL_ORDER.filter((name) => {
    const p = channels[name].p_adjusted;
    return p !== null && p <= alpha;
  });
}

/** Whether a verdict has figures. One that says nothing has none. */
export function isMeasured({ channels }: Pick<ReplayVerdict, "channels">): boolean {
  return CHANNEL_ORDER.some((name) => channels[name].controls.n + channels[name].treatments.n > 0);
}

/** How many attempts there would be in all, with those that the verdict asks for. Null if it asks for none. */
export function extension(
  replay: { controls: number; treatments: number },
  verdict: ReplayVerdict | null,
): { controls: number; treatments: number; more: number } | null {
  const more = verdict?.more_replays_needed;
  if (!more || more.controls + more.treatments === 0) return null;
  return {
    controls: Math.min(MOST, replay.controls + more.controls),
    treatments: Math.min(MOST, replay.treatments + more.treatments),
    more: more.controls + more.treatments,
  };
}

/** Attempts of a role that the API takes. */
const MOST = 100;
