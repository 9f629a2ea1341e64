import type { EvalRun } from "@/api/types";

/** "r3", or "r3 train". */
export function datasetLabel({ dataset }: Pick<EvalRun, "dataset">): string {
  return `r${dataset.revision}${dataset.split === null ? "" : ` ${dataset.split}`}`;
}

/** When an evaluation is in a trend, in seconds since 1970: when it ended. */
export function trendTime({ finished_at, created_at }: Pick<EvalRun, "finished_at" | "created_at">): number {
  return Date.parse(finished_at ?? created_at) / 1000;
}

const timeFormat = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** What a point is called on the axis, and whole. */
export function pointLabel(name: string, time: number): { tick: string; label: string } {
  const tick = timeFormat.format(time * 1000);
  return { tick, label: `${name}, ${tick}` };
}

/** A mean from 0 to 1 as a chart has it, out of 100. */
export function scaled(value: number | null | undefined): number | null {
  return value == null ? null : value * 100;
}

/** What a trend leaves out, in words: "Leaves out eval-runs: 2 of another name." Empty if nothing. */
export function leftOut(
  what: string,
  parts: readonly (readonly [count: number, why: string])[],
  hasMore: boolean,
): string {
  const texts = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  if (hasMore) texts.push("all before the newest 100");
  return texts.length === 0 ? "" : `Leaves out ${what}: ${texts.join(", ")}.`;
}
