import { expect, it } from "vitest";
import { blindSides, readPlace } from "./itemsPlace";

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

it("begins with either side, whose outputs are labelled blind", () => {
  expect(blindSides("0197f6d0-0000-7000-8000-00000000000a")).toEqual(["a", "b"]);
  expect(blindSides("0197f6d0-0000-7000-8000-00000000000b")).toEqual(["b", "a"]);
});
