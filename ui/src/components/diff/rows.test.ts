import { describe, expect, it } from "vitest";
import type { RunDiff, RunDiffStep } from "@/api/types";
import { nextDifference, rowsOf, verdict } from "./rows";

const step = (n: number, state: RunDiffStep["state"], folded = 0): RunDiffStep => ({
  n,
  state,
  folded,
  depth: 0,
  distance: 0,
  base: null,
  other: null,
  changes: [],
});
const steps = [step(0, "same", 3), step(3, "changed"), step(4, "same", 1), step(5, "added")];
const names = (opened = new Map<number, RunDiffStep[]>()) => rowsOf(steps, opened).map((row) => row.key);

describe("rowsOf", () => {
  it("folds equal steps, but not a single one", () =>
    expect(names()).toEqual(["fold 0", "step 3", "step 4", "step 5"]));
  it("replaces an opened group with its steps", () =>
    expect(names(new Map([[0, [step(0, "same"), step(1, "same"), step(2, "same")]]]))).toEqual([
      "step 0",
      "step 1",
      "step 2",
      "step 3",
      "step 4",
      "step 5",
    ]));
});

describe("nextDifference", () => {
  const rows = rowsOf(steps, new Map());
  it.each([
    [-1, 1, 1],
    [1, 1, 3],
    [3, 1, 1],
    [1, -1, 3],
  ] as const)("from %i by %i to %i", (from, by, want) => expect(nextDifference(rows, from, by)).toBe(want));
  it("finds none in equal runs", () =>
    expect(nextDifference(rowsOf([step(0, "same", 9)], new Map()), -1, 1)).toBe(-1));
});

describe("verdict", () => {
  const diff = { step_count: 6, distance: 0.37, first_divergence: { n: 0 } } as RunDiff;
  it.each([
    [diff, 0, "The runs have no differences"],
    [diff, 6, "All 6 steps differ, starting at step 1 (37\u00a0% different)"],
    [
      { ...diff, distance: 0.001 },
      1,
      "1 of 6 steps differ, starting at step 1 (less than 1\u00a0% different)",
    ],
  ])("%#", (diff, differences, want) => expect(verdict(diff, differences)).toBe(want));
});
