import { describe, expect, it } from "vitest";
import { fromFirstHit, hasHit, markWords, searchWords } from "./words";

describe("searchWords", () => {
  it.each([
    ["", []],
    ["  refund, Order #W42 refund ", ["refund", "order", "w42"]],
    ["Graubünden's lakes", ["graubünden", "s", "lakes"]],
    ['late "Refund,  Order" late', ["late", "refund order"]],
    ['"open at', ["open at"]],
    ['""', []],
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
    ["Refund, order; refund of order", '"refund order"', "[Refund, order]; refund of order"],
    ["a b c d", '"a b" "b c" d', "[a b c] [d]"],
    ["a b c", 'b "a b c"', "[a b c]"],
    ["order", '"order 42"', "order"],
    ["", "order", ""],
  ])("%s, %s", (text, search, want) => expect(marked(text, search)).toBe(want));
});

describe("hasHit", () => {
  it.each([
    ["Refund the order", "order nowhere", true],
    ["reordered", "order", false],
    ["order", "", false],
  ])("%s, %s: %s", (text, search, want) => expect(hasHit(text, searchWords(search))).toBe(want));
});

describe("fromFirstHit", () => {
  const late = "The customer would like to have the order refunded";
  it.each([
    [late, "", late],
    [late, "nowhere", late],
    [late, "customer", late],
    [late, "refunded customer", late],
    [late, "refunded", "… refunded"],
    [late, '"order refunded"', "… order refunded"],
    [`${"x".repeat(40)}/hit`, "hit", "… hit"],
  ])("%s, %s", (text, search, want) => expect(fromFirstHit(text, searchWords(search))).toBe(want));
});
