import { describe, expect, it } from "vitest";
import { blindSides, chosenItem, FIRST, LAST, readPlace, step } from "./itemsPlace";

const read = (text: string) => readPlace(new URLSearchParams(text));

it("reads the place in an address", () => {
  expect(read("outcome=regressed&metric=tone&status=scored&page=3&item=x&repeat=2&view=ab")).toEqual({
    selection: { outcome: "regressed", metric: "tone", status: "scored" },
    page: 3,
    item: "x",
    repeat: 2,
    view: "ab",
    panel: "",
    isBlind: false,
  });
  expect(read("order=random&blind=1&panel=tone")).toMatchObject({
    selection: { order: "random" },
    panel: "tone",
    isBlind: true,
  });
});

it("ignores what it doesn't know", () => {
  expect(
    read("order=none&blind=2&outcome=toString&metric=tone&status=none&page=-1&repeat=x&view=constructor"),
  ).toEqual({
    selection: {},
    page: 1,
    item: "",
    repeat: 1,
    view: "outputs",
    panel: "",
    isBlind: false,
  });
});

describe("the chosen item", () => {
  const ids = ["a", "b", "c"];
  it.each([
    ["", "a"],
    [FIRST, "a"],
    [LAST, "c"],
    ["b", "b"],
    ["elsewhere", "elsewhere"],
  ])("%s is %s", (item, want) => expect(chosenItem({ item }, ids)).toBe(want));
  it("is none on an empty page", () => expect(chosenItem({ item: "" }, [])).toBeUndefined());
});

describe("step", () => {
  const ids = ["a", "b", "c"];
  it.each([
    [1, "a", 1, false, { page: 1, item: "b" }],
    [-1, "b", 1, false, { page: 1, item: "a" }],
    [1, "c", 1, false, null],
    [1, "c", 1, true, { page: 2, item: FIRST }],
    [-1, "a", 1, true, null],
    [-1, "a", 2, true, { page: 1, item: LAST }],
    [1, "elsewhere", 1, true, { page: 1, item: "a" }],
  ] as const)("%d from %s on page %d", (by, chosen, page, hasMore, want) =>
    expect(step(by, chosen, ids, page, hasMore)).toEqual(want),
  );
});

it("begins with either side, whose outputs are labelled blind", () => {
  expect(blindSides("0197f6d0-0000-7000-8000-00000000000a")).toEqual(["a", "b"]);
  expect(blindSides("0197f6d0-0000-7000-8000-00000000000b")).toEqual(["b", "a"]);
});
