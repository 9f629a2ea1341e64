import { describe, expect, it } from "vitest";
import { bar, ticks, timeline } from "./timing";

const at = (ms: number) => new Date(ms).toISOString();
const span = (start: number, end: number | null) => ({
  start_time: at(start),
  end_time: end === null ? null : at(end),
});

describe("timeline", () => {
  it.each([
    ["no spans", [], false, { start: 0, end: 1 }],
    ["first start to last end", [span(1000, 2000), span(1500, 4000)], false, { start: 1000, end: 4000 }],
    ["until now while running", [span(1000, null)], true, { start: 1000, end: 9000 }],
    ["an end that never came", [span(1000, 2000), span(3000, null)], false, { start: 1000, end: 3000 }],
    ["no duration", [span(1000, 1000)], false, { start: 1000, end: 1000.001 }],
  ])("%s", (_, spans, running, want) => expect(timeline(spans, running, 9000)).toEqual(want));
});

describe("bar", () => {
  const whole = { start: 1000, end: 3000 };
  it.each([
    ["inside", span(1500, 2000), { left: 0.25, width: 0.25, open: false }],
    ["whole", span(1000, 3000), { left: 0, width: 1, open: false }],
    ["without an end", span(2000, null), { left: 0.5, width: 0.5, open: true }],
    ["ends before it starts", span(2000, 1500), { left: 0.5, width: 0, open: false }],
    ["beyond the whole", span(500, 9000), { left: 0, width: 1, open: false }],
  ])("%s", (_, item, want) => expect(bar(item, whole)).toEqual(want));
});

describe("ticks", () => {
  it.each([
    [1000, 4, [0, 250, 500, 750]],
    [12_400, 4, [0, 5000, 10_000]],
    [0.9, 3, [0, 0.5]],
  ])("%s ms", (length, count, want) => expect(ticks({ start: 0, end: length }, count)).toEqual(want));
});
