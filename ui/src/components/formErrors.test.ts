import { expect, it } from "vitest";
import { errorsBelow, numberMistake } from "./formErrors";

it("finds errors at and below a location", () => {
  const errors = {
    "body.a": "whole",
    "body.a.messages[0].role": "role",
    "body.ab": "other",
    "body.a.name": "n",
  };
  expect(errorsBelow(errors, "body.a", ["body.a.name"])).toEqual(["whole", "messages[0].role: role"]);
});

it.each([
  ["", false, undefined],
  ["-", false, "must be a number"],
  ["-5", false, "must not be negative"],
  [-0.5, true, "must not be negative"],
  ["1.5", false, undefined],
  ["1.5", true, "must be a whole number"],
  [0, true, undefined],
])("finds mistakes in numbers: %s", (text, isWhole, want) => expect(numberMistake(text, isWhole)).toBe(want));
