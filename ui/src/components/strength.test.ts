import { describe, expect, it } from "vitest";
import { passwordStrength } from "./strength";

describe("passwordStrength", () => {
  it.each([
    ["", 0, "12 more characters"],
    ["elevenchars", 0, "1 more character"],
    ["aaaaaaaaaaaa", 1, "Easy to guess: use several unrelated words"],
    ["mypassword12345", 1, "Easy to guess: use several unrelated words"],
    ["ada.lovelace-x", 1, "Easy to guess: use several unrelated words"],
    ["plumgravelox", 2, "Good; longer is stronger"],
    ["Plum-gravel7x", 3, "Strong"],
    ["plum gravel otter kiln", 3, "Strong"],
  ])("%s → %i", (password, score, hint) => {
    expect(passwordStrength(password, "ada.lovelace@example.com")).toEqual({ score, hint });
  });
});
