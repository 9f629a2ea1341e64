import type { Stretch } from "./outline";

/** Where a span's bar stands, in parts of what the waterfall shows. */
export interface Bar {
  left: number;
  width: number;
  /** The span has no end yet. */
  open: boolean;
  /** The bar lies wholly before or behind what is shown. */
  outside: "before" | "behind" | null;
}

/** The bar of a span that begins at `start` and takes `duration` (-1: has not ended), in the shown stretch. */
export function bar(start: number, duration: number, shown: Stretch, runEnd: number): Bar {
  const length = shown.to - shown.from;
  const end = duration >= 0 ? start + duration : Math.max(start, runEnd);
  const outside = end < shown.from ? "before" : start > shown.to ? "behind" : null;
  const left = clamp((start - shown.from) / length);
  return { left, width: clamp((end - shown.from) / length) - left, open: duration < 0, outside };
}

/** Round moments in the shown stretch, in milliseconds since the run's start: about `count` of them. */
export function ticks(shown: Stretch, count: number): number[] {
  const length = shown.to - shown.from;
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const out: number[] = [];
  for (let index = Math.ceil(shown.from / step); index * step < shown.from + length * 0.97; index++) {
    out.push(index * step);
  }
  return out;
}

/** The shortest stretch that zooming leads to, in parts of the run. */
const CLOSEST = 1e-6;

/** The stretch by `factor` as long (under 1: closer), with the moment `around` where it was. */
export function zoom(shown: Stretch, factor: number, around: number, runEnd: number): Stretch {
  const length = Math.min(runEnd, Math.max(runEnd * CLOSEST, (shown.to - shown.from) * factor));
  const share = clamp((around - shown.from) / (shown.to - shown.from));
  return within(around - share * length, length, runEnd);
}

/** The stretch moved by a part of its length. */
export function pan(shown: Stretch, share: number, runEnd: number): Stretch {
  const length = shown.to - shown.from;
  return within(shown.from + share * length, length, runEnd);
}

/** A stretch around a span with some room at both sides. */
export function around(start: number, duration: number, runEnd: number): Stretch {
  const room = Math.max(duration, runEnd * CLOSEST * 10) * 0.1;
  const from = Math.max(0, start - room);
  return { from, to: Math.min(runEnd, Math.max(from + room, start + duration + room)) };
}

function within(from: number, length: number, runEnd: number): Stretch {
  const start = Math.max(0, Math.min(from, runEnd - length));
  return { from: start, to: start + length };
}

/** How many steps a lane has for the critical path: finer than a screen shows. */
const STEPS = 2000;

/** Stretches as one SVG path of horizontal lines, 0 to 2000 wide; what is nearer than a step is one line. */
export function pathLine(stretches: readonly Stretch[], shown: Stretch): string {
  const scale = STEPS / (shown.to - shown.from);
  let line = "";
  let last = Number.NEGATIVE_INFINITY;
  for (const stretch of stretches) {
    if (stretch.to < shown.from || stretch.from > shown.to) continue;
    const from = Math.max(0, Math.floor((stretch.from - shown.from) * scale));
    const to = Math.min(STEPS, Math.max(from + 1, Math.ceil((stretch.to - shown.from) * scale)));
    if (to <= last) continue;
    line += from <= last + 1 ? `H${to}` : `M${from} 0H${to}`;
    last = to;
  }
  return line;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
