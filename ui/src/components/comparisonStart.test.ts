import { expect, it } from "vitest";
import { newComparisonPath, readComparisonStart, readVersionAt } from "./comparisonStart";

const id = "0199a1b2-0000-7000-8000-000000000001";

it("puts what a comparison starts from into the address", () => {
  expect(newComparisonPath("p1")).toBe("/p/p1/comparisons/new");
  const path = newComparisonPath("p1", { datasetId: "d", a: { id, version: 3 }, b: { id, version: 12 } });
  const query = new URL(path, "http://localhost").searchParams;
  expect(query.get("dataset")).toBe("d");
  expect(readVersionAt(query.get("a"))).toEqual({ id, version: 3 });
  expect(readVersionAt(query.get("b"))).toEqual({ id, version: 12 });
});

it.each([null, "", id, `${id}@0`, `${id}@1.5`, `../x@3`])("reads no version in %s", (text) =>
  expect(readVersionAt(text)).toBeNull(),
);

it.each([null, undefined, "x", { a: {} }])("reads nothing in the state %j", (state) =>
  expect(readComparisonStart(state)).toBeNull(),
);
