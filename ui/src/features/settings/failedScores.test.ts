import { describe, expect, it } from "vitest";
import type { FailedScoreRule } from "@/api/types";
import { draftsOf, mistakeIn, rulesOf } from "./failedScores";

describe("rulesOf", () => {
  it("reads what draftsOf writes", () => {
    const rules: FailedScoreRule[] = [
      { name: "reward", when: "below", bound: 0.5 },
      { name: "cost", when: "above", bound: 0 },
      { name: "verdict", when: "categories", categories: ["wrong", "worse"] },
      { name: "toxic", when: "true" },
      { name: "draft", when: "never" },
    ];
    expect(rulesOf(draftsOf(rules))).toEqual(rules);
  });
});

describe("mistakeIn", () => {
  it.each([
    ["below", "", "must be a number"],
    ["above", "much", "must be a number"],
    ["below", "-0.5", undefined],
    ["categories", " , ", "needs a category"],
    ["categories", "a", undefined],
    ["never", "", undefined],
  ] as const)("%s %s", (when, value, want) => {
    expect(mistakeIn({ id: 0, name: "a", when, value })).toBe(want);
  });
});
