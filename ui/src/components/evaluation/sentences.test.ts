import { expect, it } from "vitest";
import { isolatedParts } from "./sentences";

it("isolates names that are written from right to left", () => {
  expect(isolatedParts("B is better on مطابقة: +15.7 points on b.", ["مطابقة", "b", "مطاب"])).toEqual([
    { at: 0, part: "B is better on ", isName: false },
    { at: 15, part: "مطابقة", isName: true },
    { at: 21, part: ": +15.7 points on b.", isName: false },
  ]);
  expect(isolatedParts("nothing here", ["here"])).toEqual([{ at: 0, part: "nothing here", isName: false }]);
  expect(isolatedParts("", ["א"])).toEqual([]);
});
