import { describe, expect, it } from "vitest";
import { readComparison, readVersion } from "./comparison";

describe("readComparison", () => {
  it.each([
    [null, []],
    ["3", [3]],
    ["3...5", [3, 5]],
    ["5...3", [5, 3]],
    ["3...3", []],
    ["1...2...3", []],
    ["x...2", []],
    ["0...2", []],
  ])("%s", (text, want) => expect(readComparison(text)).toEqual(want));
});

describe("readVersion", () => {
  it.each([
    ["12", 12],
    ["0", null],
    ["v1", null],
    ["", null],
    [null, null],
  ])("%s", (text, want) => expect(readVersion(text)).toBe(want));
});
