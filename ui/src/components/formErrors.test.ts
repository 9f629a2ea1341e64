import { expect, it } from "vitest";
import { errorsBelow } from "./formErrors";

it("finds errors at and below a location", () => {
  const errors = {
    "body.a": "whole",
    "body.a.messages[0].role": "role",
    "body.ab": "other",
    "body.a.name": "n",
  };
  expect(errorsBelow(errors, "body.a", ["body.a.name"])).toEqual(["whole", "messages[0].role: role"]);
});
