import { expect, it } from "vitest";
import { groupPaths } from "./groups";

it("proposes values that several items have, and not all", () => {
  const items = [
    { metadata: { customer: "a", language: "en", id: 1, nested: {} } },
    { metadata: { customer: "a", language: "en", id: 2 } },
    { metadata: { customer: "b", language: "en", id: 3, "a.b": "x" } },
    { metadata: null },
  ];
  expect(groupPaths(items as never)).toEqual(["metadata.customer"]);
  expect(groupPaths([])).toEqual([]);
});
