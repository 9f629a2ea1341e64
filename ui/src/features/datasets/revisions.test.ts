import { describe, expect, it } from "vitest";
import { formatChanges, formatItems, readComparison, readRevision } from "./revisions";

describe("readRevision", () => {
  it.each([
    ["0", 0],
    ["12", 12],
    ["-1", undefined],
    ["1.5", undefined],
    ["", undefined],
    ["latest", undefined],
    [null, undefined],
  ])("%s: %s", (text, want) => expect(readRevision(text)).toBe(want));
});

describe("readComparison", () => {
  it.each([
    ["0...1", [0, 1]],
    ["5...3", [5, 3]],
    ["4", [4]],
    ["4...4", []],
    ["1...2...3", []],
    ["a...2", []],
    ["", []],
    [null, []],
  ])("%s: %j", (text, want) => expect(readComparison(text)).toEqual(want));
});

describe("formatChanges", () => {
  it.each([
    [{ added: 1200, changed: 2, removed: 0 }, "1,200 added, 2 changed"],
    [{ added: 0, changed: 0, removed: 1 }, "1 removed"],
    [{ added: 0, changed: 0, removed: 0 }, "nothing changed"],
  ])("%j: %s", (counts, want) => expect(formatChanges(counts)).toBe(want));
});

it.each([
  [0, "0 items"],
  [1, "1 item"],
  [2000, "2,000 items"],
])("formatItems %s: %s", (count, want) => expect(formatItems(count)).toBe(want));
