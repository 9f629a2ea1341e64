import { describe, expect, it } from "vitest";
import { markWords, searchWords } from "./words";

describe("searchWords", () => {
  it.each([
    ["", []],
    ["  refund, Order #W42 refund ", ["refund", "order", "w42"]],
    ["Graubünden's lakes", ["graubünden", "s", "lakes"]],
  ])("%s", (search, want) => expect(searchWords(search)).toEqual(want));
});

describe("markWords", () => {
  const marked = (text: string, search: string) =>
    markWords(text, searchWords(search))
      .map((part) => (part.isHit ? `[${part.text}]` : part.text))
      .join("");
  it.each([
    ["Refund the order", "order refund", "[Refund] the [order]"],
    ["reordered", "order", "reordered"],
    ["(order_id: W42)", "order w42", "([order]_id: [W42])"],
    ["no hit", "order", "no hit"],
    ["", "order", ""],
  ])("%s, %s", (text, search, want) => expect(marked(text, search)).toBe(want));
});
