import { describe, expect, it } from "vitest";
import { chosenRow, FIRST, LAST, step } from "./listPlace";

describe("the chosen row", () => {
  const ids = ["a", "b", "c"];
  it.each([
    ["", "a"],
    [FIRST, "a"],
    [LAST, "c"],
    ["b", "b"],
    ["elsewhere", "elsewhere"],
  ])("%s is %s", (wanted, want) => expect(chosenRow(wanted, ids)).toBe(want));
  it("is none on an empty page", () => expect(chosenRow("", [])).toBeUndefined());
});

describe("step", () => {
  const ids = ["a", "b", "c"];
  it.each([
    [1, "a", 1, false, { page: 1, row: "b" }],
    [-1, "b", 1, false, { page: 1, row: "a" }],
    [1, "c", 1, false, null],
    [1, "c", 1, true, { page: 2, row: FIRST }],
    [-1, "a", 1, true, null],
    [-1, "a", 2, true, { page: 1, row: LAST }],
    [1, "elsewhere", 1, true, { page: 1, row: "a" }],
  ] as const)("%d from %s on page %d", (by, chosen, page, hasMore, want) =>
    expect(step(by, chosen, ids, page, hasMore)).toEqual(want),
  );
});
