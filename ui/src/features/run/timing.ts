import type { Span } from "@/api/types";
import { parseTime } from "@/components/format";

/** What the waterfall needs of a span. */
export type TimedSpan = Pick<Span, "start_time" | "end_time">;

/** The stretch of time that the waterfall shows, in milliseconds since the epoch. */
export interface Timeline {
  start: number;
  end: number;
}

/** Where a span's bar stands, in parts of the whole. */
export interface Bar {
  left: number;
  width: number;
  /** The span has no end yet. */
  open: boolean;
}

/** From the first start to the last end; to `now` where a span of a running run has no end. */
export function timeline(spans: readonly TimedSpan[], isRunning: boolean, now: number): Timeline {
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    const from = parseTime(span.start_time);
    start = Math.min(start, from);
    end = Math.max(end, span.end_time ? parseTime(span.end_time) : isRunning ? now : from);
  }
  if (start > end) return { start: 0, end: 1 };
  return { start, end: Math.max(end, start + 0.001) };
}

/** The bar of a span; never outside the whole, whatever clocks said. */
export function bar(span: TimedSpan, whole: Timeline): Bar {
  const length = whole.end - whole.start;
  const from = parseTime(span.start_time);
  const to = span.end_time ? parseTime(span.end_time) : whole.end;
  const left = clamp((from - whole.start) / length);
  return { left, width: clamp((to - from) / length, 1 - left), open: !span.end_time };
}

/** Round moments along the time line, in milliseconds from its start: at most `count` of them after 0. */
export function ticks(whole: Timeline, count: number): number[] {
  const length = whole.end - whole.start;
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const out: number[] = [];
  for (let index = 0; index * step < length * 0.97; index++) out.push(index * step);
  return out;
}

function clamp(value: number, most = 1): number {
  return Math.min(most, Math.max(0, value));
}
