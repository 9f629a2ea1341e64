import { describe, expect, it } from "vitest";
import { readOutline } from "./outline";
import { outlineOf, type Row } from "./outlineOf";
import { hasOverview, keyOfEdge, keyOfWindow, moveEdge, OVERVIEW, overviewOf } from "./overview";

const treeOf = (rows: Row[]) => readOutline(outlineOf(rows));
const many = (count: number) =>
  treeOf(
    Array.from(
      { length: count },
      (_, i): Row => [`${i}`, i === 0 ? -1 : 0, i % 7 ? "ok" : "error", i, 1, "step"],
    ),
  );

describe("hasOverview", () => {
  it.each([
    [3, false],
    [12, true],
  ])("of %d spans: %s", (count, want) => expect(hasOverview(many(count))).toBe(want));
});

describe("overviewOf", () => {
  it("draws each span of a small run in its lane", () =>
    expect(
      overviewOf(
        treeOf([
          ["root", -1, "error", 0, 100],
          ["a", 0, "ok", 0, 50],
          ["b", 0, "error", 50, 25],
          ["late", 0, "running", 75, -1],
        ]),
        100,
      ),
    ).toEqual({
      spans: "M0 0H600V1H0ZM0 1H300V2H0ZM300 2H450V3H300ZM450 3H600V4H450Z",
      errors: "M300 2H450V3H300Z",
    }));
  it("shows a moment", () =>
    expect(overviewOf(treeOf([["a", -1, "error", 100, 0]]), 100).errors).toBe("M599 0H600V1H599Z"));
  it("is bounded however many spans there are", () => {
    const { spans, errors } = overviewOf(many(50_000), 50_000);
    expect(spans.match(/M/g)?.length).toBeGreaterThanOrEqual(OVERVIEW.lanes);
    expect(spans.length + errors.length).toBeLessThan(50_000);
  });
});

describe("moveEdge", () => {
  const shown = { from: 200, to: 400 };
  it.each([
    ["from", 100, { from: 100, to: 400 }],
    ["from", -5, { from: 0, to: 400 }],
    ["from", 900, { from: 398, to: 400 }],
    ["to", 900, { from: 200, to: 900 }],
    ["to", 2000, { from: 200, to: 1000 }],
    ["to", 0, { from: 200, to: 202 }],
  ] as const)("%s to %d", (edge, at, want) => expect(moveEdge(shown, edge, at, 1000)).toEqual(want));
});

describe("keys", () => {
  const shown = { from: 200, to: 400 };
  it.each([
    ["ArrowLeft", { from: 180, to: 380 }],
    ["ArrowRight", { from: 220, to: 420 }],
    ["PageUp", { from: 0, to: 200 }],
    ["PageDown", { from: 400, to: 600 }],
    ["Home", { from: 0, to: 200 }],
    ["End", { from: 800, to: 1000 }],
    ["ArrowUp", { from: 220, to: 380 }],
    ["ArrowDown", { from: 175, to: 425 }],
    ["x", undefined],
  ])("%s on the window", (key, want) => expect(keyOfWindow(key, shown, 1000)).toEqual(want));
  it.each([
    ["ArrowLeft", "from", { from: 190, to: 400 }],
    ["ArrowRight", "to", { from: 200, to: 410 }],
    ["Home", "from", { from: 0, to: 400 }],
    ["End", "to", { from: 200, to: 1000 }],
    ["x", "to", undefined],
  ] as const)("%s on %s", (key, edge, want) => expect(keyOfEdge(key, shown, edge, 1000)).toEqual(want));
});
