import type { Interval } from "./outline";

/** The position of a span's bar, as shares of the visible interval. */
export interface Bar {
  left: number;
  width: number;
  /** The span hasn't ended. */
  open: boolean;
  /** The bar is entirely outside the visible interval. */
  outside: "before" | "after" | null;
}

/** The bar of a span in the visible interval. A duration of -1 means that it hasn't ended. */
export function bar(start: number, duration: number, shown: Interval, runEnd: number): Bar {
  const length = shown.to - shown.from;
  const end = duration >= 0 ? start + duration : Math.max(start, runEnd);
  const outside = end < shown.from ? "before" : start > shown.to ? "after" : null;
  const left = clamp((start - shown.from) / length);
  return { left, width: clamp((end - shown.from) / length) - left, open: duration < 0, outside };
}

/** About `count` round times in the visible interval, in milliseconds since the run's start. */
export function ticks(shown: Interval, count: number): number[] {
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

/** The shortest interval to zoom to, as a share of the run. */
const MIN_SHARE = 1e-6;

/** Scales the interval by `factor`, keeping the time `around` in its position. Below 1 zooms in. */
export function zoom(shown: Interval, factor: number, around: number, runEnd: number): Interval {
  const length = Math.min(runEnd, Math.max(runEnd * MIN_SHARE, (shown.to - shown.from) * factor));
  const share = clamp((around - shown.from) / (shown.to - shown.from));
  return within(around - share * length, length, runEnd);
}

/** Moves the interval by a share of its length. */
export function pan(shown: Interval, share: number, runEnd: number): Interval {
  const length = shown.to - shown.from;
  return within(shown.from + share * length, length, runEnd);
}

/** An interval around a span, with some margin. */
export function around(start: number, duration: number, runEnd: number): Interval {
  const margin = Math.max(duration, runEnd * MIN_SHARE * 10) * 0.1;
  const from = Math.max(0, start - margin);
  return { from, to: Math.min(runEnd, Math.max(from + margin, start + duration + margin)) };
}

function within(from: number, length: number, runEnd: number): Interval {
  const start = Math.max(0, Math.min(from, runEnd - length));
  return { from: start, to: start + length };
}

/** The resolution of the critical path in a lane: finer than a screen. */
const STEPS = 2000;

/** Intervals as an SVG path of horizontal lines, 0 to 2000 wide. Closer intervals merge into one line. */
export function pathLine(intervals: readonly Interval[], shown: Interval): string {
  const scale = STEPS / (shown.to - shown.from);
  let line = "";
  let last = Number.NEGATIVE_INFINITY;
  for (const interval of intervals) {
    if (interval.to < shown.from || interval.from > shown.to) continue;
    const from = Math.max(0, Math.floor((interval.from - shown.from) * scale));
    const to = Math.min(STEPS, Math.max(from + 1, Math.ceil((interval.to - shown.from) * scale)));
    if (to <= last) continue;
    line += from <= last + 1 ? `H${to}` : `M${from} 0H${to}`;
    last = to;
  }
  return line;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
