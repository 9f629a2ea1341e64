import { describe, expect, it } from "vitest";
import { durationShare } from "./durationScale";

describe("durationShare", () => {
  it.each([
    [null, 0],
    [0, 0.02],
    [10, 0.02],
    [600_000, 1],
    [9_000_000, 1],
  ])("%s → %s", (ms, want) => expect(durationShare(ms)).toBe(want));
  it("grows with the duration", () => expect(durationShare(1000)).toBeLessThan(durationShare(10_000)));
});
