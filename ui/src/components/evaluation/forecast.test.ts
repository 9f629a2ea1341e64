import { expect, it } from "vitest";
import { goalOf, NO_GOAL } from "./forecast";

it("asks for a margin in points and a power in per cent, and leaves out what nobody can ask for", () => {
  expect(goalOf({ margin: "2", power: "90" })).toEqual({ margin: 0.02, power: 0.9 });
  expect(goalOf({ margin: "2.3", power: "80" })).toEqual({ margin: 0.023, power: 0.8 });
  expect(goalOf(NO_GOAL)).toEqual({ margin: undefined, power: 0.8 });
  for (const margin of ["0", "101", "-1", "x", " "])
    expect(goalOf({ margin, power: "100" }), margin).toEqual({ margin: undefined, power: undefined });
});
