import { expect, it } from "vitest";
import { keepPlace, placeAt } from "./place";

it("finds the place of an entry again", () => {
  const place = placeAt("a");
  place.scroll.set("tree", 120);
  expect(placeAt("a").scroll.size).toBe(0);
  keepPlace("a", place);
  place.closed = new Set(["x"]);
  expect(placeAt("a")).toBe(place);
  expect(placeAt("b").scroll.size).toBe(0);
});

it("forgets the oldest entries", () => {
  const place = placeAt("first");
  keepPlace("first", place);
  keepPlace("used", place);
  for (let i = 0; i < 49; i++) {
    keepPlace("used", place);
    keepPlace(`${i}`, placeAt(`${i}`));
  }
  expect(placeAt("first")).not.toBe(place);
  expect(placeAt("used")).toBe(place);
});
