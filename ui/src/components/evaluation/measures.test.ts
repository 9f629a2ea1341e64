import { describe, expect, it } from "vitest";
import {
  axisBound,
  differenceText,
  flagText,
  formatDifference,
  formatP,
  formatValue,
  labelsWhy,
  metricLabel,
  placeOf,
} from "./measures";

const NBSP = "\u00a0";

it("names metrics", () => {
  expect(metricLabel({ name: "correct", kind: "score" })).toBe("correct");
  expect(metricLabel({ name: "cost_usd", kind: "cost" })).toBe("Cost");
});

it.each([
  ["score", 0.6667, "66.7"],
  ["score", 0, "0.0"],
  ["score", 0.0004, "0.04"],
  ["failures", 0.25, `25.0${NBSP}%`],
  ["cost", 0.0012, "$0.0012"],
  ["duration", 1234, "1.23 s"],
  ["output_tokens", 12.3456, "12.3"],
  ["output_tokens", 1234.5, "1,235"],
  ["score", null, "—"],
] as const)("formats the %s %s as %s", (kind, value, want) => expect(formatValue(kind, value)).toBe(want));

it.each([
  ["score", 0.06, "+6.0"],
  ["score", -0.06, "−6.0"],
  ["score", 0, "0.0"],
  ["failures", 0.25, "+25.0"],
  ["cost", -0.5, "−$0.500"],
  ["duration", 20, "+20 ms"],
  ["score", null, "—"],
] as const)("formats the difference of %s %s as %s", (kind, value, want) =>
  expect(formatDifference(kind, value)).toBe(want),
);

it.each([
  [0.0161, "0.016"],
  [0.0499, "0.05"],
  [0.05001, "0.0501"],
  [0.0504, "0.0504"],
  [0.0004, "< 0.001"],
  [0.5, "0.50"],
  [1, "1.00"],
  [null, "—"],
])("formats p = %s as %s", (p, want) => expect(formatP(p)).toBe(want));

describe("placeOf", () => {
  const a = (mean: number | null) => ({ mean, ci: null, n: 10 });
  const difference = { estimate: 0.1, ci: [0.05, 0.2] as [number, number] };
  it("draws scores in points", () => {
    expect(placeOf({ kind: "score", a: a(0.5) }, difference)).toEqual({ estimate: 10, low: 5, high: 20 });
  });
  it("draws the rest in percent of A", () => {
    expect(placeOf({ kind: "cost", a: a(0.5) }, difference)).toEqual({ estimate: 20, low: 10, high: 40 });
  });
  it("draws nothing without a difference, or where A has nothing to compare with", () => {
    expect(placeOf({ kind: "score", a: a(0.5) }, { estimate: null, ci: null })).toBeNull();
    expect(placeOf({ kind: "cost", a: a(0) }, difference)).toBeNull();
    expect(placeOf({ kind: "cost", a: a(null) }, difference)).toBeNull();
  });
});

it.each([
  [[], 1],
  [[{ estimate: 0, low: 0, high: 0 }], 1],
  [[{ estimate: 3, low: 1, high: 6 }], 10],
  [[{ estimate: 3, low: -17, high: 6 }, null], 20],
  [[{ estimate: 0.03, low: null, high: null }], 0.05],
  [[{ estimate: 100, low: 100, high: 100 }], 100],
])("reaches so far that all fits", (places, want) => expect(axisBound(places)).toBeCloseTo(want, 9));

it("says flags in words, also new ones", () => {
  expect(flagText("few_items")).toMatch(/^Few items/);
  expect(flagText("very_new")).toBe("very new.");
});

it("says a difference without the drawing", () => {
  const metric = { name: "correct", kind: "score" } as const;
  expect(differenceText(metric, { estimate: 0.06, ci: [0.012, 0.108] })).toBe(
    "correct: +6.0, 95 % interval +1.2 to +10.8",
  );
  expect(differenceText(metric, { estimate: null, ci: null })).toBe("correct: not compared");
});

it("says why labels don't correct a difference", () => {
  const why = (flag: string, paired: number, needed: number | null) =>
    labelsWhy({ labels_flag: flag, labels_paired: paired, labels_needed: needed });
  expect(why("needs_labels", 0, 20)).toMatch(/from 20 items in random order on/);
  expect(why("needs_labels", 19, 1)).toMatch(/19 items have labels on both sides. Those of 1 more item/);
  expect(why("not_drawn", 30, 20)).toMatch(/labels of 30 items .* correct nothing. 20 more items/);
  expect(why("grouped", 30, null)).toMatch(/no difference of groups/);
  expect(why("too_few", 3, null)).toMatch(/from 20 items on/);
});
