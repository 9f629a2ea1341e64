import { expect, it } from "vitest";
import { itemName, oneLine } from "./items";

it("names items", () => {
  expect(itemName({ key: "q1", number: 3 })).toBe("q1");
  expect(itemName({ key: null, number: 3 })).toBe("Item 3");
});

it("writes values in one line", () => {
  expect(oneLine("a\nb")).toBe("a b");
  expect(oneLine({ a: 1 })).toBe('{"a":1}');
  expect(oneLine(null)).toBe("—");
});
