import { expect, it } from "vitest";
import { goalOf } from "./forecast";

it("asks for a margin in points, and leaves out what nobody can ask for", () => {
  expect(goalOf("2")).toEqual({ margin: 0.02 });
  expect(goalOf("2.3")).toEqual({ margin: 0.023 });
  for (const margin of ["", "0", "101", "-1", "x", " "]) expect(goalOf(margin), margin).toEqual({});
});
