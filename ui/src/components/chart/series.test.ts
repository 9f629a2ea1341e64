import { describe, expect, it } from "vitest";
import { stack, touchedBuckets } from "./series";

describe("stack", () => {
  it("adds layers up, and keeps a gap where nothing is known", () => {
    expect(
      stack([
        [1, null, null],
        [2, 3, null],
      ]),
    ).toEqual([
      [1, null, null],
      [3, 3, null],
    ]);
  });
});

describe("touchedBuckets", () => {
  it.each([
    [100, 160, [100, 160]],
    [119, 121, [100, 160]],
    [130, 130, [130 - 30, 160]],
    [101, 219, [100, 220]],
  ])("%i to %i", (from, until, want) => expect(touchedBuckets(from, until, 60, 40)).toEqual(want));
});
