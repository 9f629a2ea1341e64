import { describe, expect, it } from "vitest";
import { isMatch, runIdIn } from "./goto";

describe("runIdIn", () => {
  it.each([
    [" 0199A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b ", "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
    ["0199a1b2c3d47e5f8a9b0c1d2e3f4a5b", "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
    ["0199a1b2", null],
    ["refund agent", null],
  ])("%s", (text, want) => expect(runIdIn(text)).toBe(want));
});

describe("isMatch", () => {
  it.each([
    ["Eval-runs", "runs eval", true],
    ["Eval-runs", "", true],
    ["Eval-runs", "running", false],
  ])("%s, %s", (name, text, want) => expect(isMatch(name, text)).toBe(want));
});
