import { describe, expect, it } from "vitest";
import { LongNumber } from "@/api/json";
import type { Json } from "./json";
import { findInJson, firstMatch, isWorthSearching, splitByMatch } from "./jsonSearch";

const found = (value: Json, text: string) =>
  findInJson(value, text)?.matches.map(({ path, where }) => `${where} ${path.join(".")}`);

describe("findInJson", () => {
  const value: Json = {
    city: "Zürich",
    order: { id: new LongNumber("12345678901234567890"), city: "Bern", open: true },
    cities: ["a city", "no", null],
  };
  it.each([
    ["city", ["key city", "key order.city", "value cities.0"]],
    ["ZÜRICH", ["value city"]],
    ["4567890123", ["value order.id"]],
    ["true", ["value order.open"]],
    ["null", ["value cities.2"]],
    ["0", ["value order.id"]],
    ["cit(y", []],
    ["", undefined],
  ])("%s", (text, want) => expect(found(value, text)).toEqual(want));
  it("finds a key and its value", () => expect(found({ a: "a" }, "a")).toEqual(["key a", "value a"]));
  it("finds nothing in an empty branch", () => expect(found({ a: [] }, "object")).toEqual([]));
  it("takes large and deep documents", () => {
    const items = Array.from({ length: 200_000 }, (_, i) => `item ${i}`);
    expect(found({ items }, "item 199999")).toEqual(["value items.199999"]);
    let deep: Json = "needle";
    for (let level = 0; level < 2_000; level++) deep = [deep];
    expect(findInJson(deep, "needle")?.matches[0]?.path.length).toBe(2_000);
  });
  it("stops counting", () => {
    const { matches, isCut } = findInJson(["a", "a", "a"], "a", 2) ?? { matches: [] };
    expect(matches.length).toBe(2);
    expect(isCut).toBe(true);
    expect(findInJson(["a", "a"], "a", 2)?.isCut).toBe(false);
  });
});

describe("splitByMatch", () => {
  it.each([
    ["one Two one", "ONE", ["[one]", " Two ", "[one]"]],
    ["a.b", ".", ["a", "[.]", "b"]],
    ["İstanbul Berlin", "berlin", ["İstanbul ", "[Berlin]"]],
    ["abc", "", ["abc"]],
    ["abc", "x", ["abc"]],
  ])("%s by %s", (text, search, want) =>
    expect(splitByMatch(text, search).map(({ text, isHit }) => (isHit ? `[${text}]` : text))).toEqual(want),
  );
});

describe("firstMatch", () => {
  it.each([
    ["a Needle", "needle", 2],
    ["a", "needle", -1],
    ["a", "", -1],
  ])("%s in %s", (text, search, want) => expect(firstMatch(text, search)).toBe(want));
});

describe("isWorthSearching", () => {
  it.each([
    ["few values", { a: 1, b: [1, 2] }, false],
    ["many values", Array.from({ length: 30 }, (_, i) => i), true],
    ["many in levels", { a: Array(10).fill({ b: 1, c: 2 }) }, true],
    ["long texts", { a: "x".repeat(1000), b: "x".repeat(1000) }, true],
    ["one scalar", 5, false],
    ["null", null, false],
  ])("%s: %s", (_, value, want) => expect(isWorthSearching(value as Json)).toBe(want));
});
