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

/** A time on the axis, in milliseconds since the run's start, and its name. */
export interface Tick {
  at: number;
  label: string;
}

/** Pixels of a character of a label, and between labels. */
const CHARACTER = 6;
const BETWEEN = 10;

/** More labels than these say no more. */
const MAX_TICKS = 6;

/** Round times in the visible interval, as many as have room in `width` pixels. */
export function ticks(shown: Interval, width: number): Tick[] {
  for (let count = MAX_TICKS; count > 1; count--) {
    const all = ticksOf(shown, count);
    const room =
      all.length > 1
        ? (((all[1] as Tick).at - (all[0] as Tick).at) / (shown.to - shown.from)) * width
        : width;
    if (all.every(({ label }) => label.length * CHARACTER + BETWEEN <= room)) return all;
  }
  return ticksOf(shown, 1);
}

/** About `count` round times. */
function ticksOf(shown: Interval, count: number): Tick[] {
  const length = shown.to - shown.from;
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const out: Tick[] = [];
  for (let index = Math.ceil(shown.from / step); index * step < shown.from + length * 0.97; index++) {
    const at = index * step;
    out.push({ at, label: at === 0 ? "0" : tickLabel(at, step, shown.to) });
  }
  return out;
}

/** A multiple of `step` with as many digits as tell it from its neighbours, in the unit that suits `longest`. */
function tickLabel(ms: number, step: number, longest: number): string {
  if (longest < 1) return `${digits(ms * 1000, step * 1000)} µs`;
  if (longest < 1000) return `${digits(ms, step)} ms`;
  const seconds = ms / 1000;
  if (longest < 60_000) return `${digits(seconds, step / 1000)} s`;
  // Rounded first, so that no label says 60 s.
  const rounded = Number(digits(seconds, step / 1000));
  const minutes = Math.floor(rounded / 60);
  const rest = digits(rounded - minutes * 60, step / 1000);
  const [whole = "", fraction] = rest.split(".");
  if (minutes === 0) return `${rest} s`;
  const exact = `${whole.padStart(2, "0")}${fraction === undefined ? "" : `.${fraction}`} s`;
  if (longest < 3_600_000) return `${minutes} m ${exact}`;
  const hours = `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
  return step % 60_000 === 0 ? hours : `${hours} ${exact}`;
}

/** A multiple of `step` without trailing digits that every multiple has. */
function digits(value: number, step: number): string {
  let decimals = 0;
  while (decimals < 12 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6)
    decimals++;
  return value.toFixed(decimals);
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
